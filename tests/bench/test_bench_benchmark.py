"""Whole benchmarks with real planners: records, resumption after `kill -9`, estimates, curves, refusals."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from oclgen.bench.benchmark import BenchProgress, end_lengths, in_domains, read_metrics, run_benchmark
from oclgen.bench.config import BenchConfig, OptimaSpec, read_config
from oclgen.bench.problems import BenchProblem
from oclgen.bench.record import CurveRecord, EstimateRecord, LoopRecord, RunRecord
from oclgen.bench.record_file import RecordFile, read_records
from oclgen.errors import InputError
from oclgen.report.evaluation import Evaluation
from tests.bench.records import loop
from tests.model_folder import write_random_model

CONFIG = """
memory_limit = "2G"
[[problems]]
domain = "blocksworld"
count = 2
ranges = ["blocks=3"]
[[runs]]
label = "oclgen-uniform"
method = "oclgen"
model = "{model}"
time_limits = ["60s"]
iterations = 30
[[runs]]
label = "lama-first"
method = "lama-first"
time_limits = ["60s"]
[optima]
time_limit = "60s"
memory_limit = "2G"
[[estimates]]
model = "{model}"
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("model"), "blocksworld")


@pytest.fixture(autouse=True)
def own_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cores are free here whatever else the machine is benchmarking."""
    (tmp_path / "locks").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "locks"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "locks"))


def bench(tmp_path: Path, text: str) -> list[BenchProgress]:
    config_file = tmp_path / "config.toml"
    config_file.write_text(text)
    return list(run_benchmark(read_config(config_file), config_file, tmp_path / "out", 1))


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "out" / "records.jsonl").read_text().splitlines()]


def test_a_benchmark_leaves_one_full_record_a_run(tmp_path: Path, model: Path) -> None:
    progress = bench(tmp_path, CONFIG.format(model=model))
    assert (progress[-1].done, progress[-1].total, progress[-1].broken) == (7, 7, 0)
    runs = [record for record in read_records(tmp_path / "out") if isinstance(record, RunRecord)]
    assert sorted(run.label for run in runs) == ["lama-first"] * 2 + ["lmcut"] * 2 + ["oclgen-uniform"] * 2
    assert {run.outcome for run in runs} <= {"solved", "unsolved"}
    line = next(line for line in lines(tmp_path) if line.get("label") == "oclgen-uniform")
    assert line["settings"]["depth_selection"] == "uniform" and line["versions"]["oclgen"]
    assert {"machine", "revision", "config", "model_digest", "fingerprint", "seed", "memory_limit"} <= line.keys()
    assert line["cores"] == 1 and isinstance(line["load"], float)
    assert line["disturbed"] is (line["lost_seconds"] > 0.02 * line["wall_seconds"] + 0.02)
    again = bench(tmp_path, CONFIG.format(model=model))
    assert [(step.done, step.total) for step in again] == [(6, 6)]


def test_breadth_first_search_proves_optima_where_it_is_asked_to(tmp_path: Path) -> None:
    text = CONFIG[: CONFIG.index("[[runs]]")] + '[optima]\ntime_limit = "60s"\n'
    bench(tmp_path, text)
    by_lmcut = Evaluation(read_records(tmp_path / "out")).optima
    (tmp_path / "out" / "records.jsonl").unlink()
    bench(tmp_path, text + 'breadth_first = ["blocksworld"]\n')
    assert [line["label"] for line in lines(tmp_path)] == ["bfs", "bfs"]
    assert Evaluation(read_records(tmp_path / "out")).optima == by_lmcut


def test_a_proof_ends_the_runs_of_its_problem_also_after_an_interruption(tmp_path: Path) -> None:
    text = CONFIG[: CONFIG.index("[[estimates]]")].replace('"lama-first"', '"lama"') + "end_runs = true\n"
    text = text[: text.index("[[runs]]")] + text[text.rindex("[[runs]]") :]
    bench(tmp_path, text)
    found = lines(tmp_path)
    assert [line["label"] for line in found] == ["lmcut", "lmcut", "lama", "lama"]
    proofs = {line["fingerprint"]: line["length"] for line in found[:2]}
    for line in found[2:]:
        assert (line["ending"], line["length"]) == ("short enough", proofs[line["fingerprint"]])
        assert line["seconds"] < 30 and line["time_limit"] == 60
    (tmp_path / "out" / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in found[:3]))
    bench(tmp_path, text)
    assert lines(tmp_path)[3]["ending"] == "short enough"


def test_runs_end_at_a_published_length_unless_a_shorter_one_is_proved(tmp_path: Path) -> None:
    config = BenchConfig("c", "c", 1, (), (), OptimaSpec("9s", end_runs=True), (), (), ())
    known = BenchProblem("main", "blocksworld", "p", "f", "domain.pddl", "p.pddl", best_known=9, end_length=9)
    with RecordFile(tmp_path) as records:
        ends = end_lengths(config, [known, replace(known, fingerprint="g", end_length=None)], records)
        assert dict(ends) == {"f": 9}
        records.append({"id": "1", "kind": "optimum", "fingerprint": "f", "length": 8})
        assert dict(ends) == {"f": 8}
        assert dict(end_lengths(replace(config, optima=None), [known], records)) == {"f": 9}


def test_estimates_hold_mode_percentile_and_distribution(tmp_path: Path, model: Path) -> None:
    text = CONFIG.format(model=model)
    bench(tmp_path, text[: text.index("[[runs]]")] + text[text.index("[[estimates]]") :])
    estimates = [record for record in read_records(tmp_path / "out") if isinstance(record, EstimateRecord)]
    assert len(estimates) == 2
    for found in estimates:
        assert found.percentile == 50 and found.estimate <= 150
        assert found.mode == max(found.distribution, key=lambda pair: pair[1])[0]
        assert sum(share for _, share in found.distribution) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(("profile", "percentile"), [("extended", 42), ("paper", 3)])
def test_estimates_under_the_papers_profile_ignore_the_models_own_settings(
    tmp_path: Path, profile: str, percentile: float
) -> None:
    folder = write_random_model(tmp_path / "model", "blocksworld")
    (folder / "solve.toml").write_text("percentile = 42\n")
    text = CONFIG[: CONFIG.index("[[runs]]")] + f'[[estimates]]\nmodel = "{folder}"\nprofile = "{profile}"\n'
    bench(tmp_path, text)
    assert {(line["percentile"], line["profile"]) for line in lines(tmp_path)} == {(percentile, profile)}


@pytest.mark.parametrize(
    ("recipe", "loops"), [(None, None), ({"seed": 1}, 0), ({"improved": {"iteration": 3, "method": "oclgen"}}, 3)]
)
def test_estimates_say_how_many_loops_their_model_has_gone_through(
    tmp_path: Path, recipe: dict[str, Any] | None, loops: int | None
) -> None:
    folder = write_random_model(tmp_path / "model", "blocksworld")
    if recipe is not None:
        (folder / "heuristic" / "recipe.json").write_text(json.dumps(recipe))
    bench(tmp_path, CONFIG[: CONFIG.index("[[runs]]")] + f'[[estimates]]\nmodel = "{folder}"\n')
    assert {line["loops"] for line in lines(tmp_path)} == {loops}


def test_a_benchmark_killed_hard_goes_on_where_it_stopped(tmp_path: Path, model: Path) -> None:
    config_file = tmp_path / "config.toml"
    config_file.write_text(CONFIG.format(model=model).replace("count = 2", "count = 3"))
    command = [sys.executable, "-m", "oclgen", "bench", "--config", str(config_file), "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*command, "--workers", "1"], stdout=subprocess.DEVNULL)
    path = tmp_path / "out" / "records.jsonl"
    wait_for(lambda: path.exists() and path.read_text().count('"kind":"run"') >= 2)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    psutil.wait_procs(children, timeout=30)
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)
    before = path.read_bytes()
    path.write_bytes(before + b'{"id": "torn')
    done = subprocess.run([*command, "--workers", "1"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.read_bytes().startswith(before)
    ids = [line["id"] for line in lines(tmp_path)]
    assert len(ids) == len(set(ids)) == 12
    assert "9/9 runs recorded" in done.stdout


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_model_trained_further_is_run_again(tmp_path: Path) -> None:
    first = write_random_model(tmp_path / "model", "blocksworld")
    text = CONFIG.format(model=first)
    text = text[: text.index("[optima]")].replace("count = 2", "count = 1")
    bench(tmp_path, text)
    weights = first / "heuristic" / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    subprocess.run(
        [sys.executable, "-m", "oclgen", "bench", "--config", tmp_path / "config.toml", "--out", tmp_path / "out"],
        check=True,
        capture_output=True,
    )
    assert sorted(line["label"] for line in lines(tmp_path)) == ["lama-first", "oclgen-uniform", "oclgen-uniform"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("iterations = 30", 'settings = ["depth_choice=uniform"]', "'oclgen-uniform' on blocksworld.*depth_choice"),
        ('model = "{model}"\ntime', 'model = "nowhere/{{domain}}"\ntime', "nowhere/blocksworld: no such model"),
        ('domain = "blocksworld"', 'domain = "logistics"', "trained for domain"),
    ],
)
def test_wrong_settings_and_models_are_refused_before_the_first_run(
    tmp_path: Path, model: Path, old: str, new: str, complaint: str
) -> None:
    text = CONFIG.replace(old, new).replace('"blocks=3"', "" if "logistics" in new else '"blocks=3"')
    with pytest.raises(InputError, match=complaint):
        bench(tmp_path, text.format(model=model))
    assert lines(tmp_path) == []


def test_each_row_of_a_label_is_checked_on_its_own_domain(tmp_path: Path) -> None:
    rows = "".join(
        f'[[problems]]\ndomain = "{domain}"\ncount = 1\n'
        f'[[runs]]\nlabel = "oclgen"\nmethod = "oclgen"\ndomains = ["{domain}"]\n'
        f'settings = ["{setting}"]\ntime_limits = ["1s"]\n'
        for domain, setting in (("blocksworld", "percentil=20"), ("labyrinth", "percentile=20"))
    )
    with pytest.raises(InputError, match=r"run 'oclgen' on blocksworld: .*percentil"):
        bench(tmp_path, rows)


def test_a_benchmark_goes_on_with_the_config_that_it_kept(tmp_path: Path) -> None:
    bench(tmp_path, CONFIG[: CONFIG.index("[[runs]]")])
    kept = tmp_path / "out" / "config.toml"
    assert list(run_benchmark(read_config(kept), kept, tmp_path / "out", 1))[-1].total == 0


def test_known_optima_published_lengths_and_training_curves_become_records(tmp_path: Path) -> None:
    from oclgen.domains import catalog

    spec = catalog.load("blocksworld")
    problems = tmp_path / "problems"
    problems.mkdir()
    (problems / "domain.pddl").write_text(spec.domain_text)
    (problems / "p1.pddl").write_text(catalog.draw(spec, 0, 0, catalog.overrides(spec, ["blocks=3"])).text)
    (problems / "optima.json").write_text('{"p1.pddl": 4}')
    (problems / "best.json").write_text('{"lengths": {"blocksworld": {"p1": 6}}}')
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text(
        '{"group": "train", "step": 1, "loss": 2.5, "rate": 1}\n{"group": "validation", "step": 1, "loss": 2.0}\n'
        '{"group": "train", "step": 2, "loss": NaN}\n{"group": "schedule", "step": 2}\n{"group": "train", "st'
    )
    text = f"""
