"""`oclgen learn` with more time than before: what stays, what begins again, and that OUT never gets worse."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from oclgen.pipeline import learn, loops, tuning
from oclgen.pipeline.clock import Clock
from oclgen.pipeline.evaluation import EvaluationJob, EvaluationResult
from oclgen.pipeline.gathering import Plans, divide
from oclgen.pipeline.installing import SearchChoice
from oclgen.pipeline.learn import LearnRequest, tune
from oclgen.pipeline.loops import Improver
from oclgen.pipeline.more_time import extend, keep_better
from oclgen.support.files import read_json, write_json
from tests.data.toy_data import make_dataset
from tests.pipeline.toy_models import fake_model, nothing, trainings_end, weights

FOLDERS = ("training", "plans", "off_plan", "loop-1")
FILES = ("splits.json", "off_plan.json", "evaluation.jsonl", "choice.json", "choice-0.jsonl", "tuning-0.jsonl")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """What a run of a quarter of an hour leaves; its loop's model is in OUT."""
    work = tmp_path / "out" / "work"
    for name in FOLDERS:
        (work / name).mkdir(parents=True)
    for name in FILES:
        (work / name).write_text("{}")
    write_json(work / "time.json", {"seconds": 900.0})
    write_json(work / "settings.json", asdict(SearchChoice("applicable")))
    fake_model(work / "model", SearchChoice("applicable"), "trained")
    fake_model(tmp_path / "out", SearchChoice("applicable"), "old")
    return work


def extended(work: Path, seconds: float) -> float:
    return extend(work, work.parent, seconds, Clock(work / "clock.json", seconds, begun=700.0))


def left(work: Path) -> set[str]:
    return {path.name for path in work.iterdir()} - {"time.json", "teacher.json"}


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("seconds", [901.0, 960.0, 1700.0])
def test_a_little_more_time_keeps_all_that_was_made_but_the_evaluation(
    work: Path, seconds: float, complete: bool
) -> None:
    if complete:
        write_json(work / "teacher.json", {"complete": True})
    before = left(work)
    assert extended(work, seconds) == 0.0
    assert left(work) == before - {"evaluation.jsonl"}


def test_less_time_in_between_changes_nothing(work: Path) -> None:
    before = left(work)
    for seconds in (900.0, 300.0, 900.0):
        extended(work, seconds)
        assert left(work) == before and read_json(work / "time.json")["seconds"] == 900.0


def test_twice_the_time_trains_on_and_begins_the_loops_again(work: Path) -> None:
    write_json(work / "teacher.json", {"complete": True})
    assert extended(work, 1800.0) == pytest.approx(700.0, abs=60.0)
    assert left(work) == {"training", "plans", "off_plan", "splits.json", "off_plan.json", "before"}
    assert extended(work, 1800.0) == pytest.approx(700.0, abs=60.0)


def test_a_teacher_that_had_not_seen_all_goes_on_and_the_training_begins_anew(work: Path) -> None:
    (work / "splits.json").write_text('{"1": "train"}')
    extended(work, 1800.0)
    assert left(work) == {"earlier.json", "before"} and read_json(work / "earlier.json") == {"1": "train"}


def test_the_model_that_is_kept_is_the_one_in_out_also_where_this_is_done_twice(work: Path) -> None:
    extended(work, 1800.0)
    fake_model(work / "model", weights="new")
    extended(work, 3600.0)
    assert weights(work / "before") == weights(work.parent) == "old"
    assert 'decoding = "free"' in (work / "before" / "solve.toml").read_text()
    assert read_json(work / "before" / "settings.json")["decoding"] == "applicable"


def judged(monkeypatch: pytest.MonkeyPatch, lengths: dict[str, int]) -> None:
    """Instead of searches: lengths by the weights of the model."""

    def evaluate(_path: Path, jobs: list[EvaluationJob], *_: object) -> list[EvaluationResult]:
        length = lengths[weights(jobs[0].model)]
        return [EvaluationResult(job.row.id, job.method, length, job.row.length, length) for job in jobs]

    monkeypatch.setattr(loops, "evaluate", evaluate)


@pytest.mark.parametrize(("new", "stays"), [(9, "new"), (10, "old"), (11, "old")])
def test_a_model_that_was_trained_again_must_be_better_than_the_one_before(
    plans: Plans, work: Path, monkeypatch: pytest.MonkeyPatch, new: int, stays: str
) -> None:
    extended(work, 1800.0)
    fake_model(work / "model", weights="new")
    judged(monkeypatch, {"old": 10, "new": new})
    said: list[str] = []
    keep_better(Improver(work, plans, Clock(work / "clock.json", 1800.0), 1, 0, said.append))
    assert weights(work / "model") == stays and not (work / "before").exists()
    assert (work / "settings.json").exists() == (stays == "old")  # they were found for the model before
    assert len(said) == 1 and said[0].endswith(": kept" if stays == "new" else ": not kept")


def test_a_training_that_began_again_and_is_interrupted_leaves_out_as_it_is(
    solved: LearnRequest, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainings_end(monkeypatch, learn, 15)
    assert not learn.learn(replace(solved, seconds=1800.0), nothing)
    assert weights(solved.out) == "old" and weights(work / "model") == "new"


def test_what_was_trained_again_is_installed_only_if_it_is_better(
    solved: LearnRequest, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainings_end(monkeypatch, learn, 0)
    judged(monkeypatch, {"old": 10, "new": 20})
    monkeypatch.setattr(Improver, "loops", lambda *_: iter(()))
    monkeypatch.setattr(learn, "report", lambda *_: iter(()))
    assert learn.learn(replace(solved, seconds=1800.0), nothing)
    assert weights(solved.out) == weights(work / "model") == "old"
    assert 'decoding = "applicable"' in (solved.out / "solve.toml").read_text()


def test_the_teacher_gets_its_share_of_the_time_since_the_work_began_again(
    solved: LearnRequest, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def gather(*arguments: Any) -> None:
        given.append(arguments[3])
        raise KeyboardInterrupt

    monkeypatch.setattr(learn, "gather", gather)
    write_json(work / "clock.json", {"seconds": 864.0})
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            learn.learn(replace(solved, seconds=1800.0), nothing)
    assert given == [pytest.approx(0.15 * 864.0, abs=10.0)] * 2


def test_splits_stay_when_the_teacher_goes_on(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", 30, blocks="3")
    earlier = {str(number): split for number, split in enumerate(["test", "val", *["train"] * 10])}
    splits = divide(data, earlier.items())
    assert len(splits) == 30 and {number: splits[number] for number in earlier} == earlier
    assert [list(splits.values()).count(split) for split in ("test", "val", "train")] == [3, 3, 24]


def test_settings_are_not_tried_once_loops_have_begun(
    plans: Plans, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "evaluate", lambda *_: pytest.fail("they were tried"))
    (work / "settings.json").unlink()
    request = LearnRequest("", work.parent, 1200.0, 1, 0)
    assert tune(request, Clock(work / "clock.json", 1200.0, begun=800.0), plans, nothing) is None


def test_a_better_model_of_a_loop_is_evaluated_anew(
    solved: LearnRequest, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = fake_model(work / "loop-2" / "model", weights="better")
    monkeypatch.setattr(Improver, "loops", lambda *_: iter([better]))
    monkeypatch.setattr(learn, "report", lambda *_: iter([str((work / "evaluation.jsonl").exists())]))
    said: list[str] = []
    assert learn.learn(solved, said.append)
    assert weights(solved.out) == "better" and said[-1] == "False"
