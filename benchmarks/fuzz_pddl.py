"""Fuzz the PDDL reader: mutated domains, problems and plans must never crash, hang or end in a traceback.

    python -m benchmarks.fuzz_pddl --count 10000

Each case is made from its number alone, so a failure can be run again with `--first N --count 1`. Cases run in
child processes; the parent sees signals, tracebacks and silences of more than 10 seconds.
"""

import argparse
import contextlib
import io
import json
import random
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from oclgen.cli import run
from oclgen.domains import catalog
from oclgen.errors import OclgenError
from oclgen.pddl.checking.validate import Validator
from oclgen.pddl.plan_file import format_plan, parse_plan
from oclgen.pddl.task import PddlTask

SILENCE = 10.0
SMALL = {
    "blocksworld": ["blocks=3..6"],
    "labyrinth": ["size=3"],
    "logistics": ["cities=1..3", "city_size=1..2", "packages=1..3", "airplanes=1..2"],
    "sokoban": ["grid=5..7", "boxes=1"],
}
TOKEN = re.compile(rb"[()]|[^\s()]+|\s+")
ODD_TOKENS = [
    *(
        b"(",
        b")",
        b"()",
        b"-",
        b"?x",
        b"?",
        b":",
        b"=",
        b"not",
        b"and",
        b"or",
        b"forall",
        b"exists",
        b"when",
        b"either",
    ),
    *(b"increase", b"(total-cost)", b":action", b":init", b":goal", b":types", b"object", b"define", b"1e999", b"nan"),
    *(b"0", b"-1", b";", b"\x00", b"\xff", b"\xc3\xa9", b"\r", b"\x1b[0m", b"(= ?x ?x)", b"(not", b"x" * 300),
]
ODD_BYTES = b"()?:-=; \n\r\t\x00\xff\xc3azAZ09"


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One change at the level of bytes or of words."""
    return rng.choice([cut, doubled, overwritten, inserted, word_replaced, word_moved, word_dropped, group_dropped])(
        data, rng
    )


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + int(rng.expovariate(1 / 20)))


def cut(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] if rng.random() < 0.2 else data[:start] + data[end:]


def doubled(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:end] + data[start:end] * rng.randint(1, 3) + data[end:]


def overwritten(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + bytes([rng.choice(ODD_BYTES)]) + data[place + 1 :]


def inserted(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + bytes(rng.choices(ODD_BYTES, k=rng.randint(1, 4))) + data[place:]


def _words(data: bytes) -> tuple[list[bytes], list[int]]:
    tokens = TOKEN.findall(data)
    return tokens, [i for i, token in enumerate(tokens) if not token.isspace()] or [0]


def word_replaced(data: bytes, rng: random.Random) -> bytes:
    tokens, places = _words(data or b"x")
    other = rng.choice(ODD_TOKENS) if rng.random() < 0.4 else tokens[rng.choice(places)]
    tokens[rng.choice(places)] = other
    return b"".join(tokens)


def word_moved(data: bytes, rng: random.Random) -> bytes:
    tokens, places = _words(data or b"x")
    i, j = rng.choice(places), rng.choice(places)
    tokens[i], tokens[j] = tokens[j], tokens[i]
    return b"".join(tokens)


def word_dropped(data: bytes, rng: random.Random) -> bytes:
    tokens, places = _words(data or b"x")
    del tokens[rng.choice(places)]
    return b"".join(tokens)


def group_dropped(data: bytes, rng: random.Random) -> bytes:
    """A whole group gone or put elsewhere, so that parentheses still match."""
    tokens, _ = _words(data)
    starts = [i for i, token in enumerate(tokens) if token == b"("][1:]
    if not starts:
        return data
    start = rng.choice(starts)
    depth, end = 1, start + 1
    while depth and end < len(tokens):
        depth += {b"(": 1, b")": -1}.get(tokens[end], 0)
        end += 1
    group, rest = tokens[start:end], tokens[:start] + tokens[end:]
    if rng.random() < 0.5:
        place = rng.randrange(1, len(rest))
        rest[place:place] = group
    return b"".join(rest)


def case(number: int) -> tuple[bytes, bytes, bytes]:
    """Domain, problem and plan, at least one of them mutated."""
    rng = random.Random(number)
    name = rng.choice(list(SMALL))
    spec = catalog.load(name)
    drawn = catalog.draw(spec, 3, number % 20, catalog.overrides(spec, SMALL[name]))
    files = [spec.domain_text.encode(), drawn.text.encode(), _walk(spec.domain_text, drawn.text, rng).encode()]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        target = rng.choice([0, 0, 1, 1, 2])
        files[target] = mutated(files[target], rng)
    return files[0], files[1], files[2]


def _walk(domain: str, problem: str, rng: random.Random) -> str:
    task = PddlTask(domain, problem)
    plan, state = [], task.initial_state
    for _ in range(3):
        actions = task.applicable(state)
        if actions:
            plan.append(rng.choice(actions))
            state = task.apply(state, plan[-1])
    return format_plan(tuple(plan))


def outcome(number: int, folder: Path) -> str:
    """What became of one case; anything that starts with `!` is a defect."""
    paths = [folder / name for name in ("domain.pddl", "problem.pddl", "plan")]
    for path, data in zip(paths, case(number), strict=True):
        path.write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["validate", *map(str, paths)])
    if code not in {0, 1, 31, 34} or err.getvalue().count("\n") != (code > 1):
        return f"!code {code} {err.getvalue()!r}"
    if code == 31 and not re.match(rf"oclgen: {re.escape(str(folder))}/\S+:\d+: .", err.getvalue()):
        return f"!no file and line: {err.getvalue()!r}"
    return _disagreement(paths, code) or f"exit code {code}"


def _disagreement(paths: list[Path], code: int) -> str | None:
    """The task must read what the validator reads, and judge the first step as it does."""
    try:
        task = PddlTask(paths[0], paths[1])
    except OclgenError:
        return None if code > 1 else "!the task refuses what the validator reads"
    if code > 1:
        return None
    plan = parse_plan(paths[2].read_text(encoding="utf-8-sig"))
    works = Validator(paths[0], paths[1]).check(plan[:1]).step is None
    if plan and works != (task.apply(task.initial_state, plan[0]) is not None):
        return "!task and validator disagree"
    if task.ground_action_bound < 10_000 and plan and works != (plan[0] in task.applicable(task.initial_state)):
        return "!applicable actions and validator disagree"
    return None


def child(first: int, last: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            print(json.dumps([number, None]), flush=True)
            try:
                result = outcome(number, Path(folder))
            except Exception as error:
                result = f"!{type(error).__name__}: {error}"
            print(json.dumps([number, result]), flush=True)


def lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    """Lines of a child until it ends or is silent for too long."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(SILENCE):
            line = process.stdout.readline()
            if not line:
                return
            yield line
        process.kill()


def fuzz(first: int, last: int, report: Callable[[int, str], None]) -> None:
    """Run all cases, starting a new child after each one that died."""
    number = first
    while number < last:
        command = [sys.executable, "-m", "benchmarks.fuzz_pddl", "--child", "--first", str(number)]
        process = subprocess.Popen([*command, "--count", str(last - number)], stdout=subprocess.PIPE, text=True)
        result: str | None = None
        for line in lines(process):
            number, result = json.loads(line)
            if result is not None:
                report(number, result)
        code = process.wait()
        if code != 0:
            report(number, f"!died with {code} ({'hang' if code == -9 else 'crash'})")
        number += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    last = options.first + options.count
    if options.child:
        child(options.first, last)
        return
    counts: Counter[str] = Counter()
    started = time.monotonic()

    def report(number: int, result: str) -> None:
        counts["DEFECT" if result.startswith("!") else result] += 1
        if result.startswith("!"):
            print(f"case {number}: {result[1:]}")

    fuzz(options.first, last, report)
    print(json.dumps({"cases": counts.total(), "seconds": round(time.monotonic() - started), **counts}))
    sys.exit(1 if counts["DEFECT"] else 0)


if __name__ == "__main__":
    main()