[[problems]]
domain = "blocksworld"
folder = "{problems}"
best_known = "{problems}/best.json"
[[training]]
label = "policy"
domain = "blocksworld"
metrics = "{metrics}"
[[training]]
label = "heuristic"
domain = "blocksworld"
metrics = "nowhere.jsonl"
"""
    bench(tmp_path, text)
    bench(tmp_path, text)
    assert [(line["kind"], line.get("length")) for line in lines(tmp_path)] == [
        ("optimum", 4),
        ("bound", 6),
        ("curve", None),
    ]
    [_, _, curve] = read_records(tmp_path / "out")
    assert isinstance(curve, CurveRecord)
    assert curve.series == {"training": ((1, 2.5),), "validation": ((1, 2.0),)}


def test_metrics_that_are_not_there_are_no_curve(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "metrics.jsonl") == {}


LOOPS = """
[[problems]]
domain = "blocksworld"
count = 1
ranges = ["blocks=3"]
[[loops]]
label = "oclgen-uniform"
domain = "blocksworld"
loop = "{folder}/improve-{{domain}}/loop.json"
[[loops]]
label = "mcts-full"
domain = "blocksworld"
loop = "nowhere/loop.json"
"""


def test_a_loop_becomes_a_record_that_a_longer_one_follows(tmp_path: Path) -> None:
    path = tmp_path / "improve-blocksworld" / "loop.json"
    path.parent.mkdir()
    for lengths in ((70.0,), (70.0,), (70.0, 60.0)):
        path.write_text(json.dumps({"format": 1, **loop(*lengths, domain="data/mine")}))
        bench(tmp_path, LOOPS.format(folder=tmp_path))
    first, second = read_records(tmp_path / "out")
    assert isinstance(first, LoopRecord) and isinstance(second, LoopRecord)
    assert (second.domain, second.label, second.method, second.samples) == (
        "blocksworld",
        "oclgen-uniform",
        "oclgen",
        10,
    )
    assert [each.mean_length for each in first.iterations] == [70.0]
    assert [each.mean_length for each in second.iterations] == [70.0, 60.0]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"method": "mcts", "samples": 10}',
        '{"method": "mcts", "samples": 10, "iterations": [{"iteration": 0}]}',
    ],
)
def test_a_file_that_is_no_loop_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "improve-blocksworld" / "loop.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(InputError, match=r"improve-blocksworld/loop\.json"):
        bench(tmp_path, LOOPS.format(folder=tmp_path))


def test_only_the_domains_asked_for_are_run() -> None:
    problems = [BenchProblem("main", domain, "p", domain, "", "") for domain in ("ferry", "spanner")]
    assert in_domains(problems, ()) == problems
    assert in_domains(problems, ("spanner",)) == problems[1:]
    with pytest.raises(InputError, match="'barge'; the config has ferry, spanner"):
        in_domains(problems, ("barge",))
