"""Configs: the shipped ones are sound, and every mistake is named."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest

from oclgen.bench.config import BenchConfig, narrowed, read_config
from oclgen.domains import catalog
from oclgen.errors import InputError
from oclgen.report.evaluation import ABLATIONS, PAPER_ABLATIONS
from oclgen.report.paper import PAPER, base_label
from oclgen.report.tables.loops import NAMES
from oclgen.search import METHODS

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = sorted(
    path for path in CONFIGS.glob("*/*.toml") if {"problems", "runs"} <= tomllib.loads(path.read_text()).keys()
)


GOOD = """
[[problems]]
domain = "blocksworld"
count = 2

[[runs]]
label = "lama"
method = "lama"
"""


def read(tmp_path: Path, text: str) -> BenchConfig:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return read_config(path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_shipped_configs_name_only_labels_and_domains_that_exist(path: Path) -> None:
    config = read_config(path)
    assert {source.domain for source in config.problems if not source.folder} <= set(catalog.names())
    assert {run.label for run in config.runs} | {loop.label for loop in config.loops} <= set(PAPER.names)
    assert {estimate.label for estimate in config.estimates} <= set(PAPER.names)
    for source in config.problems:
        if not source.data and not source.folder:
            spec = catalog.load(source.domain)
            catalog.overrides(spec, source.ranges)


def test_estimates_of_the_paper_configs_use_the_papers_percentiles() -> None:
    specs = [spec for path in SHIPPED if path.parent.name == "paper" for spec in read_config(path).estimates]
    assert {spec.profile for spec in specs} == {"paper"}


@pytest.mark.parametrize("kind", ["paper", "cpu", "smoke"])
def test_each_size_has_every_method_ablation_and_experiment(kind: str) -> None:
    configs = [read_config(path) for path in SHIPPED if path.parent.name == kind]
    runs = [run for config in configs for run in config.runs]
    assert {run.method for run in runs} >= {*METHODS, "lama", "lama-first"}
    assert {base_label(run.label) for run in runs} >= {*PAPER_ABLATIONS, "compiled", "not-compiled", "oclgen-loop3"}
    assert {run.label for run in runs} & {"mcts-loop3", "mcts-oclgen-loop3"}
    sets = {name for run in runs for name in run.sets}
    assert sets - {"beyond", "far beyond", "a minute"} == {"main", "failed", "interpolate", "extrapolate"}
    assert any(config.optima for config in configs) and any(config.estimates for config in configs)


def test_the_cpu_configs_fill_every_row_of_the_papers_tables() -> None:
    configs = [read_config(path) for path in SHIPPED if path.parent.name == "cpu"]
    labels = {base_label(run.label) for config in configs for run in config.runs}
    recorded = {loop.label for config in configs for loop in config.loops}
    methods = {method for method, label in NAMES.items() if label in recorded}
    labels |= {f"best-of-n-{method}-loop{number}" for method in methods for number in range(4)}
    labels |= {estimate.label for config in configs for estimate in config.estimates}
    provers = {"lmcut" for config in configs if config.optima}
    paper = tomllib.loads(resources.files("oclgen.report").joinpath("paper.toml").read_text(encoding="utf-8"))
    assert {row["label"] for name, table in paper.items() if name != "names" for row in table} <= labels | provers


def test_one_batch_of_samples_is_the_policys_own_plans() -> None:
    configs = [read_config(path) for path in SHIPPED if path.parent.name in ("cpu", "paper")]
    single = [run for config in configs for run in config.runs if run.method == "best-of-n" and run.iterations == 1]
    assert single
    for run in single:
        assert run.profile == "paper" or {"eliminate=false", "shortcut=false"} <= set(run.settings)


def test_the_paper_config_is_the_papers_evaluation() -> None:
    config = read_config(CONFIGS / "paper" / "main.toml")
    assert {source.count for source in config.problems} == {1000}
    limits = {run.label: run.time_limits for run in config.runs}
    assert limits["oclgen-uniform"] == ("10m",) and limits["lama"] == ("10m", "20m")
    assert limits["lama-first"] == ("20m",)
    assert config.optima is not None and config.optima.time_limit == "48h"
    assert {run.profile for run in config.runs if run.method in METHODS} == {"paper"}


def test_the_cpu_experiments_are_on_the_papers_ranges_with_seeds_that_nothing_was_tuned_on() -> None:
    config = read_config(CONFIGS / "cpu" / "main.toml")
    assert {(source.ranges, source.data, source.seed > 9000) for source in config.problems} == {((), "", True)}
    profiles: dict[str, set[str]] = {}
    for run in config.runs:
        profiles.setdefault(run.method, set()).add(run.profile)
    assert all(profiles[method] == {"paper", "extended"} for method in METHODS)
    more = read_config(CONFIGS / "cpu" / "main-more.toml")
    assert [source for source in more.problems if source.set == "main"] == list(config.problems)
    assert {run.label for run in (*config.runs, *more.runs)} >= set(ABLATIONS) - {"oclgen-mode"}, (
        "the median is the mode"
    )


def test_limits_are_read_as_the_command_line_reads_them(tmp_path: Path) -> None:
    assert read(tmp_path, 'memory_limit = "2G"' + GOOD).memory_limit == 2 << 30


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[problems", "config.toml"),
        (GOOD + "surprise = 1\n", "unknown key 'surprise'"),
        (GOOD + '\n[[estimates]]\nprofile = "papers"\n', "profile must be one of"),
        ("colour = 1\n" + GOOD, "unknown key 'colour'"),
        ("title = 'x'", "'problems' is missing"),
        (GOOD.replace('"lama"\n', '"llama"\n'), "method must be one of"),
        (GOOD.replace("count = 2", ""), "count"),
        (GOOD.replace("count = 2", 'count = "2"'), "count must be of type int"),
        (GOOD + 'time_limits = ["soon"]\n', "not a duration"),
        (GOOD + 'sets = ["test"]\n', "problem set 'test'"),
        (GOOD + '\n[[runs]]\nlabel = "lama"\nmethod = "lmcut"\n', "two runs are labelled 'lama'"),
        (GOOD + 2 * '\n[[loops]]\nlabel = "a"\ndomain = "b"\nloop = "c"\n', "two loops are labelled 'a' for b"),
        (GOOD.replace("count = 2", 'data = "a"\nfolder = "b"'), "not both"),
        ('memory_limit = "much"' + GOOD, "memory size"),
        ("runs = 3\n[[problems]]\ndomain = 'blocksworld'\ncount = 1\n", "list of tables"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.toml"):
        read_config(tmp_path / "nothing.toml")


def test_another_time_limit_holds_for_every_run(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    assert [run.time_limits for run in narrowed(config, "5s").runs] == [("5s",)]
    assert narrowed(config, None) == config
