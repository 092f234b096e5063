"""A checked problem printed in a minimal subset of PDDL, for the successor generator and classical planners to read.

Untyped; types become static unary facts (pymimir reads `(either a b)` in a parameter list as *both* types, PDDL means
*one of them*); costs are dropped because the objective is the number of actions; every name is replaced by a numbered
one, so that no name in the user's files can confuse a parser.

`normal_form` also compiles conditions into conjunctions of literals and rules (`rules`), which is all that pymimir is
trusted with. `plain_form` prints quantifiers and disjunctions, for planners that read ADL but no rules.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from oclgen.interfaces import Atom
from oclgen.pddl.compiling.rules import DERIVED, Rule, Rules, Terms, Variable, renamed
from oclgen.pddl.model import ROOT_TYPE, Operator, ProblemInfo
from oclgen.pddl.reading.conditions import Condition, Conjunction, Literal, Negation, Quantified, conjuncts, quantifiers

STRIPS = ":strips :equality :negative-preconditions"
ADL = ":disjunctive-preconditions :quantified-preconditions :conditional-effects :derived-predicates"


@dataclass(frozen=True)
class NormalForm:
    """The two texts, and the user's name for every numbered one. Several operators may stand for one of the user's."""

    domain: str
    problem: str
    predicates: dict[str, str]
    objects: dict[str, str]
    operators: dict[str, str]
    has_rules: bool = False


def normal_form(info: ProblemInfo) -> NormalForm:
    """Conjunctions, conditional effects and rules: what pymimir reads."""
    return _printed(info, compiles=True)


def plain_form(info: ProblemInfo) -> NormalForm:
    """ADL: what Fast Downward and our own reader read."""
    return _printed(info, compiles=False)


def _printed(info: ProblemInfo, compiles: bool) -> NormalForm:
    static = dict.fromkeys(info.domain.static_predicates, 0)
    for atom in info.init:
        if atom[0] in static:
            static[atom[0]] += 1
    names = _names(info)
    printer = _Printer(info, names, Rules(info.listed, static), compiles)
    actions = printer.actions()
    goal = printer.goal()
    titles = {f"a{number}": operator.name for number, (operator, _) in enumerate(actions)}
    return NormalForm(
        printer.domain([printer.action(f"a{number}", *each) for number, each in enumerate(actions)]),
        printer.problem(goal),
        _inverse(names.predicates),
        _inverse(names.objects),
        titles,
        bool(printer.rules.rules),
    )


def _inverse(names: dict[str, str]) -> dict[str, str]:
    return {short: name for name, short in names.items()}


@dataclass(frozen=True)
class _Names:
    """The numbered name for each of the user's."""

    predicates: dict[str, str]
    objects: dict[str, str]
    unions: dict[tuple[str, ...], str]

    def kinds(self, variables: Iterable[Variable]) -> list[str]:
        return [f"({self.unions[each.types]} {each.name})" for each in variables if each.types in self.unions]

    def atom(self, atom: Atom) -> str:
        head = f"d{atom[0].removeprefix(DERIVED)}" if atom[0].startswith(DERIVED) else self.predicates[atom[0]]
        return f"({' '.join([head, *(self.objects.get(term, term) for term in atom[1:])])})"

    def literal(self, literal: Literal) -> str:
        text = self.atom(literal.atom)
        return text if literal.positive else f"(not {text})"


def _names(info: ProblemInfo) -> _Names:
    in_goal = [types for part in quantifiers(info.goal_condition) for types in part.types]
    types = dict.fromkeys(kinds for kinds in [*info.domain.variable_types, *in_goal] if ROOT_TYPE not in kinds)
    return _Names(
        {name: f"p{i}" for i, name in enumerate(info.domain.predicates)} | {"=": "="},
        {name: f"o{i}" for i, name in enumerate(info.objects)},
        {kinds: f"t{i}" for i, kinds in enumerate(types)},
    )


def _listed(variables: Iterable[Variable]) -> str:
    return " ".join(each.name for each in variables)


def _and(parts: Iterable[str]) -> str:
    return f"(and {' '.join(parts)})"


