"""A batch of states as flat arrays has the same atoms, in the same order, as each state by itself."""

import numpy as np
import pytest

from oclgen.encoding.relational import ProblemGraph, schema_of
from oclgen.inference.relational.atoms import AtomBatch, AtomColumns, Atoms
from oclgen.pddl.task import PddlTask
from tests.inference.relational.relational_models import random_walk
from tests.pddl.samples import SMALL, drawn

ODD = """(define (domain odd) (:requirements :strips :typing :negative-preconditions) (:types a)
  (:constants k - a) (:predicates (lit) (near ?x ?y - a) (on ?x - a) (three ?x ?y ?z - a))
  (:action go :parameters (?x ?y - a) :precondition (and (near ?x ?y) (on ?x))
   :effect (and (not (on ?x)) (on ?y) (lit) (three ?x ?y k))))"""
PROBLEM = """(define (problem p) (:domain odd) (:objects b c - a) (:init (near b c) (near c k) (near k b) (on b))
  (:goal (and (on c) (near b c) (not (near c b)) (not (on b)) (not (lit)))))"""


def parts(batch: AtomBatch, graph: ProblemGraph) -> list[Atoms]:
    return [batch.state(index, graph.arities) for index in range(len(batch))]


def check(task: PddlTask, walk: int) -> None:
    schema = schema_of(task.info.domain)
    for relations in (schema.all_relations(), schema.all_relations()[::3], ()):
        graph = ProblemGraph(schema, relations, task, False)
        columns = AtomColumns(graph)
        states = random_walk(task, walk)
        for some in (states[:1], states, states[::-1]):
            found = parts(columns.batch([task.atoms(state) for state in some]), graph)
            for atoms, state in zip(found, some, strict=True):
                expected = graph.atoms(task.atoms(state))
                assert len(atoms) == len(expected)
                assert all(np.array_equal(one, other) for one, other in zip(atoms, expected, strict=True))


@pytest.mark.parametrize("domain", SMALL)
def test_a_batch_has_the_atoms_of_its_states(domain: str) -> None:
    check(PddlTask(*drawn(domain, 0)), 12)


def test_goals_of_every_kind_and_any_number_of_arguments() -> None:
    check(PddlTask(ODD, PROBLEM), 6)


def test_arrays_by_relation_make_the_same_batch() -> None:
    task = PddlTask(*drawn("logistics", 0))
    schema = schema_of(task.info.domain)
    graph = ProblemGraph(schema, schema.all_relations(), task, False)
    states = random_walk(task, 5)
    one = AtomColumns(graph).batch([task.atoms(state) for state in states])
    other = AtomBatch.of([graph.atoms(task.atoms(state)) for state in states])
    for left, right in ((one.counts, other.counts), (one.rows, other.rows), (one.ends, other.ends)):
        assert np.array_equal(left, right)
