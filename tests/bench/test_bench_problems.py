"""Problems of a benchmark: no repetitions, none from training, the same ones when it goes on."""

from dataclasses import replace
from pathlib import Path

import pytest

from oclgen.bench.config import ProblemSource
from oclgen.bench.problems import collect
from oclgen.data import dataset
from oclgen.data.dataset import Row, Writer
from oclgen.domains import catalog
from oclgen.errors import InputError

SPEC = catalog.load("blocksworld")


def write_data_set(path: Path, rows: list[tuple[str, str, str, int]]) -> None:
    """(name, split, problem text, length)"""
    writer = Writer(path, {"source": "blocksworld"}, SPEC.domain_text)
    for number, (name, split, text, length) in enumerate(rows):
        prints = collect([ProblemSource("blocksworld", folder=folder_of(path, text))], path / f"look-{number}")
        writer.append(
            Row(number, split, name, text, prints[0].fingerprint, "", length, "", 0.0, "lama-first", "{}", 0, "{}")
        )
    writer.close()


def folder_of(path: Path, text: str) -> str:
    folder = path / f"one-{abs(hash(text))}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domain.pddl").write_text(SPEC.domain_text)
    (folder / "p.pddl").write_text(text)
    return str(folder)


def blocks(count: int, index: int) -> str:
    return catalog.draw(SPEC, 1, index, catalog.overrides(SPEC, [f"blocks={count}"])).text


def test_drawn_problems_differ_by_more_than_names(tmp_path: Path) -> None:
    problems = collect([ProblemSource("blocksworld", count=12, ranges=("blocks=3",))], tmp_path)
    assert len({problem.fingerprint for problem in problems}) == 12
    assert all((tmp_path / problem.problem_file).is_file() for problem in problems)


def test_asking_for_more_than_there_are_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="different problems"):
        collect([ProblemSource("blocksworld", count=100, ranges=("blocks=2",))], tmp_path)


def test_the_same_sources_give_the_same_problems_without_drawing_again(tmp_path: Path) -> None:
    source = ProblemSource("blocksworld", count=3, ranges=("blocks=5",))
    first = collect([source], tmp_path)
    (tmp_path / first[0].problem_file).write_text("changed by hand")
    assert collect([source], tmp_path) == first
    assert (tmp_path / first[0].problem_file).read_text() == "changed by hand"
    other = collect([ProblemSource("blocksworld", count=2, ranges=("blocks=5",))], tmp_path)
    assert other == first[:2]


def test_two_sources_of_one_set_do_not_overlap(tmp_path: Path) -> None:
    source = ProblemSource("blocksworld", count=4, ranges=("blocks=4",))
    problems = collect([source, source], tmp_path)
    assert len({problem.fingerprint for problem in problems}) == 8


def test_a_split_of_a_data_set_brings_the_teachers_lengths_and_known_optima(tmp_path: Path) -> None:
    data = tmp_path / "data"
    rows = [("a", "test", blocks(4, 0), 12), ("b", "failed", blocks(5, 1), -1), ("c", "test", blocks(4, 2), 8)]
    write_data_set(data, rows)
    (data / "optima.json").write_text('{"a": 10}')
    problems = collect([ProblemSource("blocksworld", data=str(data), split="test")], tmp_path / "out")
    assert [(p.name, p.teacher_length, p.optimum) for p in problems] == [("a", 12, 10), ("c", 8, None)]
    [failed] = collect([ProblemSource("blocksworld", data=str(data), split="failed")], tmp_path / "out")
    assert (failed.name, failed.teacher_length) == ("b", None)


def test_problems_of_excluded_data_sets_are_passed_over(tmp_path: Path) -> None:
    source = ProblemSource("blocksworld", count=3, ranges=("blocks=4",))
    first = collect([source], tmp_path / "first")
    text = (tmp_path / "first" / first[1].problem_file).read_text()
    write_data_set(tmp_path / "data", [("seen", "train", text, 4)])
    assert dataset.open_dataset(tmp_path / "data").count("train") == 1
    kept = ProblemSource("blocksworld", count=3, ranges=("blocks=4",), exclude=(str(tmp_path / "data"),))
    prints = [problem.fingerprint for problem in collect([kept], tmp_path / "second")]
    assert first[1].fingerprint not in prints
    assert prints[:2] == [first[0].fingerprint, first[2].fingerprint]


def test_draws_to_be_skipped_are_passed_over(tmp_path: Path) -> None:
    source = ProblemSource("blocksworld", count=3, ranges=("blocks=4",))
    first = collect([source], tmp_path / "first")
    second = collect([replace(source, count=2, skip=(first[1].name,))], tmp_path / "second")
    assert [problem.name for problem in second] == [first[0].name, first[2].name]


