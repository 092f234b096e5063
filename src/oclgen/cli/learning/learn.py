"""`oclgen learn`: from a folder with a domain and problems to a ready model."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click
import psutil

from oclgen.cli.parameters import DURATION, workers_options, working
from oclgen.errors import OclgenError


@click.command("learn")
@click.argument("domain")
@click.option("--time", "seconds", type=DURATION, required=True, help="For everything, such as 1h.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the model.")
@workers_options
@click.option("--random-seed", "seed", default=0, show_default=True)
def command(domain: str, seconds: float, out: Path, workers: int | None, cluster: str | None, seed: int) -> int:
    """Learn to plan in DOMAIN: a folder with domain.pddl and training/**/*.pddl.

    Plans in training_plans/ spare the teacher's time. DOMAIN may also be a domain that comes with oclgen, or a folder
    with a generator; then problems are drawn. The model in OUT is ready for: oclgen solve --model OUT. The same command
    again goes on where the last one stopped; with more time than before it improves itself further, with twice as much
    it also trains on.
    """
    from oclgen.pipeline.learn import LearnRequest, learn

    finished = False
    try:
        with ending_at_sigterm(), working(workers, cluster) as hands:
            finished = learn(LearnRequest(domain, out, seconds, hands, seed, process_age()), click.echo)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        raise storage_error(error, out) from None
    if not finished:
        click.echo("interrupted; the same command goes on from here")
        return 130
    return 0


@contextmanager
def ending_at_sigterm() -> Iterator[None]:
    """SIGTERM means what Ctrl-C means."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def process_age() -> float:
    """Seconds since this process was started: importing takes its time, too."""
    return time.time() - psutil.Process().create_time()


def storage_error(error: OSError, out: Path) -> OclgenError:
    """One line for a full disk, a folder without permission and the like."""
    return OclgenError(f"{error.filename or out}: {error.strerror or error}; nothing that was done is lost")
