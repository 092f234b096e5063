"""From a domain and a problem to improving, validated plans: the library's front door.

    from oclgen import solve
    result = solve("domain.pddl", "problem.pddl", time_limit=10)

`improving_plans` is the same as a generator. Every method, learned or classical, comes out of here as one kind
of `Search`, and no plan leaves before the independent validator has replayed it.
"""

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from oclgen.classical.planners import PLANNERS as CLASSICAL
from oclgen.errors import InputError, InvalidPlanError
from oclgen.interfaces import Plan, Task
from oclgen.loaded_model import LoadedModel, ModelUse, import_engines, load_model
from oclgen.method_choice import choose_method
from oclgen.model_folders import check_model, find_model, find_spec
from oclgen.pddl.checking.validate import Validator
from oclgen.pddl.model import ProblemInfo
from oclgen.pddl.reading.domain import parse_domain
from oclgen.pddl.reading.problem import parse_problem
from oclgen.pddl.reading.source import Source, source
from oclgen.search import METHODS as LEARNED
from oclgen.search.anytime import Budget, Counters, Ending, Search, SearchResult, run
from oclgen.search.extensions.exchange import Exchange
from oclgen.search.graph import SearchGraph
from oclgen.search.settings import PROFILES, Settings
from oclgen.search_group import affordable_searches, searching_together
from oclgen.settings_choice import choose_settings
from oclgen.shorten.given import beginning_with

METHODS = (*LEARNED, *CLASSICAL)
REPLANNERS = ("lama", "bfs")
"""Classical methods that can shorten a given plan part by part."""

Observer = Callable[[Task, SearchGraph], None]
Share = Callable[[], AbstractContextManager[Exchange | None]]


def solve(
    domain: str | Path,
    problem: str | Path,
    *,
    time_limit: float | None = 10.0,
    memory_limit: int | None = None,
    iterations: int | None = None,
    method: str | None = None,
    model: LoadedModel | Path | str | None = None,
    profile: str = "extended",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int = 1,
) -> SearchResult:
    """Search until a limit is reached; return the best plan with the trace of its improvements.

    `domain` and `problem` are paths or PDDL texts; `memory_limit` is in bytes; `model` is a folder made by
    `oclgen learn`, or such a folder loaded once for many calls (`LoadedModel`); by default it is the shipped model
    for this domain; `settings` overrides single search settings of the profile; `threads` is the number of cores to use
    (`Prepared.on_cores`). Without `method` OCLGen serves where there is a model, else a classical planner.
    """
    budget, counters = Budget(time_limit, iterations, memory_limit), Counters()
    prepared = prepare(domain, problem, method=method, model=model, profile=profile, settings=settings)
    return run(prepared.on_cores(threads, budget).plans(budget, counters, seed), budget, counters)


