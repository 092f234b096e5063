"""Work for workers: functions that other processes, here or on a cluster, can import."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def square(number: int) -> int:
    return number * number


def same(data: bytes) -> bytes:
    return data


def process_id(_: int) -> int:
    return os.getpid()


def folder(_: int) -> str:
    return str(Path.cwd())


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ValueError("three is too many")
    return number


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def slowly(number: int) -> int:
    time.sleep(0.1)
    return number


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: Path) -> str:
    """The first time, take the worker along."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name


def start_child(file: Path) -> None:
    """A child as our planners are: in a session of its own, tied to the worker. Its number goes to the file."""
    code = "import sys, time; from oclgen.support.processes import die_with_parent\n"
    code += "die_with_parent(int(sys.argv[1])); print(flush=True); time.sleep(600)"
    command = [sys.executable, "-c", code, str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        file.write_text(str(child.pid))
