"""Every table against hand-made records with unsolved, broken and tied runs."""

from typing import Any

import pytest

from oclgen.report.evaluation import Evaluation
from oclgen.report.tables.accuracy import mae_comparison, mae_me_comparison
from oclgen.report.tables.against_lama import other_sets, ratio_by_size, ratio_to_lama
from oclgen.report.tables.by_domain import easy, larger
from oclgen.report.tables.comparisons import (
    ablations_paired,
    commonly_solved,
    ipc_scores,
    statistical_comparison,
    statistical_comparison_iter3,
    taskwise,
)
from oclgen.report.tables.effort import effort
from oclgen.report.tables.loops import improvement_loop
from oclgen.report.tables.repetition import first_plans, seeds
from oclgen.report.tables.results import (
    ablations,
    generalisation,
    improvement_final,
    main_results,
    number_of_rollouts,
    results_optimal,
    results_saw_vs_act,
    results_subset,
)
from oclgen.report.tables.table import Absent, Table
from tests.bench.records import broken, estimate, optimum, records, run


def evaluation(*lines: dict[str, Any]) -> Evaluation:
    return Evaluation(records(*lines))


def rows(table: Table | Absent, source: str = "ours") -> list[list[str]]:
    assert isinstance(table, Table), table
    return [[cell.text for cell in row.cells] for row in table.rows if row.source == source]


def test_main_results_average_over_solved_problems_and_count_broken_ones_as_unsolved() -> None:
    table = main_results(
        evaluation(
            run("oclgen-uniform", "p1", [(1, 30), (2, 20)]),
            run("oclgen-uniform", "p2", [(1, 24)]),
            run("oclgen-uniform", "p3", None),
            broken("oclgen-uniform", "p4", length=3),
        )
    )
    assert rows(table) == [["OCLGen (uniform)", "10 s", "50.0", "22.00 ± 2.00"]]
    assert rows(table, "paper") == [["paper", "10 min", "100.0", "43.88 ± 0.68"]]


def test_main_results_has_a_row_per_limit_and_both_of_the_papers_rows_of_lama() -> None:
    table = main_results(
        evaluation(run("lama", "p1", [(1, 9)], time_limit=30.0), run("lama", "p1", [(1, 10)]), run("mine", "p1", None))
    )
    assert [row[:2] for row in rows(table)] == [
        ["FD-LAMA-anytime", "10 s"],
        ["FD-LAMA-anytime", "30 s"],
        ["mine", "10 s"],
    ]
    assert [row[:3] for row in rows(table, "paper")] == [["paper", "10 min", "100.0"], ["paper", "20 min", "100.0"]]


def test_main_results_leaves_ablations_and_loops_to_their_own_tables() -> None:
    table = main_results(
        evaluation(*(run(label, "p", [(1, 5)]) for label in ("lama", "oclgen-mode", "mcts-loop3", "compiled")))
    )
    assert [row[0] for row in rows(table)] == ["FD-LAMA-anytime"]


def test_methods_are_compared_on_the_problems_that_all_of_them_have_finished() -> None:
    table = main_results(evaluation(run("lama", "p1", [(1, 5)]), run("lama", "p2", [(1, 9)]), run("gbfs", "p1", None)))
    assert [row[2:] for row in rows(table)] == [["0.0", "–"], ["100.0", "5.00"]]
    assert isinstance(table, Table) and "Blocksworld 1 (1 more by some methods only)." in table.caption


def test_seeds_of_a_problem_weigh_as_one_problem() -> None:
    table = main_results(
        evaluation(
            run("gbfs", "p1", [(1, 10)], seed=0),
            run("gbfs", "p1", [(1, 20)], seed=1),
            run("gbfs", "p1", None, seed=2),
            *(run("gbfs", "p2", [(1, 35)], seed=seed) for seed in range(3)),
        )
    )
    assert rows(table)[0][2:] == ["83.3", "25.00 ± 10.00"]


def test_a_problem_counts_once_all_seeds_have_run_on_it() -> None:
    seeds = [run("gbfs", "p1", [(1, 10)], seed=seed) for seed in range(2)]
    table = main_results(evaluation(*seeds, run("gbfs", "p2", [(1, 35)])))
    assert rows(table)[0][2:] == ["100.0", "10.00"]


