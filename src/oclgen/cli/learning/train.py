"""`oclgen train`: a network from a data set."""

import json
import signal
import sys
from pathlib import Path

import click

from oclgen.cli.parameters import DURATION
from oclgen.encoding.kinds import CHECKPOINT_KINDS


@click.command("train", epilog="Under torchrun or accelerate launch the same command trains on all their processes.")
@click.argument("kind", type=click.Choice(CHECKPOINT_KINDS))
@click.argument("overrides", nargs=-1, metavar="[TABLE.KEY=VALUE]...")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Recipe, such as those in configs/.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data set; overrides data.path.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run; default: runs/ and the recipe's name.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out, exactly where it stopped, or begin it.")
@click.option("--max-time", type=DURATION, help="Stop (and save) after this time; defines the length of a run by time.")
@click.option("--plot", is_flag=True, help="Draw the curves into the run's folder at the end.")
def command(
    kind: str,
    overrides: tuple[str, ...],
    config: Path | None,
    data: Path | None,
    out: Path | None,
    resume: bool,
    max_time: float | None,
    plot: bool,
) -> int:
    """Train a relational network, or a policy or a heuristic of words.

    Settings come from --config, changed by TABLE.KEY=VALUE arguments such as optimizer.lr=1e-4. The run leaves its
    best checkpoint in OUT/best. Ctrl-C saves the run before it ends.
    """
    if config is None and (out is None or not resume):
        raise click.UsageError("give --config FILE (or --resume with the --out DIR of a run)")
    if plot:
        from oclgen.learn.curves import draw_curves
    from oclgen.learn.settings import read_settings
    from oclgen.learn.train import train

    changes = list(overrides)
    if data is not None:
        changes.append(f"data.path={json.dumps(str(data))}")
    if config is None:
        assert out is not None
        config = out / "settings.json"
    settings = read_settings(config, kind, changes)
    if max_time is not None and settings.schedule.time:
        settings = read_settings(config, kind, [*changes, f"schedule.time={max_time}s"])
    folder = out or Path("runs") / config.stem
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # while examples are encoded
    outcome = train(settings, folder, resume, max_time)
    if outcome.reason != "finished":
        click.echo("go on with --resume")
    if plot:
        click.echo(f"curves: {draw_curves(folder)}")
    return 128 + outcome.signal if outcome.signal else 0
