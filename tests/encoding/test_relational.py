"""Problems as rows and tuples: arities 0 to 5, goals of both signs, constants, types without objects, no objects."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oclgen.encoding.distances import FAR
from oclgen.encoding.relational import (
    GOAL,
    GOAL_MET,
    NEGATIVE_GOAL,
    NEGATIVE_GOAL_MET,
    NOISE,
    STATE,
    ProblemGraph,
    Relation,
    Schema,
    fixed_noise,
    schema_of,
)
from oclgen.interfaces import Atom
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask
from tests.encoding.worlds import world

DOMAIN = """(define (domain odd)
  (:requirements :adl :typing)
  (:types place thing - object small - thing ghost)
  (:constants depot - place)
  (:predicates (p0) (p1 ?a) (p2 ?a ?b) (p3 ?a ?b ?c) (p4 ?a ?b ?c ?d) (p5 ?a ?b ?c ?d ?e)
               (road ?a ?b - place) (s0) (s1 ?a))
  (:action none :parameters () :precondition (p0) :effect (not (p0)))
  (:action five :parameters (?a ?b ?c ?d ?e) :precondition (and)
    :effect (and (p0) (p1 ?a) (p2 ?a ?b) (p3 ?a ?b ?c) (p4 ?a ?b ?c ?d) (p5 ?a ?b ?c ?d ?e))))
"""
PROBLEM = """(define (problem odd-1) (:domain odd)
  (:objects home - place box - thing pin - small)
  (:init (p0) (p5 box pin home depot box) (p2 pin pin) (road home depot) (road depot depot) (s0))
  (:goal (and (p1 box) (p3 pin pin box) (not (p0)) (not (p2 box pin)) (road home depot) (not (s1 box)))))
"""


@dataclass(frozen=True)
class Problem:
    """What a problem graph reads of a task."""

    objects: dict[str, str]
    static_atoms: frozenset[Atom] = frozenset()
    goal: tuple[frozenset[Atom], frozenset[Atom]] = field(default=(frozenset(), frozenset()))


def odd() -> tuple[Schema, PddlTask]:
    task = PddlTask(DOMAIN, PROBLEM)
    return schema_of(task.info.domain), task


def found(graph: ProblemGraph, relations: tuple[Relation, ...], state: list[Atom]) -> dict[Relation, list[list[int]]]:
    """The relations that have atoms."""
    parts = zip(relations, graph.atoms(state), strict=True)
    return {relation: rows.tolist() for relation, rows in parts if len(rows)}


def test_a_schema_has_a_kind_for_each_type_each_constant_and_the_whole() -> None:
    schema, _ = odd()
    assert schema.types == ("ghost", "object", "place", "small", "thing")
    assert schema.constants == ("depot",)
    assert schema.kind("home", "place") == 2
    assert schema.kind("depot", "place") == 5
    assert (schema.global_kind, schema.kind_count) == (6, 7)
    assert schema.operators == {"none": 0, "five": 5}
    assert schema.static == {"road", "s0", "s1"}
    assert [schema.relation_arity(f"p{i}") for i in range(6)] == [1, 1, 2, 3, 4, 5]


def test_a_constant_named_like_a_type_keeps_a_kind_of_its_own() -> None:
    text = "(define (domain d) (:requirements :typing) (:types a b) (:constants a - b) (:predicates (p ?x)))"
    schema = schema_of(read_domain(text))
    assert schema.kind("a", "b") != schema.kind("x", "a")


def test_atoms_of_every_arity_become_tuples_of_rows() -> None:
    schema, task = odd()
    relations = schema.all_relations()
    graph = ProblemGraph(schema, relations, task, True)
    assert set(graph.names) == {"home", "box", "pin", "depot"}
    home, box, pin, depot = (graph.rows[name] for name in ("home", "box", "pin", "depot"))
    whole = len(graph.names)
    assert found(graph, relations, task.atoms(task.initial_state)) == {
        ("p0", STATE): [[whole]],
        ("p5", STATE): [[box, pin, home, depot, box]],
        ("p2", STATE): [[pin, pin]],
        ("road", STATE): sorted([[home, depot], [depot, depot]]),
        ("s0", STATE): [[whole]],
        ("p1", GOAL): [[box]],
        ("p3", GOAL): [[pin, pin, box]],
        ("p0", NEGATIVE_GOAL): [[whole]],
        ("p2", NEGATIVE_GOAL_MET): [[box, pin]],
        ("road", GOAL_MET): [[home, depot]],
        ("s1", NEGATIVE_GOAL_MET): [[box]],
    }
    assert graph.kinds.tolist() == [*(schema.kind(name, task.objects[name]) for name in graph.names), 6]
    assert graph.distances is not None
    assert (graph.distances[home, depot], graph.distances[home, box], graph.distances[home, whole]) == (1, FAR, FAR)


def test_goals_change_their_segment_when_they_come_to_hold_or_fail() -> None:
    schema, task = odd()
    relations = tuple(each for each in schema.all_relations() if each[1] != STATE and each[0][0] == "p")
    graph = ProblemGraph(schema, relations, task, False)
    box, pin, whole = graph.rows["box"], graph.rows["pin"], graph.size - 1
    everything: list[Atom] = [("p1", "box"), ("p3", "pin", "pin", "box"), ("p0",), ("p2", "box", "pin")]
    assert found(graph, relations, everything) == {
        ("p1", GOAL_MET): [[box]],
        ("p3", GOAL_MET): [[pin, pin, box]],
        ("p0", NEGATIVE_GOAL): [[whole]],
        ("p2", NEGATIVE_GOAL): [[box, pin]],
    }
    assert found(graph, relations, []) == {
        ("p1", GOAL): [[box]],
        ("p3", GOAL): [[pin, pin, box]],
        ("p0", NEGATIVE_GOAL_MET): [[whole]],
        ("p2", NEGATIVE_GOAL_MET): [[box, pin]],
    }


def test_relations_without_weights_are_left_out() -> None:
    schema, task = odd()
    relations: tuple[Relation, ...] = (("road", STATE), ("p1", GOAL))
    graph = ProblemGraph(schema, relations, task, False)
    atoms = graph.atoms(task.atoms(task.initial_state))
    assert [rows.shape for rows in atoms] == [(2, 2), (1, 1)]
    assert ProblemGraph(schema, (), task, False).atoms(task.atoms(task.initial_state)) == []


def test_actions_point_at_the_rows_of_their_arguments() -> None:
    schema, task = odd()
    graph = ProblemGraph(schema, (), task, False)
    rows = [graph.rows[name] for name in ("box", "box", "depot", "home", "pin")]
    assert graph.tokens(("five", "box", "box", "depot", "home", "pin")) == [1, *(3 + row for row in rows)]
    assert graph.tokens(("none",)) == [0]
    assert (schema.end, schema.first_row) == (2, 3)


def test_problems_with_one_object_or_none() -> None:
    schema, _ = odd()
    relations = schema.all_relations()
    empty = ProblemGraph(schema, relations, Problem({}, goal=(frozenset({("p0",)}), frozenset())), True)
    assert (empty.size, empty.kinds.tolist(), empty.noise.shape) == (1, [schema.global_kind], (1, NOISE))
    assert found(empty, relations, [("p0",)]) == {("p0", STATE): [[0]], ("p0", GOAL_MET): [[0]]}
    single = ProblemGraph(schema, relations, Problem({"only": "ghost"}), True)
    assert found(single, relations, [("p5", *["only"] * 5)]) == {("p5", STATE): [[0] * 5]}
    assert single.kinds.tolist() == [schema.kind("only", "ghost"), schema.global_kind]


def test_the_noise_of_a_problem_is_fixed_and_can_be_given() -> None:
    schema, task = odd()
    graph = ProblemGraph(schema, (), task, False)
    assert np.array_equal(graph.noise, fixed_noise(graph.size))
    assert len(np.unique(graph.noise, axis=0)) == graph.size
    given_noise = np.zeros((graph.size, NOISE), np.float32)
    assert ProblemGraph(schema, (), task, False, given_noise).noise is given_noise


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 20))
def test_every_atom_of_a_random_world_is_in_its_relation_once(seed: int, size: int) -> None:
    drawn = world(seed, size)
    arities = {atom[0]: len(atom) - 1 for atom in (*drawn.state, *drawn.goal[0], *drawn.goal[1])}
    static = frozenset(atom[0] for atom in drawn.static_atoms)
    schema = Schema("random", ("cell", "object", "small", "thing"), ("n",), arities, static, {})
    relations = schema.all_relations()
    graph = ProblemGraph(schema, relations, Problem(drawn.objects, drawn.static_atoms, drawn.goal), False)
    expected = [(atom, STATE) for atom in drawn.state]
    expected += [(atom, GOAL_MET if atom in drawn.state else GOAL) for atom in drawn.goal[0]]
    expected += [(atom, NEGATIVE_GOAL if atom in drawn.state else NEGATIVE_GOAL_MET) for atom in drawn.goal[1]]
    names = [*graph.names, None]
    atoms = [
        ((predicate, *(name for name in (names[row] for row in rows) if name)), segment)
        for (predicate, segment), part in zip(relations, graph.atoms(drawn.state - drawn.static_atoms), strict=True)
        for rows in part.tolist()
    ]
    assert sorted(atoms) == sorted(expected)
