"""Relational models through the searches: random weights, all domains; valid plans, the same for the same seed."""

import os
from pathlib import Path
from typing import Any

import pytest

from oclgen import improving_plans, planner, solve, solve_process
from oclgen.cli.planning.solve import command as solve_command
from oclgen.errors import InputError
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.pddl.checking.validate import validate
from oclgen.search import METHODS
from oclgen.search.anytime import Budget, SearchResult
from oclgen.solve_process import SolveRequest
from tests.pddl.samples import SMALL, drawn
from tests.relational_folder import write_relational_model

APPLICABLE = {"decoding": "applicable"}
"""What random weights need to get anywhere."""


@pytest.fixture(scope="module", params=SMALL)
def domain(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(domain: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relational_model(tmp_path_factory.mktemp("model"), domain)


@pytest.fixture(scope="module")
def blocks_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relational_model(tmp_path_factory.mktemp("model"), "blocksworld")


def once(domain: str, model: Path | LoadedModel, iterations: int = 4, **more: Any) -> SearchResult:
    text, problem = drawn(domain, 0)
    values: dict[str, Any] = {"settings": APPLICABLE, "seed": 3} | more
    return solve(text, problem, model=model, time_limit=None, iterations=iterations, **values)


def test_plans_are_valid_and_the_same_seed_finds_the_same(domain: str, model: Path) -> None:
    text, problem = drawn(domain, 0)
    found = list(improving_plans(text, problem, model=model, time_limit=None, iterations=10, settings=APPLICABLE))
    assert all(validate(text, problem, plan).valid for plan in found)
    first, second = once(domain, model), once(domain, LoadedModel(model))
    assert (first.plan, first.counters) == (second.plan, second.counters)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_valid_plans(method: str, blocks_model: Path) -> None:
    text, problem = drawn("blocksworld", 0)
    result = once("blocksworld", blocks_model, 60, method=method)
    assert result.counters.iterations > 0
    assert result.plan is None or validate(text, problem, result.plan).valid


@pytest.mark.parametrize("decoding", ["free", "applicable", "viable"])
@pytest.mark.parametrize("nodes", [1, 3])
def test_the_answer_is_the_same_for_any_number_of_threads(decoding: str, nodes: int, blocks_model: Path) -> None:
    settings = {"decoding": decoding, "nodes_per_iteration": nodes}
    one, *others = (once("blocksworld", blocks_model, settings=settings, threads=threads) for threads in (1, 2, 3))
    for other in others:
        assert (one.plan, one.counters) == (other.plan, other.counters)
        assert [length for _, length in one.trace] == [length for _, length in other.trace]


@pytest.mark.parametrize(
    ("method", "iterations", "settings", "memory", "found"),
    [
        ("oclgen", None, {}, None, (4, 1)),
        ("oclgen", None, {}, 1 << 30, (2, 2)),
        ("oclgen", None, {}, 1 << 20, (1, 4)),
        ("oclgen", None, {"engine_threads": 2}, None, (2, 2)),
        ("oclgen", 5, {}, None, (1, 4)),
        ("oclgen", None, {"device": "cpu-torch"}, None, (1, 1)),
        ("mcts", None, {}, None, (1, 4)),
        ("lama", None, {}, None, (1, 1)),
    ],
)
def test_four_cores_are_searches_or_threads_of_the_engine(
    method: str,
    iterations: int | None,
    settings: dict[str, Any],
    memory: int | None,
    found: tuple[int, int],
    blocks_model: Path,
) -> None:
    text, problem = drawn("blocksworld", 0)
    prepared = planner.prepare(
        text, problem, method=method, model=None if method == "lama" else blocks_model, settings=settings
    )
    spread = prepared.on_cores(4, Budget(10, iterations, memory))
    assert (spread.searches, spread.model_use.engine_threads) == found
    assert spread.threads == found[0] * found[1]


def test_the_default_is_all_cores_of_the_machine_up_to_eight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SolveRequest] = []
    monkeypatch.setattr(solve_process, "run_request", asked.append)
    text, problem = drawn("blocksworld", 0)
    (tmp_path / "domain.pddl").write_text(text)
    (tmp_path / "problem.pddl").write_text(problem)
    for cores, options in ((2, []), (64, []), (64, ["--threads", "1"]), (2, ["--threads", "16"])):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, count=cores: set(range(count)), raising=False)
        solve_command.main([*options, str(tmp_path / "problem.pddl")], standalone_mode=False)
    assert [each.threads for each in asked] == [2, 8, 1, 16]


def test_no_threads_are_refused(blocks_model: Path) -> None:
    with pytest.raises(InputError, match="threads must be at least 1"):
        once("blocksworld", blocks_model, threads=0)
    with pytest.raises(InputError, match="threads must be at least 1"):
        ModelUse(engine_threads=-1)


def test_a_model_of_another_domain_is_refused(blocks_model: Path) -> None:
    with pytest.raises(InputError, match="domain"):
        once("logistics", blocks_model)
