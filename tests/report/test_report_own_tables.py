"""The tables that the paper does not have: beside LAMA, by size, first plans, seeds, our own ablations."""

from typing import Any

from oclgen.report.tables.against_lama import other_sets, ratio_by_size, ratio_to_lama
from oclgen.report.tables.comparisons import ablations_paired
from oclgen.report.tables.effort import effort
from oclgen.report.tables.repetition import first_plans, seeds
from oclgen.report.tables.results import ablations
from oclgen.report.tables.table import Absent
from tests.bench.records import optimum, run
from tests.report.test_report_tables import evaluation, rows


def test_ratio_to_lama_reads_both_traces_at_the_same_second() -> None:
    table = ratio_to_lama(
        evaluation(
            run("oclgen-uniform", "p1", [(0.5, 20), (2.5, 10)]),
            run("oclgen-uniform", "p1", [(0.5, 20), (2.5, 10), (20, 8)], time_limit=30.0),
            run("oclgen-uniform", "p2", [(0.5, 30)], time_limit=30.0),
            run("lama", "p1", [(2.0, 16)], time_limit=30.0),
            run("lama", "p2", None, time_limit=30.0),
        )
    )
    assert rows(table) == [
        ["1 s", "OCLGen (uniform)", "–", "0 (2, 0)"],
        ["3 s", "OCLGen (uniform)", "0.625", "1 (2, 1)"],
        ["5 s", "OCLGen (uniform)", "0.625", "1 (2, 1)"],
        ["10 s", "OCLGen (uniform)", "0.625", "1 (2, 1)"],
        ["30 s", "OCLGen (uniform)", "0.500", "1 (2, 1)"],
    ]
    assert rows(table, "paper") == [["10 min", "paper: OCLGen (uniform)", "0.974", "–"]]


def test_the_ratio_by_size_splits_a_domain_at_its_median_number_of_objects() -> None:
    lines = []
    for objects, ours, lama in ((3, 5, 5), (4, 10, 20), (30, 60, 40), (31, 40, 40), (32, 7, None)):
        lines.append(run("oclgen-uniform", f"p{objects}", [(1, ours)], objects=objects))
        lines.append(run("lama", f"p{objects}", None if lama is None else [(1, lama)], objects=objects))
    table = ratio_by_size(evaluation(*lines))
    assert rows(table) == [["OCLGen (uniform)", "10 s", "Blocksworld", "3–4", "0.600", "2", "30–32", "1.250", "2"]]


def test_records_that_do_not_say_how_many_objects_have_no_ratio_by_size() -> None:
    lines = [run(label, problem, [(1, 5)]) for label in ("oclgen-uniform", "lama") for problem in ("p", "q")]
    assert isinstance(ratio_by_size(evaluation(*lines)), Absent)


def test_other_sets_stand_beside_lama_and_leave_out_the_sets_that_have_tables() -> None:
    beyond: dict[str, Any] = {"set": "beyond", "time_limit": 60.0}
    table = other_sets(
        evaluation(
            run("oclgen-uniform", "p", [(1, 9)], **beyond),
            run("oclgen-uniform", "q", [(1, 30)], **beyond),
            run("lama", "p", [(1, 10)], **beyond),
            run("lama", "q", None, **beyond),
            run("lama", "r", [(1, 4)], set="failed"),
            optimum("p", 9),
        )
    )
    assert rows(table) == [
        ["beyond", "Blocksworld", "OCLGen (uniform)", "1 min", "2", "100.0", "19.50 ± 10.50", "1 / 1", "0.900", "1"],
        ["beyond", "Blocksworld", "FD-LAMA-anytime", "1 min", "2", "50.0", "10.00", "0 / 1", "1.000", "1"],
    ]


def test_first_plans_count_unsolved_runs_as_later_than_any_other() -> None:
    found = [run("lama", f"p{number}", [(number / 2, 5)]) for number in range(1, 20)]
    table = first_plans(evaluation(*found, run("lama", "p20", None)))
    assert rows(table) == [
        ["FD-LAMA-anytime", "10 s", "5.00", "9.50", "20.0"],
    ]


def test_work_is_that_of_problems_on_which_no_run_ends_early() -> None:
    lines = [
        run(label, f"p{n}", None, counters={"iterations": n * share, "expanded": 7, "evaluated": 100 * n})
        for label, share in (("oclgen-uniform", 1), ("oclgen-no-adaptive", 10))
        for n in (1, 2, 6, 50)
    ]
    table = effort(evaluation(*lines, optimum("p50", 5), run("gbfs", "p1", None)))
    assert rows(table) == [
        ["OCLGen (uniform)", "10 s", "2", "7", "200"],
        ["w/o adaptive expansion", "10 s", "20", "7", "200"],
    ]


def test_seeds_are_compared_on_the_problems_that_all_of_them_solved() -> None:
    lengths = {("p", 0): 10, ("p", 1): 12, ("q", 0): 20, ("q", 1): 20, ("r", 0): 5, ("r", 1): None}
    lines = [
        run("best-of-n", problem, None if length is None else [(1, length)], seed=seed)
        for (problem, seed), length in lengths.items()
    ]
    table = seeds(evaluation(*lines, run("lama", "p", [(1, 9)])))
    assert rows(table) == [["Best-of-N", "10 s", "Blocksworld", "2", "2", "15.50 ± 0.71", "0.71"]]


def test_our_own_ablations_follow_the_papers_each_with_a_paired_test() -> None:
    labels = {"oclgen-uniform": 10, "oclgen-mode": 11, "oclgen-no-chains": 12}
    lines = [run(label, f"p{n}", [(1, length + n)]) for label, length in labels.items() for n in range(6)]
    assert [row[0] for row in rows(ablations(evaluation(*lines)))] == [
        "OCLGen (uniform)",
        "w/o percentile (mode)",
        "w/o chained rollouts (ours)",
    ]
    paired = [row[:5] for row in rows(ablations_paired(evaluation(*lines)))]
    assert paired == [
        ["w/o percentile (mode)", "10 s", "Blocksworld", "6", "-1.00 ± 0.00"],
        ["w/o chained rollouts (ours)", "10 s", "Blocksworld", "6", "-2.00 ± 0.00"],
    ]


def test_ablations_in_the_papers_profile_are_paired_with_ours_in_that_profile() -> None:
    labels = {"oclgen-uniform": 10, "oclgen-uniform-paper": 20, "oclgen-mode": 11, "oclgen-mode-paper": 24}
    lines = [run(label, f"p{n}", [(1, length + n)]) for label, length in labels.items() for n in range(6)]
    assert [row[0] for row in rows(ablations(evaluation(*lines)))] == [
        "OCLGen (uniform)",
        "OCLGen (uniform), paper's profile",
        "w/o percentile (mode)",
        "w/o percentile (mode), paper's profile",
    ]
    assert [row[4] for row in rows(ablations_paired(evaluation(*lines)))] == ["-1.00 ± 0.00", "-4.00 ± 0.00"]
