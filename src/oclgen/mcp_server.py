"""oclgen for agents: a Model Context Protocol server with the tools `solve`, `validate`, `shorten` and `domains`.

Each search is an `oclgen` process of its own in a private folder: its limits hold whatever the problem, and no path,
option or method of a request reaches the file system. A request carries PDDL texts; an answer is a typed outcome.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL
from typing import Annotated, Literal

import anyio
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

from oclgen import __version__
from oclgen.domains import catalog
from oclgen.errors import ExitCode, OclgenError, PddlError
from oclgen.model_folders import has_model, own_model
from oclgen.pddl.checking.validate import Validator
from oclgen.pddl.plan_file import parse_plan
from oclgen.pddl.reading.domain import parse_domain
from oclgen.pddl.reading.problem import parse_problem
from oclgen.pddl.reading.source import Source

DEFAULT_SECONDS = 4.0
"""Some clients give up after 5 s."""
MOST_SECONDS = 600.0
MOST_CHARACTERS = 4_000_000
SEARCHES_AT_ONCE = 2
EXAMPLES = 8
"""Problems drawn for a domain's example; the smallest is shown."""

INSTRUCTIONS = """Plans for PDDL problems (STRIPS, typing, ADL conditions and effects), as short as time allows.
Call `domains` for the paper's four domains and an example of each. Nine more, of IPC 2023's learning track, have
learned models, too; any other domain is served by a classical planner. Give PDDL texts, not paths. A plan is a list of
steps such as "(stack b1 b2)"."""

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Seconds = Annotated[float, Field(gt=0, le=MOST_SECONDS, description="Wall-clock limit in seconds, all included.")]
Steps = Annotated[list[str], Field(max_length=1_000_000, description='One step each, such as "(stack b1 b2)".')]
Status = Literal[
    "solved", "unsolvable", "timeout", "out_of_memory", "incomplete", "bad_pddl", "unsupported", "bad_input", "error"
]
STATUSES: dict[int, Status] = {
    ExitCode.SUCCESS: "solved",
    ExitCode.PLAN_THEN_OUT_OF_MEMORY: "solved",
    ExitCode.PLAN_THEN_OUT_OF_TIME: "solved",
    ExitCode.PLAN_THEN_OUT_OF_MEMORY_AND_TIME: "solved",
    ExitCode.UNSOLVABLE: "unsolvable",
    ExitCode.UNSOLVED_INCOMPLETE: "incomplete",
    ExitCode.OUT_OF_MEMORY_BEFORE_SEARCH: "out_of_memory",
    ExitCode.OUT_OF_TIME_BEFORE_SEARCH: "timeout",
    ExitCode.OUT_OF_MEMORY: "out_of_memory",
    ExitCode.OUT_OF_TIME: "timeout",
    ExitCode.OUT_OF_MEMORY_AND_TIME: "out_of_memory",
    ExitCode.BAD_PDDL: "bad_pddl",
    ExitCode.UNSUPPORTED: "unsupported",
    ExitCode.BAD_INPUT: "bad_input",
}


class SearchOutcome(BaseModel):
    """What a search came to. `optimal`: proved that no plan is shorter."""

    status: Status
    plan: list[str] | None = None
    length: int | None = None
    optimal: bool = False
    method: str | None = None
    seconds: float | None = None
    message: str = ""


class ValidationOutcome(BaseModel):
    """`step` is the first step that fails, from 1; none where only the goal is not reached."""

    valid: bool
    status: Literal["valid", "invalid", "bad_pddl", "unsupported"]
    length: int = 0
    step: int | None = None
    message: str = ""


class DomainEntry(BaseModel):
    """A domain that comes with oclgen, and a problem of it."""

    name: str
    model: bool
    domain: str
    example: str