def test_results_optimal_uses_proofs_only() -> None:
    proof = {"method": "lmcut", "time_limit": 60.0}
    table = results_optimal(
        evaluation(
            run("gbfs", "p1", [(1, 10)]),
            run("gbfs", "p2", [(1, 12)]),
            run("gbfs", "p3", None),
            run("gbfs", "p4", [(1, 7)]),
            run("lmcut", "p1", [(3, 10)], ending="exhausted", **proof),
            run("lmcut", "p2", [(3, 11)], ending="exhausted", **proof),
            run("lmcut", "p4", None, ending="time", **proof),
            optimum("p3", 9),
        )
    )
    assert rows(table)[0] == ["OCL-GBFS", "10 s", "1 / 3", "11.00 (2 / 3)"]
    assert rows(table, "paper")[0] == ["paper", "10 min", "146 / 630", "42.69 (626 / 630)"]


def test_a_problem_is_optimal_by_the_share_of_its_seeds() -> None:
    lengths = {"p1": (10, 10, 12), "p2": (10, None, None)}
    seeds = [
        run("gbfs", problem, [(1, length)] if length else None, seed=seed)
        for problem, found in lengths.items()
        for seed, length in enumerate(found)
    ]
    table = results_optimal(evaluation(*seeds, optimum("p1", 10), optimum("p2", 10)))
    assert rows(table)[0] == ["OCL-GBFS", "10 s", "1 / 2", "10.33 (1.33 / 2)"]


def test_results_optimal_is_absent_without_proofs() -> None:
    assert isinstance(results_optimal(evaluation(run("gbfs", "p1", [(1, 10)]))), Absent)


def test_results_subset_takes_the_problems_the_teacher_failed_on() -> None:
    table = results_subset(
        evaluation(
            run("oclgen-uniform", "p1", [(1, 300)], set="failed", domain="sokoban"),
            run("oclgen-uniform", "p2", [(1, 20)], domain="sokoban"),
        )
    )
    assert rows(table) == [["OCLGen (uniform)", "10 s", "100.0", "300.00"]]
    assert rows(table, "paper") == [["paper", "10 min", "93.6", "348.94 ± 3.66"]]


def test_ablations_stand_beside_the_whole_method_under_the_same_limit() -> None:
    table = ablations(
        evaluation(
            run("oclgen-uniform", "p1", [(1, 10)]),
            run("oclgen-uniform", "p1", [(1, 9)], time_limit=30.0),
            run("oclgen-no-depth", "p1", [(1, 12)]),
            run("oclgen-mode", "p1", None),
            optimum("p1", 10),
        )
    )
    assert rows(table) == [
        ["OCLGen (uniform)", "10 s", "1 / 1", "100.0", "10.00"],
        ["w/o depth selection", "10 s", "0 / 1", "100.0", "12.00"],
        ["w/o percentile (mode)", "10 s", "0 / 1", "0.0", "–"],
    ]
    assert rows(table, "paper")[1] == ["paper", "10 min", "366 / 630", "100.0", "48.81 ± 0.87"]


def test_compilation_searches_after_loops_and_generalisation_have_tables_of_their_own() -> None:
    found = evaluation(
        run("compiled", "p1", [(1, 10)]),
        run("not-compiled", "p1", [(1, 11)]),
        run("oclgen-loop3", "p1", [(1, 8)]),
        run("oclgen-shuffled", "p9", [(1, 80)], set="extrapolate"),
        optimum("p1", 8),
    )
    assert [row[0] for row in rows(results_saw_vs_act(found))] == ["w/o compilation", "w/ compilation"]
    assert rows(improvement_final(found)) == [["OCLGen (uniform), 3 loops", "10 s", "1 / 1", "8.00", "100.0", "8.00"]]
    assert rows(generalisation(found)) == [["OCLGen, names shuffled in training", "10 s", "100.0", "80.00"]]
    assert rows(generalisation(found), "paper") == [["paper", "10 min", "79.9", "–"]]


def test_plans_of_best_of_n_are_counted_apart_from_the_rollouts_that_they_are_chained_from() -> None:
    settings = {"samples": 10, "links": 20}
    table = number_of_rollouts(
        evaluation(
            run("best-of-n", "p1", None, counters={"iterations": 1, "rollouts": 25}, settings=settings),
            run("best-of-n", "p2", [(1, 4)], counters={"iterations": 3, "rollouts": 45}, settings=settings),
            broken("best-of-n", "p3", counters=None),
        )
    )
    assert rows(table) == [["Best-of-N", "10 s", "20.0 ± 14.1", "35.0 ± 14.1"]]
    assert rows(table, "paper") == [["paper", "10 min", "24768.9 ± 11816.0", "–"]]


def test_plans_of_the_papers_profile_are_counted_beside_those_of_the_default() -> None:
    labels = ("best-of-n", "best-of-n-paper", "best-of-n-words")
    found = [run(label, "p1", None, method="best-of-n", counters={"iterations": 2, "rollouts": 20}) for label in labels]
    assert [row[0] for row in rows(number_of_rollouts(evaluation(*found)))] == [
        "Best-of-N",
        "Best-of-N, paper's profile",
    ]


def test_plans_of_runs_that_ended_early_are_told_of() -> None:
    whole = run("best-of-n", "p1", [(1, 4)], settings={"samples": 10}, counters={"iterations": 9, "rollouts": 90})
    early = whole | {"problem": "p2", "fingerprint": "print-p2", "ending": "short enough"}
    for lines, told in (([whole], False), ([whole, early], True)):
        table = number_of_rollouts(evaluation(*lines))
        assert isinstance(table, Table)
        assert ("1 of 2 runs ended early" in table.caption) == told


def test_ipc_scores_use_the_best_known_length_and_punish_invalid_plans() -> None:
    table = ipc_scores(
        evaluation(
            run("oclgen-uniform", "p1", [(0.5, 10)]),
            run("oclgen-uniform", "p2", [(0.5, 30)]),
            run("lama", "p1", [(10, 20)]),
            run("lama", "p2", None),
            run("gbfs", "p1", [(0.1, 10)]),
            broken("gbfs", "p2", "invalid plan: step 1"),
            optimum("p2", 15),
        )
    )
    assert [row[2:] for row in rows(table)] == [
        ["1.5 / 2", "2.0 / 2"],
        ["0 (invalid plan)", "0 (invalid plan)"],
        ["0.5 / 2", "0.0 / 2"],
    ]


def test_taskwise_tells_unsolved_from_broken_and_from_not_run() -> None:
    table = taskwise(
        evaluation(
            run("oclgen-uniform", "p1", [(0.5, 10), (3, 8)]),
            run("oclgen-uniform", "p2", None),
            broken("lama", "p1"),
            optimum("p1", 8),
        )
    )
    assert rows(table) == [["Blocksworld", "p1", "8", "8 (0.5)", "!"], ["Blocksworld", "p2", "–", "–", ""]]


def test_what_was_recorded_anew_replaces_what_was_recorded_before() -> None:
    found = evaluation(
        run("oclgen-uniform", "p1", [(1, 30)], id="old"),
        run("oclgen-uniform", "p1", [(1, 20)], id="new"),
        estimate("p1", 9, 9, id="old estimate"),
        estimate("p1", 5, 5, id="new estimate"),
    )
    assert [each.length for each in found.runs] == [20]
    assert [each.mode for each in found.estimates] == [5]


def test_heuristic_errors_are_taken_against_proven_optima() -> None:
    found = evaluation(
        estimate("p1", 14, 9),
        estimate("p2", 20, 21),
        estimate("p3", 99, 99),
        estimate("p1", 11, 10, label="heuristic-loop3"),
        optimum("p1", 10),
        optimum("p2", 20),
    )
    table = mae_me_comparison(found)
    assert rows(table)[0] == [
        "Blocksworld", "The model as given", "–", "3", "2", "2.00 ± 2.00", "1.00 ± 0.00", "2.00 ± 2.00", "0.00 ± 1.00",
    ]  # fmt: skip
    assert rows(table, "paper")[0][2:] == ["0", "–", "–", "8.68 ± 0.24", "4.07 ± 0.12", "8.68 ± 0.24", "3.99 ± 0.12"]
    assert rows(mae_comparison(found)) == [["Mode", "2.00 ± 2.00", "1.00"], ["Perc.", "1.00 ± 0.00", "0.00"]]
    assert rows(mae_comparison(found), "paper")[0] == ["paper", "8.68 ± 0.24", "0.44 ± 0.02"]


def test_a_model_after_loops_says_so_and_stands_beside_the_papers_after_loops_only() -> None:
    found = evaluation(estimate("p1", 14, 9, loops=2), optimum("p1", 10))
    table = mae_me_comparison(found)
    assert [row[1:3] for row in rows(table)] == [["The model as given", "2"]]
    assert [(row[2], row[5]) for row in rows(table, "paper")] == [("3", "0.44 ± 0.02")]
    found = evaluation(estimate("p1", 14, 9, loops=2, domain="logistics"), optimum("p1", 10))
    assert rows(mae_me_comparison(found), "paper") == []


def test_a_model_before_loops_stands_beside_the_papers_before_loops_only() -> None:
    found = evaluation(estimate("p1", 14, 9, loops=0), optimum("p1", 10))
    assert [row[2] for row in rows(mae_me_comparison(found))] == ["0"]
    assert [row[2] for row in rows(mae_me_comparison(found), "paper")] == ["0"]


def test_a_model_after_loops_is_not_shown_as_one_before() -> None:
    after = estimate("p1", 11, 10, label="heuristic-loop3", loops=3)
    assert isinstance(mae_comparison(evaluation(estimate("p1", 14, 9, loops=3), after, optimum("p1", 10))), Absent)
    assert isinstance(mae_comparison(evaluation(estimate("p1", 14, 9, loops=0), after, optimum("p1", 10))), Table)


def test_the_teachers_length_comes_from_the_data_set_or_from_a_run_of_the_teacher() -> None:
    found = evaluation(
        run("lama-first", "p1", [(1, 30)]), run("lama-first", "p2", None), estimate("p3", 1, 1, teacher_length=7)
    )
    assert found.teacher_lengths == {"print-p1": 30, "print-p3": 7}


def test_runs_that_contradict_a_proof_are_found() -> None:
    found = evaluation(
        run("gbfs", "p1", [(1, 5)]), optimum("p1", 6), run("astar", "p1", None, ending="exhausted"), optimum("p2", 1)
    )
    assert [wrong.label for wrong in found.impossible] == ["gbfs", "astar"]


@pytest.mark.parametrize(
    "maker",
    [main_results, results_optimal, results_subset, ablations, results_saw_vs_act, number_of_rollouts, improvement_loop,
     improvement_final, generalisation, statistical_comparison, statistical_comparison_iter3, commonly_solved,
     ratio_to_lama, ratio_by_size, other_sets, first_plans, seeds, ablations_paired, effort, ipc_scores, taskwise,
     mae_comparison, mae_me_comparison],
)  # fmt: skip
def test_without_records_every_table_is_absent_with_a_reason(maker: Any) -> None:
    absent = maker(evaluation())
    assert isinstance(absent, Absent)
    assert absent.reason


def test_domain_by_domain_scores_are_taken_from_the_best_that_is_known() -> None:
    found = evaluation(
        run("oclgen-uniform", "p1", [(0.5, 30), (2, 20)], set="easy", domain="ferry"),
        run("oclgen-uniform", "p2", [(1.5, 8)], set="easy", domain="ferry"),
        run("lama", "p1", [(1, 25)], set="easy", domain="ferry"),
        run("lama", "p2", None, set="easy", domain="ferry"),
        run("lama", "p3", [(4, 5)], set="easy", domain="spanner"),
        {"kind": "bound", "id": "b1", "fingerprint": "print-p1", "length": 10},
        {"kind": "bound", "id": "b2", "fingerprint": "print-p2", "length": 9},
    )
    table = easy(found)
    assert rows(table) == [
        ["Ferry", "2", "2", "1.5", "1.00", "1", "0.4", "1.00"],
        ["Spanner", "1", "–", "–", "–", "1", "1.0", "4.00"],
        ["all", "3", "2", "1.5", "1.00", "2", "1.4", "2.50"],
    ]
    assert not found.impossible  # a plan shorter than a published one contradicts nothing
    assert isinstance(larger(found), Absent)
