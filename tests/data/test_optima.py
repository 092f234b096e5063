import json
from pathlib import Path

import pytest

from oclgen.data import dataset
from oclgen.data.collect import collect
from oclgen.data.optima import Proved, prove_all, translate_options
from oclgen.data.problems import problems
from oclgen.data.teacher import TeacherSettings
from oclgen.domains import catalog
from oclgen.errors import InputError, PddlError
from oclgen.pddl.plan_file import parse_plan


def proofs(folder: Path, time_limit: float = 60.0, limit: int | None = None, split: str = "test") -> list[Proved]:
    results = prove_all(folder, split=split, limit=limit, time_limit=time_limit, memory_limit=1 << 30, workers=1)
    return [proved for _, proved in results if proved is not None]


def stored(folder: Path) -> dict[str, int]:
    lengths: dict[str, int] = json.loads((folder / "optima.json").read_text())
    return lengths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two small problems and one that LM-cut does not settle in a moment."""
    spec = catalog.load("blocksworld")
    (tmp_path / "domain.pddl").write_text(spec.domain_text)
    for name, blocks in (("a", 3), ("b", 4), ("z", 30)):
        drawn = catalog.draw(spec, 1, 0, catalog.overrides(spec, [f"blocks={blocks}"]))
        (tmp_path / f"{name}.pddl").write_text(drawn.text)
    return tmp_path


def test_lengths_are_kept_by_path_and_not_proved_again(folder: Path) -> None:
    assert len(proofs(folder, limit=1)) == 1
    assert set(stored(folder)) == {"a.pddl"}
    assert [proved.name for proved in proofs(folder, limit=2)] == ["b.pddl"]
    assert set(stored(folder)) == {"a.pddl", "b.pddl"}


def test_what_was_not_proved_is_tried_again_only_with_more_time(folder: Path) -> None:
    proofs(folder, limit=2)
    assert [(proved.name, proved.length) for proved in proofs(folder, time_limit=0.2)] == [("z.pddl", None)]
    assert proofs(folder, time_limit=0.1) == []
    assert len(proofs(folder, time_limit=0.3)) == 1
    assert "z.pddl" not in stored(folder)


def test_a_data_set_gets_the_optima_of_a_split_by_name(tmp_path: Path) -> None:
    source = problems("blocksworld", 1, ("blocks=4..5",))
    list(collect(source, tmp_path, TeacherSettings(), count=3, val=0, test=2, seed=1, workers=1))
    proofs(tmp_path)
    rows = {row.name: row for row in dataset.open_dataset(tmp_path).rows("test")}
    assert set(stored(tmp_path)) == set(rows)
    assert all(length <= len(parse_plan(rows[name].plan, name)) for name, length in stored(tmp_path).items())


def test_a_problem_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "a.pddl").write_text("(define (problem p)")
    with pytest.raises(PddlError, match=r"^a\.pddl: "):
        proofs(folder)


def test_options_for_the_translator_come_with_a_known_domain(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(catalog.load("labyrinth").domain_text)
    assert translate_options(tmp_path) == ("--invariant-generation-max-candidates", "0")


def test_a_folder_without_problems_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a data set nor a folder"):
        proofs(tmp_path)