def test_a_folder_of_an_unknown_domain_will_do(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, blocks(3, 0))
    [problem] = collect([ProblemSource("mine", folder=folder)], tmp_path / "out")
    assert (problem.domain, problem.name) == ("mine", "p")


@pytest.mark.parametrize(
    "source",
    [
        ProblemSource("nowhere", count=1),
        ProblemSource("blocksworld", data="nowhere"),
        ProblemSource("blocksworld", folder="nowhere"),
    ],
)
def test_what_does_not_exist_is_refused(tmp_path: Path, source: ProblemSource) -> None:
    with pytest.raises(InputError):
        collect([source], tmp_path)


def test_a_folder_may_be_named_by_an_environment_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ProblemSource("mine", folder="$OCLGEN_TEST_PROBLEMS")
    monkeypatch.delenv("OCLGEN_TEST_PROBLEMS", raising=False)
    with pytest.raises(InputError, match="OCLGEN_TEST_PROBLEMS: set this environment variable"):
        collect([source], tmp_path / "out")
    monkeypatch.setenv("OCLGEN_TEST_PROBLEMS", folder_of(tmp_path, blocks(3, 0)))
    assert [problem.name for problem in collect([source], tmp_path / "out")] == ["p"]


def test_only_the_files_asked_for_are_taken_and_published_lengths_go_with_them(tmp_path: Path) -> None:
    folder = Path(folder_of(tmp_path, blocks(3, 0)))
    (folder / "testing" / "easy").mkdir(parents=True)
    (folder / "testing" / "easy" / "p1.pddl").write_text(blocks(4, 1))
    published = tmp_path / "best.json"
    published.write_text('{"lengths": {"mine": {"p1": 7}, "other": {"p1": 8}}}')
    files = ("nowhere/*.pddl", "testing/easy/*.pddl", "*.pddl")
    source = ProblemSource("mine", folder=str(folder), files=files, best_known=str(published))
    [problem] = collect([source], tmp_path / "out")
    assert (problem.name, problem.best_known, problem.optimum) == ("testing/easy/p1", 7, None)
    assert problem.end_length is None
    [ended] = collect([replace(source, end_at_best_known=True)], tmp_path / "ended")
    assert ended.end_length == 7


def test_runs_cannot_end_at_lengths_that_nobody_published() -> None:
    with pytest.raises(InputError, match="end_at_best_known needs best_known"):
        ProblemSource("mine", folder="somewhere", end_at_best_known=True)


def test_few_problems_of_a_folder_come_from_all_over_it(tmp_path: Path) -> None:
    folder = Path(folder_of(tmp_path, blocks(3, 0)))
    for number in range(30):
        (folder / f"p{number:02}.pddl").write_text(blocks(6, number))
    (folder / "p.pddl").unlink()
    problems = collect([ProblemSource("mine", folder=str(folder))], tmp_path / "all")
    assert len(problems) == 30
    for count in (3, 6, 15):
        few = collect([ProblemSource("mine", folder=str(folder), count=count)], tmp_path / str(count))
        assert [problem.name for problem in few] == [problem.name for problem in problems[:count]]
        thirds = [int(problem.name[1:]) // 10 for problem in few]
        assert {thirds.count(third) for third in range(3)} <= {count // 3 - 1, count // 3, count // 3 + 1}


def test_problems_of_the_same_name_from_two_folders_keep_their_own_files(tmp_path: Path) -> None:
    sources = [ProblemSource("blocksworld", folder=folder_of(tmp_path, blocks(count, 0))) for count in (4, 5)]
    problems = collect(sources, tmp_path / "out")
    assert [problem.name for problem in problems] == ["p", "p"]
    texts = [(tmp_path / "out" / problem.problem_file).read_text() for problem in problems]
    assert texts == [blocks(4, 0), blocks(5, 0)]
    assert [problem.objects for problem in problems] == [4, 5]


def test_sources_of_one_set_with_different_domain_files_are_refused(tmp_path: Path) -> None:
    folders = [folder_of(tmp_path, blocks(count, 0)) for count in (4, 5)]
    (Path(folders[1]) / "domain.pddl").write_text(SPEC.domain_text + "; other")
    sources = [ProblemSource("blocksworld", folder=folder) for folder in folders]
    with pytest.raises(InputError, match="different domain files"):
        collect(sources, tmp_path / "out")
    assert len(collect([sources[0], replace(sources[1], set="other")], tmp_path / "out")) == 2
