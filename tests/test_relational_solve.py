"""Relational models through the searches: random weights, all domains; valid plans, the same for the same seed."""

from pathlib import Path
from typing import Any

import pytest

from oclgen import improving_plans, planner, solve, solve_process
from oclgen.cli.planning.solve import command as solve_command
from oclgen.errors import InputError
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.pddl.checking.validate import validate
from oclgen.search import METHODS
from oclgen.search.anytime import SearchResult
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


def test_threads_are_on_record(blocks_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SolveRequest] = []
    monkeypatch.setattr(solve_process, "run_request", asked.append)
    text, problem = drawn("blocksworld", 0)
    (tmp_path / "domain.pddl").write_text(text)
    (tmp_path / "problem.pddl").write_text(problem)
    for threads in ("1", "2"):
        solve_command.main(["--threads", threads, str(tmp_path / "problem.pddl")], standalone_mode=False)
    records = [planner.prepare(text, problem, model=blocks_model, settings=each.settings).settings for each in asked]
    assert [record["threads"] for record in records] == [1, 2]


def test_no_threads_are_refused(blocks_model: Path) -> None:
    with pytest.raises(InputError, match="threads must be at least 1"):
        once("blocksworld", blocks_model, threads=0)
    with pytest.raises(InputError, match="threads must be at least 1"):
        ModelUse(threads=-1)


def test_a_model_of_another_domain_is_refused(blocks_model: Path) -> None:
    with pytest.raises(InputError, match="domain"):
        once("logistics", blocks_model)
