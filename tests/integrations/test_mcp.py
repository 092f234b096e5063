"""The tools of the Model Context Protocol server, called by the SDK's own client."""

import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from oclgen.domains import catalog
from oclgen.mcp_server import DEFAULT_SECONDS, make_server
from oclgen.pddl.checking.validate import validate
from oclgen.pddl.plan_file import parse_plan
from tests.integrations.test_shorten_command import FERRY, LONG, SHORTEST, TWO_CARS
from tests.relational_folder import write_relational_checkpoint

SPELLED = [f"({' '.join(action)})" for action in LONG]


def call(tool: str, models: Sequence[Path] = (), **arguments: Any) -> dict[str, Any]:
    """What a tool answers through the client, in memory."""

    async def ask() -> dict[str, Any]:
        async with Client(make_server(models)) as client:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            return dict(result.structured_content)

    answer: dict[str, Any] = run(ask)
    return answer


def run(ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return anyio.run(ask)


def test_solve_returns_a_valid_plan_with_its_status() -> None:
    answer = call("solve", domain=FERRY, problem=TWO_CARS, time_limit=30)
    assert answer["status"] == "solved"
    assert answer["optimal"]
    assert answer["method"] == "lama"
    plan = parse_plan("\n".join(answer["plan"]))
    assert len(plan) == answer["length"] == SHORTEST
    assert validate(FERRY, TWO_CARS, plan).valid


def test_a_model_of_the_servers_own_serves_its_domain_only(tmp_path: Path) -> None:
    write_relational_checkpoint(tmp_path / "relational", FERRY)
    assert call("solve", [tmp_path], domain=FERRY, problem=TWO_CARS, time_limit=60)["method"] == "oclgen"
    other = FERRY.replace(":action sail", ":action cruise")
    assert call("solve", [tmp_path], domain=other, problem=TWO_CARS, time_limit=60)["method"] == "lama"


def test_shorten_returns_a_shorter_plan_and_refuses_an_invalid_one() -> None:
    assert call("shorten", domain=FERRY, problem=TWO_CARS, plan=SPELLED, time_limit=30)["length"] == SHORTEST
    refused = call("shorten", domain=FERRY, problem=TWO_CARS, plan=SPELLED[1:], time_limit=30)
    assert refused["status"] == "bad_input"
    assert "not valid: step 1" in refused["message"]


def test_validate_names_the_first_step_that_fails() -> None:
    assert call("validate", domain=FERRY, problem=TWO_CARS, plan=SPELLED)["valid"]
    verdict = call("validate", domain=FERRY, problem=TWO_CARS, plan=[SPELLED[0], SPELLED[0]])
    assert verdict["status"] == "invalid"
    assert verdict["step"] == 2
    assert "(at-ferry m)" in verdict["message"]


def test_what_is_wrong_with_the_pddl_is_said_without_paths_of_the_server() -> None:
    answer = call("solve", domain=FERRY.replace("(empty)", "(hollow)", 1), problem=TWO_CARS, time_limit=30)
    assert answer["status"] == "bad_pddl"
    assert answer["message"].startswith("domain.pddl:")
    unsolvable = TWO_CARS.replace("(at-ferry m)", "")
    assert call("solve", domain=FERRY, problem=unsolvable, time_limit=30)["status"] == "unsolvable"


def test_a_text_that_looks_like_a_path_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.pddl"
    secret.write_text(FERRY)
    for tool, more in (("solve", {"time_limit": 30}), ("validate", {"plan": SPELLED})):
        assert call(tool, domain=str(secret), problem=TWO_CARS, **more)["status"] == "bad_pddl"


def test_domains_lists_the_shipped_ones_with_examples_that_parse() -> None:
    entries = call("domains")["result"]
    assert [entry["name"] for entry in entries] == catalog.names()
    for entry in entries:
        assert entry["model"]
        assert "goal" in validate(entry["domain"], entry["example"], []).reason


def test_limits_outside_the_bounds_are_refused() -> None:
    async def ask() -> bool:
        async with Client(make_server()) as client:
            result = await client.call_tool("solve", {"domain": FERRY, "problem": TWO_CARS, "time_limit": 1e9})
            return bool(result.is_error)

    assert run(ask)
    assert DEFAULT_SECONDS < 5


def test_the_command_serves_on_standard_input_and_output() -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "oclgen", "mcp"], env=dict(os.environ))

    async def ask() -> list[str]:
        async with Client(stdio_client(parameters)) as client:
            tools = await client.list_tools()
            verdict = await client.call_tool("validate", {"domain": FERRY, "problem": TWO_CARS, "plan": SPELLED})
            assert verdict.structured_content["valid"]
            return [tool.name for tool in tools.tools]

    assert set(run(ask)) == {"solve", "validate", "shorten", "domains"}
