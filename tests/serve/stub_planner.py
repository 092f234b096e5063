"""A planner that does what its problem says, line by line: `plan 5`, `sleep 1`, `hang`, `flood`, `fail 31 why`, `end
exhausted 0 lama`. It takes the arguments of a job's process and prints what `oclgen solve` prints."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path


def plan(length: str) -> None:
    steps = "".join(f"(step s{number})\n" for number in range(int(length)))
    written = f"{steps}; cost = {length} (unit cost)\n"
    number = 1 + sum(path.name.startswith("sas_plan.") for path in Path().iterdir())
    for name in (f"sas_plan.{number}", "sas_plan"):
        Path(name).write_text(written)
    print(f"[t=0.100s, 1 KB] Plan length: {length} step(s).", flush=True)


def hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def flood() -> None:
    while True:
        print("x" * 100_000)


def fail(code: str, *message: str) -> None:
    print("oclgen:", *message, file=sys.stderr)
    sys.exit(int(code))


def end(ending: str, code: str, method: str | None = None) -> None:
    Path("record.json").write_text(json.dumps({"ending": ending} | ({"method": method} if method else {})))
    sys.exit(int(code))


def secret() -> None:
    print("token", os.environ.get("OCLGEN_TOKEN"))


def sleep(seconds: str) -> None:
    time.sleep(float(seconds))


ORDERS: dict[str, Callable[..., None]] = {each.__name__: each for each in (plan, sleep, hang, flood, fail, end, secret)}

if __name__ == "__main__":
    for line in Path("problem.pddl").read_text().splitlines():
        order, *arguments = line.split()
        ORDERS[order](*arguments)