def make_server(models: Sequence[Path] = ()) -> MCPServer:
    """A server that knows the shipped models and those in the given folders."""
    server = MCPServer("oclgen", instructions=INSTRUCTIONS, version=__version__)
    turns = anyio.Semaphore(SEARCHES_AT_ONCE)

    @server.tool()
    async def solve(domain: Text, problem: Text, time_limit: Seconds = DEFAULT_SECONDS) -> SearchOutcome:
        """Find a short plan for a PDDL problem."""
        async with turns:
            return await search("solve", domain, problem, None, time_limit, models)

    @server.tool()
    async def shorten(domain: Text, problem: Text, plan: Steps, time_limit: Seconds = DEFAULT_SECONDS) -> SearchOutcome:
        """Make a valid plan shorter. The answer is never longer than the plan given."""
        async with turns:
            return await search("shorten", domain, problem, plan, time_limit, models)

    @server.tool()
    async def validate(domain: Text, problem: Text, plan: Steps) -> ValidationOutcome:
        """Check a plan step by step; name the first step that fails and the precondition that does not hold."""
        return await anyio.to_thread.run_sync(judge, domain, problem, plan)

    @server.tool()
    async def domains() -> list[DomainEntry]:
        """The domains that come with oclgen, each with its PDDL text and an example problem."""
        return await anyio.to_thread.run_sync(lambda: [describe(name) for name in catalog.names()])

    return server


async def search(
    verb: str, domain: str, problem: str, plan: list[str] | None, seconds: float, models: Sequence[Path]
) -> SearchOutcome:
    """Run one `oclgen` process to its end. It is killed where the client cancels the request."""
    with tempfile.TemporaryDirectory(prefix="oclgen-mcp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "domain.pddl").write_text(domain, encoding="utf-8")
        (folder / "problem.pddl").write_text(problem, encoding="utf-8")
        files = ["domain.pddl", "problem.pddl"]
        if plan is not None:
            (folder / "given.plan").write_text("\n".join(plan) + "\n", encoding="utf-8")
            files.append("given.plan")
        options = ["--overall-time-limit", f"{seconds:.3f}s", "--threads", "1", "--json", "record.json"]
        if (model := own_model(models, folder / "domain.pddl")) is not None:
            options += ["--model", str(model)]
        command = [sys.executable, "-m", "oclgen", verb, *files, *options]
        done = await anyio.run_process(command, cwd=folder, stdin=DEVNULL, check=False)
        return outcome(folder, done.returncode, done.stderr.decode(errors="replace"))


def outcome(folder: Path, code: int, complaint: str) -> SearchOutcome:
    record_file = folder / "record.json"
    status = STATUSES.get(code, "error")
    if not record_file.exists():
        message = complaint.strip().removeprefix("oclgen: ") or f"oclgen ended with exit code {code}"
        return SearchOutcome(status=status, message=message)
    record = json.loads(record_file.read_text(encoding="utf-8"))
    plan = record["plan"]
    return SearchOutcome(
        status=status,
        plan=None if plan is None else [f"({step})" for step in plan],
        length=record["length"],
        optimal=plan is not None and record["ending"] == "exhausted",
        method=record["method"],
        seconds=round(record["seconds"], 3),
    )


def judge(domain: str, problem: str, plan: list[str]) -> ValidationOutcome:
    try:
        info = parse_problem(Source("<problem>", problem), parse_domain(Source("<domain>", domain)))
        verdict = Validator.of(info).check(parse_plan("\n".join(plan)))
    except OclgenError as error:
        kind: Literal["bad_pddl", "unsupported"] = "bad_pddl" if isinstance(error, PddlError) else "unsupported"
        return ValidationOutcome(valid=False, status=kind, message=str(error))
    return ValidationOutcome(
        valid=verdict.valid,
        status="valid" if verdict.valid else "invalid",
        length=verdict.length,
        step=verdict.step,
        message=verdict.reason,
    )


def describe(name: str) -> DomainEntry:
    spec = catalog.load(name)
    drawn = [catalog.draw(spec, 0, index, {}).text for index in range(EXAMPLES)]
    domain = parse_domain(Source("<domain>", spec.domain_text))
    return DomainEntry(name=name, model=has_model(domain), domain=spec.domain_text, example=min(drawn, key=len))
