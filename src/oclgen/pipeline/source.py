"""The problems of a user's folder as they are: files that cannot be read and plans that do not hold are passed over,
each with one line that says why, and nothing is read before it is needed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from oclgen.data import problems as data_problems
from oclgen.data.dataset import check_same_domain
from oclgen.data.problems import Problem, Problems
from oclgen.errors import OclgenError
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_steps
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.reading.problem import read_problem

Say = Callable[[str], None]


def readable_problems(name: str, seed: int, say: Say) -> Problems:
    """Those of a folder, or drawn ones; where a folder with problems has a generator, drawn ones follow."""
    source = data_problems.problems(name, seed, ())
    if source.size is None:
        return source
    read_domain(source.domain_text)
    readable = Readable(source, say)
    if not (Path(name) / "generator.py").is_file():
        return replace(source, get=readable.get)
    drawn = data_problems.from_domain(name, seed, ())

    def get(index: int) -> Problem | None:
        found = readable.get(index)
        if found is not None:
            return found
        more = drawn.get(index - readable.count)
        return None if more is None else replace(more, index=index)

    return replace(source, get=get, size=None)


def check_source(source: Problems, work: Path) -> None:
    """Refuse another domain than the one that work was begun with."""
    if (work / "data" / "domain.pddl").exists():
        check_same_domain(work / "data", source.domain_text)


@dataclass
class Readable:
    """Number `index` is the index-th file that can be read."""

    source: Problems
    say: Say
    _files: list[int] = field(default_factory=list)
    _next: int = 0

    @property
    def count(self) -> int:
        """Of the files looked at so far, the readable ones."""
        return len(self._files)

    def get(self, index: int) -> Problem | None:
        while len(self._files) <= index and self._next < (self.source.size or 0):
            if self._is_readable(self._next):
                self._files.append(self._next)
            self._next += 1
        if index >= len(self._files):
            return None
        problem = self.source.get(self._files[index])
        assert problem is not None
        return replace(self._with_valid_plan(problem), index=index)

    def _is_readable(self, number: int) -> bool:
        try:
            problem = self.source.get(number)
            assert problem is not None
            read_problem(self.source.domain_text, problem.file or problem.text)
        except OclgenError as error:
            self.say(f"passed over: {error}")
            return False
        return True

    def _with_valid_plan(self, problem: Problem) -> Problem:
        """Without a plan that does not hold, so that the teacher makes one."""
        if problem.plan_file is None:
            return problem
        reason = plan_fault(self.source.domain_text, problem.text, problem.plan_file)
        if reason is None:
            return problem
        self.say(f"passed over, the teacher makes another plan: {problem.plan_file}: {reason}")
        return replace(problem, plan_file=None)


def plan_fault(domain_text: str, problem_text: str, file: Path) -> str | None:
    """What is wrong with a plan, if anything is."""
    try:
        steps = parse_steps(file.read_text(encoding="utf-8"), file.name)
        verdict = validate(domain_text, problem_text, tuple(action for _, action in steps))
    except (OclgenError, OSError, UnicodeDecodeError) as error:
        return str(error)
    return None if verdict.valid else verdict.reason
