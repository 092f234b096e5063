"""A benchmark in parts: every problem is in one part, and merged folders hold what one run would have left."""

import json
import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oclgen.bench.benchmark import run_benchmark
from oclgen.bench.config import read_config
from oclgen.bench.problems import BenchProblem
from oclgen.bench.record_file import read_lines
from oclgen.bench.shards import merge, problems_of
from oclgen.cli import run as run_cli
from oclgen.errors import InputError
from oclgen.support.shards import Shard
from tests.bench.records import broken, estimate, optimum, run, write_records

CONFIG = """
[[problems]]
domain = "blocksworld"
count = 3
ranges = ["blocks=3"]
[[runs]]
label = "lama-first"
method = "lama-first"
time_limits = ["60s"]
"""


def problems(**counts: int) -> list[BenchProblem]:
    return [
        BenchProblem("main", domain, f"{domain}-{number}", f"{domain}-{number}", "", "")
        for domain, count in counts.items()
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_problem_is_in_exactly_one_shard(count: int) -> None:
    everything = problems(blocksworld=5, sokoban=8, labyrinth=1)
    parts = [problems_of(Shard(number, count), everything) for number in range(1, count + 1)]
    assert Counter(problem for part in parts for problem in part) == Counter(everything)


def test_shards_get_equal_shares_of_every_domain() -> None:
    everything = problems(blocksworld=8, sokoban=8, labyrinth=8, logistics=8)
    for number in range(1, 5):
        domains = Counter(problem.domain for problem in problems_of(Shard(number, 4), everything))
        assert set(domains.values()) == {2} and len(domains) == 4


def test_single_problems_of_several_domains_go_to_different_shards() -> None:
    everything = problems(blocksworld=1, sokoban=1)
    assert [len(problems_of(Shard(number, 2), everything)) for number in (1, 2)] == [1, 1]


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "-1/4", "1/0"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="shard"):
        Shard.parse(text)


def merged(tmp_path: Path, *parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    folders = [write_records(tmp_path / f"part-{number}", lines) for number, lines in enumerate(parts)]
    merge(folders, tmp_path / "out")
    return list(read_lines(tmp_path / "out" / "records.jsonl"))


def test_records_of_all_folders_are_joined_in_order(tmp_path: Path) -> None:
    lines = [run("lama", "p1", [(1, 5)]), optimum("p1", 5)], [run("lama", "p2", None), estimate("p2", 3, 3)]
    assert merged(tmp_path, *lines) == json.loads(json.dumps([*lines[0], *lines[1]]))


def test_a_run_in_two_folders_is_kept_once_and_counted(tmp_path: Path) -> None:
    first, second = run("lama", "p1", [(1, 5)]), run("lama", "p1", [(1, 6)])
    folders = [write_records(tmp_path / "a", [first]), write_records(tmp_path / "b", [second])]
    found = merge(folders, tmp_path / "out")
    assert (found.records, found.duplicates) == (1, 1)
    assert [line["length"] for line in read_lines(tmp_path / "out" / "records.jsonl")] == [5]


def test_a_broken_run_gives_way_to_one_that_worked(tmp_path: Path) -> None:
    lines = merged(tmp_path, [broken("lama", "p1")], [run("lama", "p1", [(1, 5)])])
    assert [line["outcome"] for line in lines] == ["solved"]


@pytest.mark.parametrize(
    "change", [{"model_digest": "other"}, {"asked_settings": ["samples=3"]}, {"profile": "paper"}, {"method": "bfs"}]
)
def test_one_label_with_two_meanings_is_refused_even_on_different_problems(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    complaint = r"part-0 and .*part-1 ran 'lama' on blocksworld with different methods, settings or models"
    with pytest.raises(InputError, match=complaint):
        merged(tmp_path, [run("lama", "p1", None)], [run("lama", "p2", None, **change)])
    assert not (tmp_path / "out").exists()


def test_a_model_that_a_folder_has_replaced_does_not_count(tmp_path: Path) -> None:
    old, new, other = (
        run("lama", problem, None, id=name, model_digest=model)
        for name, problem, model in (("a", "p1", "old"), ("b", "p1", "new"), ("c", "p2", "new"))
    )
    assert [line["id"] for line in merged(tmp_path, [old, new], [other])] == ["a", "b", "c"]


def test_folders_with_different_configs_are_refused(tmp_path: Path) -> None:
    for name, text in (("a", "title = '1'"), ("b", "title = '2'")):
        (write_records(tmp_path / name, []) / "main.toml").write_text(text)
    with pytest.raises(InputError, match=r"a/main\.toml and .*b/main\.toml differ"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")


def test_folders_with_different_problems_for_one_config_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (write_records(tmp_path / name, []) / "problems.json").write_text(
            json.dumps({"sources": "same", "problems": [{"name": name}]})
        )
    with pytest.raises(InputError, match="list different problems"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")


def test_records_are_not_written_over(tmp_path: Path) -> None:
    folder = write_records(tmp_path / "a", [run("lama", "p1", None)])
    with pytest.raises(InputError, match="records here already"):
        merge([folder], folder)


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/records\.jsonl"):
        merge([tmp_path / "nowhere"], tmp_path / "out")


def test_shards_merge_into_a_benchmark_with_nothing_left_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    config_file = tmp_path / "config.toml"
    config_file.write_text(CONFIG)
    parts = [tmp_path / "one", tmp_path / "two"]
    totals = [
        list(run_benchmark(read_config(config_file), config_file, part, 1, Shard(number, 2)))[-1].total
        for number, part in enumerate(parts, start=1)
    ]
    assert totals == [2, 1]
    assert run_cli(["merge", *map(str, parts), "--out", str(tmp_path / "out")]) == 0
    [whole] = run_benchmark(read_config(config_file), config_file, tmp_path / "out", 1)
    assert (whole.done, whole.total) == (3, 3)


BENCH = ["bench", "--config", "main.toml", "--out", "runs/main/part-3", "--workers", "1", "--shard", "3/8"]
DATA = ["data", "logistics", "--out", "runs/main/part-3", "--count", "9", "--workers", "4", "--shard", "3/8"]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [("bench.sh", ["main.toml", "runs/main"], BENCH), ("data.sh", ["logistics", "runs/main", "--count", "9"], DATA)],
)
def test_the_slurm_examples_run_one_shard_a_task(
    tmp_path: Path, name: str, arguments: list[str], words: list[str]
) -> None:
    called = tmp_path / "oclgen"
    called.write_text('#!/bin/sh\necho "$@"\n')
    called.chmod(0o755)
    script = Path(__file__).parents[2] / "examples" / "slurm" / name
    variables = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8", "SLURM_CPUS_PER_TASK": "4"}
    variables["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    command = ["bash", str(script), *arguments]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == words
