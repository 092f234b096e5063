"""A PDDL problem as a `Task`: pymimir generates the states, this file translates to and from the user's names.

Our own reader has checked every word before pymimir sees the problem (in its normal form), because a
surprise inside a C++ library may end the whole process.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

from pymimir.advanced import formalism, search

from oclgen.errors import PddlError, UnsupportedError
from oclgen.interfaces import Action, Atom, Effect, Facts, GroundAction, Plan, State
from oclgen.pddl.compiling.ground_count import ground_action_bound
from oclgen.pddl.compiling.normal_form import NormalForm, normal_form
from oclgen.pddl.compiling.rules import TooManyBindings
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.domain import parse_domain
from oclgen.pddl.reading.problem import parse_problem
from oclgen.pddl.reading.source import source

MAX_CACHED_ACTIONS = 1_000_000
MAX_KNOWN_STATES = 10_000
MAX_PAIRS = 400_000_000  # the successor generator's tables grow with it: 600 MB and 4 seconds at this size


class PddlTask:
    """One problem of one domain; each given as a path, or as the PDDL text itself."""

    def __init__(self, domain: Path | str, problem: Path | str) -> None:
        domain_source, problem_source = source(domain, "domain"), source(problem, "problem")
        self._start(parse_problem(problem_source, parse_domain(domain_source)), problem_source.name)

    @classmethod
    def of(cls, info: ProblemInfo, file: str = "<problem>") -> Self:
        """A problem that has been read already, from `file`."""
        task = cls.__new__(cls)
        task._start(info, file)
        return task

    def _start(self, info: ProblemInfo, file: str) -> None:
        self.info = info
        self._describe(info)
        self._check_size(file)
        try:
            self._load(normal_form(info))
        except TooManyBindings:
            raise UnsupportedError(self._too_many(file, "conditions")) from None
        except (RuntimeError, ValueError, IndexError, MemoryError) as error:
            first_line = str(error).strip().partition("\n")[0]
            raise PddlError(f"{file}:1: pymimir refuses this problem: {first_line}") from None

    def _check_size(self, name: str) -> None:
        pairs = sum(sum(map(len, members)) ** 2 for members in self._allowed.values())
        if pairs > MAX_PAIRS:
            raise UnsupportedError(self._too_many(name, "actions"))

    def _too_many(self, name: str, what: str) -> str:
        return f"{name}:1: {len(self.objects)} objects are too many for the {what} of {self.domain_name}"

    def _describe(self, info: ProblemInfo) -> None:
        self.name = info.name
        self.domain_name = info.domain.name
        self.objects = info.objects
        self.types = info.domain.types
        self.predicates = {name: signature.arity for name, signature in info.domain.predicates.items()}
        self.operators = {name: operator.arity for name, operator in info.domain.operators.items()}
        self.static_predicates = info.domain.static_predicates
        self.static_atoms = frozenset(atom for atom in info.init if atom[0] in self.static_predicates)
        self.goal = info.goal
        self._static_goal_holds = not info.is_conjunctive or all(
            (atom in self.static_atoms) is wanted
            for wanted, atoms in zip((True, False), info.goal, strict=True)
            for atom in atoms
            if atom[0] in self.static_predicates
        )
        self._allowed = {
            name: tuple(info.members(types) for types in operator.types)
            for name, operator in info.domain.operators.items()
        }

    def _load(self, form: NormalForm) -> None:
        options = formalism.ParserOptions()
        parser = formalism.Parser(form.domain, "", options)
        self._problem = parser.parse_problem(form.problem, "", options)
        lifted = search.LiftedOptions(search.LiftedKPKCOptions(search.SymmetryPruning.OFF))
        context = search.SearchContext.create(self._problem, search.SearchContextOptions(lifted))
        repository = context.get_state_repository()
        self._successor = repository.get_or_create_successor_state
        self._applicable = context.get_applicable_action_generator().generate_applicable_actions
        self._reaches_goal = search.ProblemGoalStrategy.create(self._problem).test_dynamic_goal
        self._fluent_atom = self._problem.get_repositories().get_fluent_ground_atom
        self._form = form
        objects = self._problem.get_problem_and_domain_objects()
        self._mimir_objects = {form.objects[each.get_name()]: each for each in objects}
        actions = self._problem.get_domain().get_actions()
        self._mimir_operators: dict[str, list[object]] = {}
        for each in actions:
            self._mimir_operators.setdefault(form.operators[each.get_name()], []).append(each)
        self._has_copies = len(actions) > len(self._mimir_operators)
        self._atom_names: list[Atom | None] = []
        self._action_names: dict[int, Action] = {}
        self._ground: dict[Action, tuple[object, ...]] = {}
        self._grounded_facts: dict[Action, GroundAction] = {}
        self._known: dict[State, Sequence[Action]] = {}
        self.initial_state: State = repository.get_or_create_initial_state()[0]

    @cached_property
    def ground_action_bound(self) -> int:
        return ground_action_bound(self.info)

    def is_goal(self, state: State) -> bool:
        return self._static_goal_holds and self._reaches_goal(state)

    def applicable(self, state: State) -> Sequence[Action]:
        """All applicable actions, sorted; those of the last states are kept."""
        known = self._known.get(state)
        if known is None:
            if len(self._known) >= MAX_KNOWN_STATES:
                self._known.clear()
            known = self._known[state] = self._generate(state)
        return known

    def _generate(self, state: State) -> Sequence[Action]:
        names = self._action_names
        found = []
        for ground in self._applicable(state):
            index = ground.get_index()
            action = names.get(index)
            if action is None:
                action = names[index] = self._named(ground)
            found.append(action)
        return tuple(sorted(set(found) if self._has_copies else found))

    def apply(self, state: State, action: Action) -> State | None:
        try:
            copies = self._ground[action]
        except KeyError:
            copies = self._grounded(action)
        for ground in copies:
            if search.is_applicable(ground, state):
                return cast(State, self._successor(state, ground, 0.0)[0])
        return None

    def atoms(self, state: State) -> list[Atom]:
        """The atoms of a state that actions can change; static ones are in `static_atoms`. In no special order."""
        names = self._atom_names
        found = []
        for index in state.get_fluent_atoms():  # type: ignore[attr-defined]
            if index >= len(names):
                names.extend([None] * (index + 1 - len(names)))
            atom = names[index]
            if atom is None:
                atom = names[index] = self._named_atom(index)
            found.append(atom)
        return found

    @property
    def follows_facts(self) -> bool:
        """Not where conditions were compiled into rules, or operators into copies."""
        return not self._form.has_rules and not self._has_copies

    def facts(self, state: State) -> Facts:
        return frozenset(state.get_fluent_atoms())  # type: ignore[attr-defined]

    def ground(self, action: Action) -> GroundAction:
        known = self._grounded_facts.get(action)
        if known is None:
            if len(self._grounded_facts) >= MAX_CACHED_ACTIONS:
                self._grounded_facts.clear()
            known = self._grounded_facts[action] = ground_facts(self._grounded(action)[0])
        return known

    @cached_property
    def goal_facts(self) -> tuple[Facts, Facts]:
        return condition_facts(self._problem.get_goal_condition())

    def shortest_plan(self) -> Plan | None:
        """By breadth-first search over the grounded problem, however long it takes; None if there is no plan."""
        return next(self.shortest_plans([()]))

    def shortest_plans(self, starts: Iterable[Plan], seconds: float | None = None) -> Iterator[Plan | None]:
        """The same from each of the states that these actions lead to, grounding once; None also where a search took
        more than `seconds`."""
        context = search.SearchContext.create(self._problem, search.SearchContextOptions(search.GroundedOptions()))
        for start in starts:
            options = search.BrFSOptions()
            options.start_state = self._follow(context.get_state_repository(), start)
            if seconds is not None:
                options.max_time_in_ms = int(1000 * seconds)
            plan = search.find_solution_brfs(context, options).plan if self._static_goal_holds else None
            yield None if plan is None else tuple(self._named(ground) for ground in plan.get_actions())

    def _follow(self, repository: object, actions: Plan) -> object:
        """The state that applicable actions lead to from the start, as another state repository has it."""
        state = repository.get_or_create_initial_state()[0]  # type: ignore[attr-defined]
        for action in actions:
            copies = self._grounded(action)
            ground = next(each for each in copies if search.is_applicable(each, state))
            state = repository.get_or_create_successor_state(state, ground, 0.0)[0]  # type: ignore[attr-defined]
        return state

    def _named(self, ground: object) -> Action:
        return (
            self._form.operators[ground.get_action().get_name()],  # type: ignore[attr-defined]
            *(self._form.objects[each.get_name()] for each in ground.get_objects()),  # type: ignore[attr-defined]
        )

    def _named_atom(self, index: int) -> Atom:
        atom = self._fluent_atom(index)
        predicate = self._form.predicates[atom.get_predicate().get_name()]
        return (predicate, *(self._form.objects[each.get_name()] for each in atom.get_objects()))

    def _grounded(self, action: Action) -> tuple[object, ...]:
        """pymimir's forms of an action: none where name, number of arguments or types are wrong, several where a
        disjunctive precondition was split."""
        if len(self._ground) >= MAX_CACHED_ACTIONS:
            self._ground.clear()
        copies: tuple[object, ...] = ()
        if self._well_formed(action):
            binding = formalism.ObjectList([self._mimir_objects[argument] for argument in action[1:]])
            copies = tuple(self._problem.ground(each, binding) for each in self._mimir_operators.get(action[0], ()))
        self._ground[action] = copies
        return copies

    def _well_formed(self, action: Action) -> bool:
        allowed = self._allowed.get(action[0]) if action else None
        if allowed is None or len(allowed) != len(action) - 1:
            return False
        return all(argument in members for argument, members in zip(action[1:], allowed, strict=True))


def ground_facts(ground: Any) -> GroundAction:
    """An action of pymimir by the numbers of its fluent atoms; static conditions hold since it was generated."""
    effects = []
    for each in ground.get_conditional_effects():
        change = each.get_conjunctive_effect()
        added, deleted = frozenset(change.get_positive_effects()), frozenset(change.get_negative_effects())
        effects.append(Effect(*condition_facts(each.get_conjunctive_condition()), added, deleted))
    return GroundAction(*condition_facts(ground.get_conjunctive_condition()), tuple(effects))


def condition_facts(condition: Any) -> tuple[Facts, Facts]:
    return (
        frozenset(condition.get_fluent_positive_condition()),
        frozenset(condition.get_fluent_negative_condition()),
    )
