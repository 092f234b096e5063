"""Hand-made records for the tests of tables, figures and documents."""

import json
import random
from pathlib import Path
from typing import Any

from oclgen.bench.record import Record, from_json

DOMAINS = ("blocksworld", "logistics", "labyrinth", "sokoban")
LABELS = {
    "oclgen-uniform": 1.00,
    "oclgen-scan": 1.01,
    "mcts-full": 1.2,
    "mcts-partial": 1.15,
    "astar": 1.1,
    "gbfs": 1.5,
    "best-of-n": 1.4,
    "lama": 1.1,
    "lama-first": 1.8,
    "oclgen-no-depth": 1.1,
    "oclgen-no-adaptive": 1.05,
    "oclgen-mode": 1.03,
    "compiled": 1.6,
    "not-compiled": 1.7,
    "oclgen-loop3": 0.99,
    "mcts-loop3": 1.1,
    **{f"best-of-n-{method}-loop{loop}": 1.5 - 0.1 * loop for method in ("oclgen", "mcts") for loop in range(4)},
}


def run(label: str, problem: str, trace: list[tuple[float, int]] | None, **changes: Any) -> dict[str, Any]:
    """A run of the main set under ten seconds; `trace` None is unsolved."""
    solved = trace is not None
    line: dict[str, Any] = {
        "kind": "run",
        "set": "main",
        "domain": "blocksworld",
        "problem": problem,
        "fingerprint": f"print-{problem}",
        "label": label,
        "method": label,
        "seed": 0,
        "time_limit": 10.0,
        "outcome": "solved" if solved else "unsolved",
        "ending": "time",
        "exit_code": 0 if solved else 23,
        "length": trace[-1][1] if trace else None,
        "trace": trace or [],
        "counters": {"rollouts": 100, "expanded": 7, "tokens": 9},
        "seconds": 10.0,
        "search_seconds": 9.5,
        "peak_memory_kb": 51234,
        "machine": "a machine",
        "revision": "abc123",
        **changes,
    }
    line.setdefault("id", f"{line['set']}-{line['domain']}-{label}-{problem}-{line['seed']}-{line['time_limit']}")
    return line


def broken(label: str, problem: str, error: str = "exit code 32", **changes: Any) -> dict[str, Any]:
    return run(label, problem, None, outcome="broken", error=error, exit_code=32, **changes)


def optimum(problem: str, length: int, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "optimum",
        "id": f"optimum-{problem}",
        "fingerprint": f"print-{problem}",
        "length": length,
    } | changes


def estimate(problem: str, mode: float, percentile: float, **changes: Any) -> dict[str, Any]:
    label = changes.get("label", "heuristic")
    return {
        "kind": "estimate",
        "id": f"estimate-{label}-{problem}",
        "set": "main",
        "domain": "blocksworld",
        "problem": problem,
        "fingerprint": f"print-{problem}",
        "label": label,
        "percentile": 3,
        "mode": mode,
        "estimate": percentile,
        "distribution": [[int(percentile), 0.3], [int(mode), 0.7]],
    } | changes


def loop(*lengths: float | None, **changes: Any) -> dict[str, Any]:
    """A loop on ten test problems whose mean lengths are these; None is an iteration that solved nothing."""
    line = {"kind": "loop", "domain": "blocksworld", "label": "oclgen-uniform", "method": "oclgen", "samples": 10}
    line["iterations"] = [
        {
            "iteration": number,
            "completion": 0.0 if length is None else 0.9,
            "mean_length": length,
            "se": None if length is None else 1.5,
            "problems": 10,
            "solved": 0 if length is None else 9,
            "teacher_length": None if length is None else 77.0,
            "common_length": None if length is None else length - 1,
        }
        for number, length in enumerate(lengths)
    ]
    line |= changes
    return {"id": f"loop-{line['domain']}-{line['label']}-{len(lengths)}", **line}


def records(*lines: dict[str, Any]) -> list[Record]:
    return [from_json(json.loads(json.dumps(line))) for line in lines]


def whole_evaluation(problems: int = 12, seed: int = 0) -> list[dict[str, Any]]:
    """Every kind of record for every table and figure, with unsolved, broken and late runs among them."""
    rng = random.Random(seed)
    lines: list[dict[str, Any]] = []
    for domain in DOMAINS:
        for index in range(problems):
            lines += one_problem(rng, domain, f"{domain}-{index:03}", 10 + 3 * index)
        lines += [
            {
                "kind": "curve",
                "id": f"curve-{domain}-{kind}",
                "domain": domain,
                "label": kind,
                "series": {
                    name: [[s, rng.uniform(1, 1.1) / (1 + s / 50)] for s in range(1, 300, 9)] for name in LOSSES
                },
            }
            for kind in ("policy", "heuristic")
        ]
    lines += [loop(70.0, 60.0, 50.0, 45.0), loop(70.0, 65.0, label="mcts-full", method="mcts")]
    lines += [run("oclgen-uniform", "slow", [(0.5, 20)], domain="sokoban", seconds=13.0)]
    lines += [broken("mcts-full", "bad", "invalid plan: step 3 needs (clear b1)", domain="labyrinth")]
    return lines


LOSSES = ("loss", "val_loss")


def one_problem(rng: random.Random, domain: str, problem: str, optimal: int) -> list[dict[str, Any]]:
    lines = [
        run(label, problem, trace(rng, optimal * factor), domain=domain, time_limit=limit, objects=optimal)
        for label, factor in LABELS.items()
        for limit in ((10.0, 30.0) if label in ("oclgen-uniform", "lama") else (10.0,))
    ]
    for name in ("failed", "interpolate", "extrapolate"):
        labels = ("oclgen-uniform", "best-of-n") if name == "failed" else ("best-of-n", "oclgen-shuffled")
        if name == "failed" or domain == "blocksworld":
            lines += [
                run(label, f"{name}-{problem}", trace(rng, 2 * optimal), domain=domain, set=name) for label in labels
            ]
    for name in ("beyond", "easy", "larger"):
        lines += [run(label, f"{name}-{problem}", trace(rng, 3 * optimal), set=name) for label in ("gbfs", "lama")]
    lines.append(run("best-of-n", problem, trace(rng, optimal), domain=domain, seed=1, objects=optimal))
    if rng.random() < 0.7:
        proof = {"method": "lmcut", "ending": "exhausted", "time_limit": 60.0}
        lines.append(run("lmcut", problem, [(rng.uniform(1, 60), optimal)], domain=domain, **proof))
    for label, worse in (("heuristic", 1.3), ("heuristic-loop3", 1.05)):
        lines.append(
            estimate(
                problem,
                round(optimal * worse),
                round(optimal * worse) - 2,
                domain=domain,
                label=label,
                distribution=[[round(optimal * worse) + d, 0.2 - 0.03 * abs(d)] for d in range(-6, 7)],
                teacher_length=round(optimal * 1.8),
            )
        )
    return lines


def trace(rng: random.Random, length: float) -> list[tuple[float, int]] | None:
    """A few improvements down to about `length`; sometimes nothing."""
    if rng.random() < 0.08:
        return None
    final = max(1, round(length * rng.uniform(1.0, 1.1)))
    times = sorted(rng.uniform(0.2, 9.5) for _ in range(3))
    return list(zip(times, [final + 9, final + 4, final], strict=True))


def write_records(folder: Path, lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder
