"""Every mistake in a domain or problem gives one line: file, line number, what is wrong."""

from pathlib import Path

import pytest

from oclgen.errors import InputError, OclgenError, PddlError, UnsupportedError
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.reading.problem import read_problem
from oclgen.pddl.reading.source import MAX_BYTES
from oclgen.pddl.task import PddlTask
from tests.pddl.samples import DELIVERY, ERRAND

DOMAIN_MISTAKES = [
    ("(domain delivery)", "(domain)", 1, "expected (define (domain NAME) ...)"),
    ("(define (domain delivery)", "(defin (domain delivery)", 1, "expected (define (domain ...) ...)"),
    ("(domain delivery)", "(problem delivery)", 1, "expected (define (domain NAME) ...)"),
    (":action-costs)", ":action-cost)", 2, "unknown requirement :action-cost"),
    (":action-costs)", "(:action-costs))", 2, "unknown requirement (:action-costs)"),
    (":types", ":type", 3, "unknown section :type"),
    ("parcel letter - thing", "parcel letter - ", 3, "needs a name before it and a type after it"),
    ("parcel letter - thing", "parcel ?letter - thing", 3, "expected the name of a type, not '?letter'"),
    ("courier - object", "courier - parcel", 3, "its own ancestor"),
    ("courier - object", "courier - object object - thing", 3, "type object stands above all others"),
    ("depot - place", "depot - plaza", 4, "unknown type plaza"),
    ("depot - place", "depot depot - place", 4, "constant depot is declared twice"),
    ("(carried ?t - thing)", "(carried t - thing)", 5, "expected a variable such as ?x in a predicate carried"),
    ("(carried ?t - thing)", "carried", 5, "expected a predicate such as (name ?x ?y)"),
    ("(carried ?t - thing)", "(at ?t)", 5, "at is declared twice"),
    ("(carried ?t - thing)", "(not ?t - thing)", 5, "'not' is a word of PDDL"),
    ("(either thing courier)", "(eiter thing courier)", 5, "expected a type or (either ...)"),
    (":action take", ":action move", 11, "action move is declared twice"),
    ("(?c - courier ?t - thing)", "(?c - courier ?c - thing)", 14, "in action give: variable ?c is declared twice"),
    ("(?c - courier ?t - thing)", "?c", 14, "expected the parameters of action give in parentheses"),
    (":parameters (?c - courier ?t - thing)", ":parameter (?c)", 14, "expected :parameters, :precondition or :effect"),
    (":parameters (?c - courier ?t - thing)", "(:parameters)", 14, "expected :parameters, :precondition or :effect"),
    ("(:action give", "(:action", 14, "expected the name of an action, not ':parameters'"),
    ("(and (at ?c depot) (carried ?t))", "", 15, "in action give: nothing after :precondition"),
    (":effect (and (not (carried ?t))", ":precondition (and (not (carried ?t))", 16, "second :precondition"),
    ("(at ?c depot)", "(at ?c deppot)", 15, "unknown object deppot"),
    ("(at ?c depot)", "(at ?d depot)", 15, "undeclared variable ?d"),
    ("(at ?c depot)", "(in ?c depot)", 15, "unknown predicate in"),
    ("(at ?c depot)", "(at ?c)", 15, "predicate at takes 2 arguments, not 1"),
    ("(at ?c depot)", "(at depot ?c)", 15, "depot is of type place, but predicate at wants thing or courier there"),
    ("(at ?c depot)", "(not)", 15, "(not ...) takes exactly one part"),
    ("(at ?c depot)", "at", 15, "expected a condition in parentheses, not 'at'"),
    ("(at ?c depot)", "(at () (carried ?t))", 15, "expected an object or a variable, not ()"),
    ("(at ?c depot)", "(() ?c)", 15, "unknown predicate ()"),
    ("(at ?c depot)", "(imply (carried ?t))", 15, "(imply ...) takes exactly two parts"),
    ("(at ?c depot)", "(exists (?x - thing))", 15, "(exists ...) takes exactly two parts"),
    ("(at ?c depot)", "(forall ?x (carried ?x))", 15, "expected the variables of forall in parentheses, not '?x'"),
    ("(at ?c depot)", "(forall (x) (carried x))", 15, "expected a variable such as ?x in forall, not 'x'"),
    ("(at ?c depot)", "(forall (?x ?x - thing) (carried ?x))", 15, "variable ?x is declared twice"),
    ("(at ?c depot)", "(exists (?x - toy) (carried ?x))", 15, "unknown type toy"),
    ("(at ?c depot)", "(or (exists (?x - thing) (carried ?x)) (carried ?x))", 15, "undeclared variable ?x"),
    (
        "(at ?c depot)",
        "(exists (?p - place) (carried ?p))",
        15,
        "?p is of type place, but predicate carried wants thing",
    ),
    ("(at ?t depot)", "(when (carried ?t))", 16, "(when ...) takes exactly two parts"),
    ("(at ?t depot)", "(when carried (at ?t depot))", 16, "expected a condition in parentheses, not 'carried'"),
    ("(at ?c depot)", "(= ?c)", 15, "= takes 2 arguments, not 1"),
    ("(increase (total-cost) 2)", "(increase (totl-cost) 2)", 13, "unknown function totl-cost"),
    ("(increase (total-cost) 2)", "(increase (total-cost))", 13, "expected (increase (total-cost) AMOUNT)"),
    ("(at ?t depot))))", "(at ?t depot)))", 1, "opening parenthesis is never closed"),
    ("(at ?t depot))))", "(at ?t depot)))))", 16, "closing parenthesis without an opening one"),
    ("(at ?t depot))))", "(at ?t depot))))\n()", 17, "text after the end of the definition"),
    ("(define", "define (define", 1, "expected an opening parenthesis, not 'define'"),
]
PROBLEM_MISTAKES = [
    ("(:domain delivery)", "(:domain logistics)", 1, "this problem is for domain logistics, not for delivery"),
    ("(:domain delivery)", "", 1, "no (:domain ...) section"),
    ("(:domain delivery)", "(:domain)", 1, "expected (:domain NAME)"),
    ("(:init", "(:inits", 3, "unknown section :inits"),
    ("(:metric", "(:init) (:metric", 6, "second :init section (the first is in line 3)"),
    ("shop - place", "shop shop - place", 2, "object shop is declared twice"),
    ("shop - place", "shop depot - place", 2, "object depot is already a constant of the domain"),
    ("(:init", "init (:init", 3, "expected a section such as (:init ...), not init"),
    ("misc - thing)", "misc - thing))", 3, "text after the end of the definition (a parenthesis too many before?)"),
    ("bob - courier", "bob - currier", 2, "unknown type currier"),
    ("(at bob home)", "(at bob hoome)", 3, "unknown object hoome"),
    ("(at bob home)", "(at bob ?x)", 3, "undeclared variable ?x"),
    ("(at bob home)", "(at bob home shop)", 3, "predicate at takes 2 arguments, not 3"),
    ("(sealed box)", "(sealed misc)", 3, "misc is of type thing, but predicate sealed wants parcel there"),
    ("(at bob home)", "bob", 3, "expected a fact such as (on a b)"),
    ("(at bob home)", "(at bob home) (not (at bob home))", 3, "(at bob home) is both true and false"),
    ("(= (total-cost) 0)", "(= (total-cost) nought)", 4, "expected (= (FUNCTION ...) NUMBER)"),
    ("(= (total-cost) 0)", "(= (total-cost) nan)", 4, "expected (= (FUNCTION ...) NUMBER)"),
    ("(= (total-cost) 0)", "(= (profit) 0)", 4, "unknown function profit"),
    ("(:goal (and", "(:goal (and) (and", 5, "expected (:goal CONDITION)"),
    ("(not (carried box))", "(not (carried crate))", 5, "unknown object crate"),
    ("minimize (total-cost)", "minimize", 6, "expected (:metric minimize (total-cost))"),
    ("(problem errand)", "(problem (errand))", 1, "expected the name of the problem"),
]
REFUSED_IN_DOMAINS = [
    ("(:action take", "(:derived (stamped ?l) (sealed ?l)) (:action take", "axioms (:derived) are"),
    ("(:action take", "(:durative-action wait) (:action take", "durative actions (:durative-action) are"),
    ("(:action take", "(:constraints (and)) (:action take", "trajectory constraints (:constraints) are"),
    ("(at ?c depot)", "(>= (total-cost) 3)", "numeric conditions (>=) are"),
    ("(at ?c depot)", "(= (total-cost) 3)", "numeric conditions (=) are"),
    ("(at ?c depot)", "(at start (carried ?t))", "durative actions (at start) are"),
    ("(at ?c depot)", "(preference x (carried ?t))", "preferences are"),
    ("(at ?c depot)", "(or (carried ?t) (< (total-cost) 3))", "numeric conditions (<) are"),
    ("(at ?t depot)", "(exists (?x - thing) (at ?x depot))", "existential effects (exists) are"),
    ("(at ?t depot)", "(forall (?t - thing) (at ?t depot))", "variable ?t declared again inside an effect is"),
    ("(at ?t depot)", "(when (carried ?t) (increase (total-cost) 1))", "a conditional action cost is"),
    ("(at ?t depot)", "(forall (?x - thing) (increase (total-cost) 1))", "a conditional action cost is"),
    ("(at ?t depot)", "(when (carried ?t) (assign (total-cost) 3))", "numeric effects (assign) are"),
    ("(at ?t depot)", "(assign (total-cost) 3)", "numeric effects (assign) are"),
    ("(at ?t depot)", "(increase (toll depot depot) 3)", "numeric effects (increase of toll) are"),
    ("(at ?t depot)", "(increase (total-cost) (+ 1 2))", "arithmetic in action costs is"),
    ("(at ?t depot)", "(increase (total-cost) -1)", "a negative action cost is"),
    ("parcel letter - thing", "parcel letter - (either thing place)", "type parcel with several parents is"),
    ("parcel letter - thing", "parcel letter - thing parcel - place", "type parcel with several parents is"),
    ("(toll ?a ?b - place) - number", "(toll ?a ?b - place) - place", "with objects as values is"),
]
REFUSED_IN_PROBLEMS = [
    ("(at bob home)", "(at 5 (carried box))", "timed initial literals (at TIME ...) are"),
    ("minimize (total-cost)", "maximize (total-cost)", "metric (:metric maximize (total-cost)) is"),
    ("(:metric", "(:constraints (and)) (:metric", "trajectory constraints (:constraints) are"),
    ("misc - thing", "misc - (either thing place)", "object misc of several types at once is"),
]


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def complaint(domain: str, problem: str, kind: type[OclgenError]) -> str:
    with pytest.raises(kind) as caught:
        read_problem(domain, problem)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("old", "new", "line", "message"), DOMAIN_MISTAKES)
def test_a_mistake_in_the_domain_is_named_with_its_line(old: str, new: str, line: int, message: str) -> None:
    found = complaint(changed(DELIVERY, old, new), ERRAND, PddlError)
    assert found.startswith(f"<domain>:{line}: ") and message in found


@pytest.mark.parametrize(("old", "new", "line", "message"), PROBLEM_MISTAKES)
def test_a_mistake_in_the_problem_is_named_with_its_line(old: str, new: str, line: int, message: str) -> None:
    found = complaint(DELIVERY, changed(ERRAND, old, new), PddlError)
    assert found.startswith(f"<problem>:{line}: ") and message in found


@pytest.mark.parametrize(("old", "new", "feature"), REFUSED_IN_DOMAINS)
def test_an_unsupported_feature_of_a_domain_is_refused_by_name(old: str, new: str, feature: str) -> None:
    assert f"{feature} not supported" in complaint(changed(DELIVERY, old, new), ERRAND, UnsupportedError)


@pytest.mark.parametrize(("old", "new", "feature"), REFUSED_IN_PROBLEMS)
def test_an_unsupported_feature_of_a_problem_is_refused_by_name(old: str, new: str, feature: str) -> None:
    assert f"{feature} not supported" in complaint(DELIVERY, changed(ERRAND, old, new), UnsupportedError)


