"""Methods compared on the same problems: paired tests and commonly solved problems."""

from oclgen.report.tables.comparisons import commonly_solved, statistical_comparison, statistical_comparison_iter3
from oclgen.report.tables.table import Table
from tests.bench.records import broken, run
from tests.report.test_report_tables import evaluation, rows


def test_statistical_comparison_pairs_problems_that_both_solved_under_the_same_limit() -> None:
    ours = {"p1": 10, "p2": 20, "p3": 30, "p4": 40, "p5": 50}
    theirs = {"p1": 12, "p2": 20, "p3": 29, "p4": 44, "p6": 1}
    table = statistical_comparison(
        evaluation(
            *(run("oclgen-uniform", name, [(1, length)]) for name, length in ours.items()),
            *(run("mcts-full", name, [(1, length)]) for name, length in theirs.items()),
            broken("mcts-full", "p5", length=60),
            run("lama", "p1", [(1, 5)], time_limit=30.0),
        )
    )
    assert rows(table) == [
        ["MCTS (full rollouts)", "10 s", "Blocksworld", "4", "-1.25 ± 1.11", "-0.56", "0.500", "2 / 1 / 1"]
    ]
    assert rows(table, "paper")[0][3:7] == ["1000", "-10.68 ± 0.31", "-1.08", "5.4·10^-136"]


def test_methods_in_the_papers_profile_are_compared_with_ours_in_that_profile() -> None:
    labels = {"oclgen-uniform": 10, "oclgen-uniform-paper": 13, "gbfs": 20, "gbfs-paper": 25}
    found = evaluation(*(run(label, "p1", [(1, length)]) for label, length in labels.items()))
    assert [row[4] for row in rows(statistical_comparison(found))] == ["-3.00", "-10.00", "-12.00"]
    assert [row[3:5] for row in rows(commonly_solved(found))] == [
        ["10.00", "13.00"],
        ["10.00", "20.00"],
        ["13.00", "25.00"],
    ]


def test_paired_tests_take_the_first_seed_of_a_method_that_had_several() -> None:
    table = statistical_comparison(
        evaluation(
            run("oclgen-uniform", "p1", [(1, 50)], seed=1),
            run("oclgen-uniform", "p1", [(1, 12)], seed=0),
            run("oclgen-uniform", "p2", None, seed=0),
            run("oclgen-uniform", "p2", [(1, 5)], seed=1),
            run("gbfs", "p1", [(1, 20)]),
            run("gbfs", "p2", [(1, 20)]),
        )
    )
    assert [row[3:5] for row in rows(table)] == [["1", "-8.00"]]


def test_the_papers_comparison_stands_beside_the_method_in_its_profile() -> None:
    labels = {"oclgen-uniform": 10, "oclgen-uniform-paper": 13, "mcts-full": 20, "mcts-full-paper": 25}
    found = evaluation(*(run(label, "p1", [(1, length)]) for label, length in labels.items()))
    table = statistical_comparison(found)
    assert isinstance(table, Table)
    assert [row.source for row in table.rows][-2:] == ["ours", "paper"]
    assert len(rows(table, "paper")) == 1


def test_statistical_comparison_after_self_improvement_is_against_mcts_and_against_the_first_model() -> None:
    labels = {"oclgen-loop0": 9, "oclgen-loop3": 5, "mcts-loop3": 7, "best-of-n-oclgen-loop3": 8, "oclgen-uniform": 9}
    table = statistical_comparison_iter3(
        evaluation(*(run(label, "p1", [(1, length)]) for label, length in labels.items()))
    )
    assert [(row[0], *row[3:5]) for row in rows(table)] == [
        ("OCLGen (uniform), 0 loops", "1", "-4.00"),
        ("MCTS (full rollouts), 3 loops", "1", "-2.00"),
    ]
    assert [row[4] for row in rows(table, "paper")] == ["-4.15 ± 0.19"]


def test_commonly_solved_gives_ratios_on_the_same_problems() -> None:
    table = commonly_solved(
        evaluation(
            run("oclgen-uniform", "p1", [(1, 9)]),
            run("oclgen-uniform", "p2", [(1, 90)]),
            run("astar", "p1", [(1, 10)]),
            run("astar", "p2", None),
            run("gbfs", "p1", None),
        )
    )
    assert rows(table) == [
        ["OCL-Anytime A*", "10 s", "1", "9.00", "10.00", "0.900"],
        ["OCL-GBFS", "10 s", "0", "–", "–", "–"],
    ]