@dataclass(frozen=True)
class _Printer:
    info: ProblemInfo
    names: _Names
    rules: Rules
    compiles: bool

    def actions(self) -> list[tuple[Operator, Condition]]:
        """Each operator with its precondition; one that is split comes several times."""
        found: list[tuple[Operator, Condition]] = []
        for operator in self.info.domain.operators.values():
            if self.compiles:
                ways = self.rules.alternatives(operator.precondition, _terms(operator))
                found += [(operator, each) for each in ways]
            else:
                found.append((operator, operator.precondition))
        return found

    def action(self, title: str, operator: Operator, precondition: Condition) -> str:
        terms = _terms(operator)
        conditions = [*self.names.kinds(terms.values()), *self.condition(precondition, terms)]
        return (
            f"(:action {title} :parameters ({_listed(terms.values())})\n"
            f" :precondition {_and(conditions)}\n :effect {_and(self.effects(operator, terms))})"
        )

    def effects(self, operator: Operator, terms: Terms) -> Iterator[str]:
        for effect in operator.effects:
            inner = self.rules.extended(terms, effect.variables, effect.types)
            own = [inner[name] for name in effect.variables]
            conditions = [*self.names.kinds(own), *self.condition(effect.condition, inner)]
            made = [self.names.literal(renamed(literal, inner)) for literal in effect.literals]
            if conditions:
                made = [f"(when {_and(conditions)} {_and(made)})"]
            yield f"(forall ({_listed(own)}) {_and(made)})" if own else " ".join(made)

    def condition(self, condition: Condition, terms: Terms) -> list[str]:
        """Parts that must all hold."""
        if self.compiles:
            return [self.names.literal(literal) for literal in self.rules.literals(condition, terms)]
        return [self.text(part, terms) for part in conjuncts(condition)]

    def text(self, condition: Condition, terms: Terms) -> str:
        if isinstance(condition, Literal):
            return self.names.literal(renamed(condition, terms))
        if isinstance(condition, Negation):
            return f"(not {self.text(condition.part, terms)})"
        if isinstance(condition, Quantified):
            inner = self.rules.extended(terms, condition.variables, condition.types)
            own = [inner[name] for name in condition.variables]
            kinds, body = _and(self.names.kinds(own)), self.text(condition.body, inner)
            head, join = ("forall", "imply") if condition.universal else ("exists", "and")
            return f"({head} ({_listed(own)}) ({join} {kinds} {body}))"
        word = "and" if isinstance(condition, Conjunction) else "or"
        return f"({' '.join([word, *(self.text(part, terms) for part in condition.parts)])})"

    def domain(self, actions: list[str]) -> str:
        arities = {self.names.predicates[name]: s.arity for name, s in self.info.domain.predicates.items()}
        arities |= dict.fromkeys(self.names.unions.values(), 1)
        arities |= {f"d{number}": arity for number, arity in enumerate(self.rules.arities)}
        declared = (f"({name}{''.join(f' ?x{i}' for i in range(arity))})" for name, arity in arities.items())
        constants = self.names.objects.values() if self.rules.rules else map(self._short, self.info.domain.constants)
        return (
            f"(define (domain d)\n(:requirements {STRIPS} {ADL})\n"
            f"(:constants {' '.join(constants)})\n(:predicates {' '.join(declared)})\n"
            + "\n".join([*map(self.rule, self.rules.rules), *actions])
            + ")\n"
        )

    def _short(self, name: str) -> str:
        return self.names.objects[name]

    def rule(self, rule: Rule) -> str:
        own = [variable for variable in rule.variables if variable.name not in rule.head]
        body = _and([*self.names.kinds(rule.variables), *map(self.names.literal, rule.body)])
        return f"(:derived {self.names.atom(rule.head)} {f'(exists ({_listed(own)}) {body})' if own else body})"

    def facts(self, atoms: Iterable[Atom]) -> list[str]:
        """Sorted, so that equal problems give equal texts."""
        return [self.names.atom(atom) for atom in sorted(atoms)]

    def problem(self, goal: list[str]) -> str:
        info = self.info
        objects = [] if self.rules.rules else [name for name in info.objects if name not in info.domain.constants]
        kinds = [
            f"({short} {self._short(name)})"
            for types, short in self.names.unions.items()
            for name in sorted(info.members(types))
        ]
        return (
            f"(define (problem q)\n(:domain d)\n(:objects {' '.join(map(self._short, objects))})\n"
            f"(:init {' '.join([*kinds, *self.facts(info.init)])})\n(:goal {_and(goal)}))\n"
        )

    def goal(self) -> list[str]:
        """Of a conjunction only what actions can change: the rest is for the task to look at."""
        if self.info.is_conjunctive:
            static = self.info.domain.static_predicates
            positive, negative = ([atom for atom in atoms if atom[0] not in static] for atoms in self.info.goal)
            return [*self.facts(positive), *(f"(not {fact})" for fact in self.facts(negative))]
        if self.compiles:
            return [self.names.literal(self.rules.named(self.info.goal_condition))]
        return [self.text(self.info.goal_condition, {})]


def _terms(operator: Operator) -> dict[str, Variable]:
    pairs = zip(operator.parameters, operator.types, strict=True)
    return {name: Variable(f"?x{number}", types) for number, (name, types) in enumerate(pairs)}