def test_requirements_alone_refuse_nothing() -> None:
    wide = changed(DELIVERY, ":adl", ":adl :durative-actions :conditional-effects :numeric-fluents")
    assert PddlTask(wide, ERRAND).name == "errand"


def test_a_parent_type_that_is_only_mentioned_is_declared_by_that() -> None:
    info = read_domain(changed(DELIVERY, "parcel letter - thing", "parcel letter - thing box - item"))
    assert info.types["box"] == "item" and info.types["item"] == "object"


def test_a_type_may_be_declared_again_under_a_narrower_parent() -> None:
    for again in (
        "place - object place - thing",
        "place - thing place - object place",
        "place - (either object thing)",
    ):
        info = read_domain(changed(DELIVERY, "parcel letter - thing", f"parcel letter - thing {again}"))
        assert info.types["place"] == "thing"


def test_a_variable_may_touch_the_word_before_it() -> None:
    assert read_domain(changed(DELIVERY, "(carried ?t)", "(carried?t)")) == read_domain(DELIVERY)


def test_types_predicates_and_parameters_may_be_left_out() -> None:
    task = PddlTask("(define (domain d) (:action wait))", "(define (problem p) (:domain d) (:init) (:goal (and)))")
    assert task.applicable(task.initial_state) == (("wait",),)
    assert task.is_goal(task.initial_state)


@pytest.mark.parametrize("text", ["", "\n", "; nothing but a comment\n", "\ufeff"])
def test_an_empty_file_is_called_empty(text: str, tmp_path: Path) -> None:
    path = tmp_path / "d.pddl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PddlError, match=r"d\.pddl:1: empty; expected \(define \(domain"):
        read_domain(path)


def test_a_missing_file_and_a_folder_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such domain file"):
        read_domain(tmp_path / "missing.pddl")
    with pytest.raises(InputError, match="no such domain file"):
        read_domain("missing.pddl")
    with pytest.raises(InputError, match="cannot read this domain file: Is a directory"):
        read_domain(tmp_path)


def test_bytes_that_are_not_text_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "d.pddl"
    path.write_bytes(b"(define\n\xff\xfe)")
    with pytest.raises(PddlError, match=r"d\.pddl:2: not a text file \(byte 0xff is not UTF-8\)"):
        read_domain(path)


@pytest.mark.parametrize("garbage", [b"\x00\xff", b"(", b"()", b"a ", b"(a\n"])
def test_twenty_megabytes_of_garbage_are_refused_unread(garbage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "d.pddl"
    path.write_bytes(garbage * (20_000_000 // len(garbage)))
    with pytest.raises(UnsupportedError, match="this domain file is larger than 4 MB"):
        read_domain(path)


def test_deep_nesting_and_endless_words_are_refused() -> None:
    with pytest.raises(PddlError, match="nested more than 100 deep"):
        read_domain("(" * (MAX_BYTES // 4))
    with pytest.raises(PddlError, match="a name of 5000 characters"):
        read_domain("(define (domain " + "x" * 5000 + "))")


def test_more_objects_than_the_successor_generator_can_hold_are_refused() -> None:
    objects = " ".join(f"p{i}" for i in range(30_000))
    with pytest.raises(UnsupportedError, match="30007 objects are too many for the actions of delivery"):
        PddlTask(DELIVERY, changed(ERRAND, "home shop", f"home shop {objects}"))


def test_unprintable_names_do_not_reach_the_terminal() -> None:
    found = complaint(DELIVERY, changed(ERRAND, "(at bob home)", "(\x1b[31m bob)"), PddlError)
    assert "\x1b" not in found