def improving_plans(
    domain: str | Path,
    problem: str | Path,
    *,
    time_limit: float | None = 10.0,
    memory_limit: int | None = None,
    iterations: int | None = None,
    method: str | None = None,
    model: LoadedModel | Path | str | None = None,
    profile: str = "extended",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Search:
    """Like `solve`, but hands out each plan the moment it is found; returns why the search ended."""
    budget = Budget(time_limit, iterations, memory_limit)
    prepared = prepare(domain, problem, method=method, model=model, profile=profile, settings=settings)
    return prepared.on_cores(threads, budget).plans(budget, Counters(), seed)


@dataclass(frozen=True)
class Prepared:
    """A problem that has been read and checked, with the method, the model and the settings to solve it by."""

    domain_source: Source
    problem_source: Source
    info: ProblemInfo
    method: str
    model: LoadedModel | None = None
    search_settings: Settings | None = None
    model_use: ModelUse = field(default_factory=ModelUse)
    translate_options: tuple[str, ...] = ()
    note: str | None = None
    """Why the method is not OCLGen, where the user named none."""
    searches: int = 1
    """At once, for method oclgen: this one, and others in processes of their own."""

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that were in force, for the record."""
        if self.search_settings is None:
            return {}
        return {**asdict(self.search_settings), **asdict(self.model_use)}

    @property
    def threads(self) -> int:
        """The cores in use."""
        return self.searches * self.model_use.engine_threads

    def on_cores(self, threads: int, budget: Budget) -> "Prepared":
        """The same with so many cores, where the method can use them.

        OCLGen searches once for each core, as far as the memory goes, and the searches share what they find. A limit of
        iterations asks for a run that repeats itself: then, and for the other methods, there is one search, whose
        engine gets the threads. `engine_threads` among the settings is kept.
        """
        if threads < 1:
            raise InputError(f"threads must be at least 1, not {threads}")
        use = self.model_use
        if self.model is None or use.device != "cpu":
            return self
        searches = 1
        if self.method == "oclgen" and budget.iterations is None:
            searches = affordable_searches(threads // use.engine_threads, budget.memory_bytes)
        if use.engine_threads == 1 and self.model.is_relational:
            use = replace(use, engine_threads=threads // searches)
        return replace(self, searches=searches, model_use=use)

    def plans(
        self,
        budget: Budget,
        counters: Counters,
        seed: int = 0,
        observer: Observer | None = None,
        start: Plan | None = None,
    ) -> Search:
        """Improving plans, each replayed by the validator before it is handed out.

        `observer`, for method oclgen only, is given the task and the graph, to look at when the search has ended.
        `start` is a plan that the user has: it comes out first, then only shorter ones.
        """
        validator = Validator.of(self.info)
        if start is not None:
            refuse_invalid(start, validator)
        share = self._sharing(budget, counters, seed)
        with closing(self.unchecked_plans(budget, counters, seed, observer, start, share)) as plans:
            while True:
                try:
                    plan = next(plans)
                except StopIteration as stop:
                    ending: Ending = stop.value
                    return ending
                self._check(plan, validator)
                yield plan

    def unchecked_plans(
        self,
        budget: Budget,
        counters: Counters,
        seed: int = 0,
        observer: Observer | None = None,
        start: Plan | None = None,
        share: Share = nullcontext,
    ) -> Search:
        """Improving plans as the method finds them; `share` surrounds the search of method oclgen."""
        if self.method in CLASSICAL:
            return self._classical(budget, counters, start)
        return self._learned(budget, counters, seed, observer, start, share)

    def _sharing(self, budget: Budget, counters: Counters, seed: int) -> Share:
        if self.searches == 1:
            return nullcontext
        assert self.model is not None
        job = {
            "domain": self.domain_source.text,
            "problem": self.problem_source.text,
            "model": str(self.model.folder),
            "settings": self.settings,
        }
        return partial(searching_together, job, seed, self.searches, budget, counters)

    def _check(self, plan: Plan, validator: Validator) -> None:
        verdict = validator.check(plan)
        if not verdict.valid:
            raise InvalidPlanError(f"internal error: {self.method} found an invalid plan: {verdict.reason}")

    def _classical(self, budget: Budget, counters: Counters, start: Plan | None) -> Search:
        """`lama` and `bfs` shorten a plan that is given part by part; the others search on their own."""
        budget.start_search()
        texts = self.domain_source.text, self.problem_source.text
        planner = CLASSICAL[self.method]
        if start is not None and self.method in REPLANNERS:
            from oclgen.pddl.task import PddlTask
            from oclgen.shorten.shorten import shorten

            task = PddlTask.of(self.info, self.problem_source.name)
            plans = shorten(task, start, budget, counters, planner, self.translate_options)
        else:
            plans = planner.plans(*texts, budget, counters=counters, translate_options=self.translate_options)
        return plans if start is None else beginning_with(start, plans)

    def _learned(
        self,
        budget: Budget,
        counters: Counters,
        seed: int,
        observer: Observer | None,
        start: Plan | None,
        share: Share,
    ) -> Search:
        from oclgen.pddl.task import PddlTask

        assert self.model is not None
        method, use = LEARNED[self.method], self.model_use
        task = PddlTask.of(self.info, self.problem_source.name)
        policy = self.model.policy(use) if method.needs_policy else None
        heuristic = self.model.heuristic(use) if method.needs_heuristic else None
        if budget.exhausted():
            assert budget.ending is not None
            return budget.ending
        budget.start_search()
        arguments = (task, policy, heuristic, self.search_settings, budget, random.Random(seed), counters)
        more: dict[str, Any] = {} if observer is None else {"observer": partial(observer, task)}
        if start is not None and self.method == "oclgen":
            more["start"] = start
        if self.method == "oclgen" and (workers := getattr(policy, "workers", None)) is not None:
            more["workers"] = workers
        with share() as exchange:
            if exchange is not None:
                more["exchange"] = exchange
            plans = method.search(*arguments, **more)
            try:
                return (yield from plans if start is None else beginning_with(start, plans))
            finally:
                counters.tokens = policy.tokens if policy is not None else 0


def import_all() -> None:
    """What the first search of a process would import in its own time."""
    import oclgen.pddl.task  # noqa: F401

    import_engines()


def is_anytime(method: str) -> bool:
    """Whether a method goes on after its first plan: every search with models does."""
    return method not in CLASSICAL or CLASSICAL[method].anytime


def refuse_invalid(plan: Plan, validator: Validator) -> None:
    verdict = validator.check(plan)
    if not verdict.valid:
        raise InputError(f"the given plan is not valid: {verdict.reason}")


def prepare(
    domain: str | Path,
    problem: str | Path,
    *,
    method: str | None = None,
    model: LoadedModel | Path | str | None = None,
    profile: str = "extended",
    settings: Mapping[str, Any] | None = None,
) -> Prepared:
    """Read and check everything that can be refused before a search begins."""
    if method is not None and method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    if profile not in PROFILES:
        raise InputError(f"unknown profile {profile!r}; choose one of {', '.join(PROFILES)}")
    problem_source, domain_source = source(problem, "problem"), source(domain, "domain")
    info = parse_problem(problem_source, parse_domain(domain_source))
    spec = find_spec(info.domain)
    method, note = (method, None) if method is not None else choose_method(info.domain, model)
    prepared = Prepared(
        domain_source=domain_source,
        problem_source=problem_source,
        info=info,
        method=method,
        translate_options=spec.defaults.teacher.translate_options if spec else (),
        note=note,
    )
    if method in CLASSICAL:
        if settings:
            raise InputError(f"method {method} has no search settings to override")
        return prepared
    loaded = model if isinstance(model, LoadedModel) else load_model(model or find_model(info.domain))
    check_model(loaded.folder, info.domain)
    of_paper = asdict(spec.defaults.solve) if spec else {}
    search_settings, use = choose_settings(LEARNED[method], of_paper, profile, loaded, settings or {})
    return replace(prepared, model=loaded, search_settings=search_settings, model_use=use)
