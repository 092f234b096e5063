"""Self-improvement loop by loop, from what loops report and from runs with their models."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oclgen.bench.config import read_config
from oclgen.report import build as report
from oclgen.report.evaluation import Evaluation
from oclgen.report.figures import Picture
from oclgen.report.tables.loops import improvement_loop, loop_picture
from oclgen.report.tables.table import Absent, Table
from tests.bench.records import estimate, loop, optimum, records, run

CONFIGS = Path(__file__).parents[2] / "configs"


def evaluation(*lines: dict[str, Any]) -> Evaluation:
    return Evaluation(records(*lines))


def rows(table: Table | Absent, source: str = "ours") -> list[list[str]]:
    assert isinstance(table, Table), table
    return [[cell.text for cell in row.cells] for row in table.rows if row.source == source]


def test_each_iteration_of_a_loop_stands_beside_the_papers() -> None:
    table = improvement_loop(evaluation(loop(70.25, 50.0)))
    assert isinstance(table, Table)
    assert [(row.source, *(cell.text for cell in row.cells)) for row in table.rows] == [
        ("ours", "Blocksworld", "OCLGen (uniform)", "its test problems, best of 10", "0", "10", "90.0", "70.25 ± 1.50",
         "69.25", "77.00"),
        ("paper", "Blocksworld", "paper", "", "0", "–", "99.9", "69.51 ± 1.24", "–", "–"),
        ("ours", "Blocksworld", "OCLGen (uniform)", "its test problems, best of 10", "1", "10", "90.0", "50.00 ± 1.50",
         "49.00", "77.00"),
        ("paper", "Blocksworld", "paper", "", "1", "–", "99.2", "47.70 ± 0.84", "–", "–"),
    ]  # fmt: skip


def test_loops_are_ordered_by_domain_and_method_and_the_papers_figures_go_by_method() -> None:
    table = improvement_loop(
        evaluation(
            loop(25.0, domain="labyrinth"),
            loop(70.0, label="with-bank"),
            loop(70.0, label="mcts-full", method="mcts"),
            loop(70.0, 60.0),
        )
    )
    assert [row[:2] + row[3:4] for row in rows(table)] == [
        ["Blocksworld", "OCLGen (uniform)", "0"],
        ["Blocksworld", "OCLGen (uniform)", "1"],
        ["Blocksworld", "MCTS (full rollouts)", "0"],
        ["Blocksworld", "with-bank", "0"],
        ["Labyrinth", "OCLGen (uniform)", "0"],
    ]
    assert [(row[0], row[3]) for row in rows(table, "paper")] == [("Blocksworld", each) for each in "0100"]
    assert isinstance(table, Table)
    assert [row.rule for row in table.rows if row.source == "ours"] == [False, False, True, True, True]


def test_of_a_loop_that_went_on_only_the_last_record_is_shown() -> None:
    table = improvement_loop(evaluation(loop(70.0), loop(70.0, 60.0)))
    assert [row[3] for row in rows(table)] == ["0", "1"]


def test_an_iteration_that_solved_nothing_has_no_lengths() -> None:
    found = evaluation(loop(None, 60.0))
    assert rows(improvement_loop(found))[0][5:] == ["0.0", "–", "–", "–"]
    assert isinstance(loop_picture(found), Picture)


def test_runs_with_the_models_of_a_loop_give_the_same_figures() -> None:
    table = improvement_loop(
        evaluation(
            run("best-of-n-oclgen-loop0", "p1", [(1, 30)]),
            run("best-of-n-oclgen-loop0", "p2", [(1, 40)]),
            run("best-of-n-oclgen-loop0", "p3", None),
            run("best-of-n-oclgen-loop3", "p1", [(1, 20)]),
            run("best-of-n-oclgen-loop3", "p2", None),
            run("best-of-n-oclgen-loop3", "p3", [(1, 60)]),
            run("lama-first", "p1", [(1, 50)]),
            run("lama-first", "p2", [(1, 60)]),
            run("oclgen-loop3", "p1", [(1, 10)]),
            run("best-of-n", "p1", [(1, 10)]),
        )
    )
    assert rows(table) == [
        ["Blocksworld", "OCLGen (uniform)", "benchmark, 10 s", "0", "3", "66.7", "35.00 ± 5.00", "30.00", "55.00"],
        ["Blocksworld", "OCLGen (uniform)", "benchmark, 10 s", "3", "3", "66.7", "40.00 ± 20.00", "20.00", "–"],
    ]
    assert [row[6] for row in rows(table, "paper")] == ["69.51 ± 1.24", "41.40 ± 0.57"]


def test_a_loops_own_tests_come_before_the_benchmarks_runs() -> None:
    found = evaluation(run("best-of-n-mcts-loop0", "p1", [(1, 30)]), loop(70.0))
    assert [row[1:3] for row in rows(improvement_loop(found))] == [
        ["OCLGen (uniform)", "its test problems, best of 10"],
        ["MCTS (full rollouts)", "benchmark, 10 s"],
    ]


def test_rollouts_of_the_papers_profile_are_told_from_chained_ones() -> None:
    plain = [run("best-of-n-mcts-loop0", f"p{number}", [(1, 30)], profile="paper") for number in range(2)]
    assert rows(improvement_loop(evaluation(*plain)))[0][2] == "benchmark, 10 s, plain rollouts"
    mixed = evaluation(*plain, run("best-of-n-mcts-loop1", "p1", [(1, 30)], profile="extended"))
    assert {row[2] for row in rows(improvement_loop(mixed))} == {"benchmark, 10 s"}


def test_the_picture_has_length_and_completion_of_every_domain() -> None:
    picture = loop_picture(
        evaluation(loop(70.0, 50.0), loop(26.0, 20.0, domain="labyrinth"), loop(70.0, 65.0, label="mcts-full"))
    )
    assert isinstance(picture, Picture)
    titles = [(ax.get_title(), ax.get_ylabel()) for ax in picture.figure.axes]
    assert titles == [(name, axis) for name in ("Blocksworld", "Labyrinth") for axis in ("mean length", "solved")]
    lengths, shares = picture.figure.axes[:2]
    drawn = [np.asarray(line.get_ydata()).tolist() for line in lengths.lines if line.get_marker() == "o"]
    assert drawn == [[70.0, 50.0], [70.0, 65.0]]
    assert [np.asarray(line.get_ydata()).tolist() for line in shares.lines] == [[0.9, 0.9], [0.9, 0.9]]
    [legend] = picture.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["teacher", "OCLGen (uniform)", "MCTS (full rollouts)"]


@pytest.mark.parametrize("maker", [improvement_loop, loop_picture])
def test_without_loops_and_their_runs_both_are_absent_with_a_reason(maker: Any) -> None:
    absent = maker(evaluation(run("oclgen-loop3", "p1", [(1, 5)]), optimum("p1", 5)))
    assert isinstance(absent, Absent)
    assert "loop" in absent.reason


@pytest.mark.parametrize("size", ["cpu", "paper"])
def test_the_configs_of_self_improvement_bring_all_its_tables_and_the_figure(size: str) -> None:
    config = read_config(CONFIGS / size / "self_improvement.toml")
    lines = [optimum("p1", 5)]
    for domain in {source.domain for source in config.problems}:
        lines += [run(spec.label, "p1", [(1, 5)], domain=domain) for spec in config.runs]
        lines += [estimate("p1", 6, 5, label=spec.label, domain=domain) for spec in config.estimates]
    lines += [loop(70.0, 60.0, label=spec.label, domain=spec.domain) for spec in config.loops]
    [section] = [part for part in report.make(evaluation(*lines)).sections if part.title == "Self-improvement"]
    assert {item.key for item in section.items} == {
        "improvement_loop",
        "improvement_over_loops",
        "improvement_final",
        "statistical_comparison_iter3",
        "mae_comparison",
    }
