"""The planning editor's adaptor: a plan as a list of steps, each with its operator's text and its arguments put in.

The domain's text is only searched for operators, not understood; the planner has read it before.
"""

import re
from typing import Any

NAME = "planning_editor_adaptor"
OPERATOR = re.compile(r"\(\s*:action\s+([^\s()]+)")
PARAMETERS = re.compile(r":parameters\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
VARIABLE = re.compile(r"\?[^\s()]+")
TEXT_BYTES = 4 << 20
"""Operators' texts are left out beyond this."""


def adapted(domain: str, result: dict[str, Any]) -> dict[str, Any]:
    if result["stderr"]:
        error = f"stderr: \n{result['stderr']}\nstdout: \n{result['stdout']}"
        return {"status": "error", "result": {**template("", []), "error": error, "parse_status": "err"}}
    known = operators(domain)
    plans = []
    for text in result["output"].values():
        steps, size = [], 0
        for line in text.splitlines():
            if line.startswith("("):
                name, *arguments = line.strip("() ").split()
                action = grounded(known[name], arguments) if name in known and size < TEXT_BYTES else line
                size += len(action)
                steps.append({"name": line, "action": action})
        plans.append({"status": "ok", "result": template(result["stdout"], steps)})
    return {"plans": plans, "status": "ok"}


def template(output: str, steps: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "output": output,
        "parse_status": "ok",
        "type": "full",
        "length": len(steps),
        "plan": steps,
        "planPath": "None",
        "logPath": "None",
    }


def operators(domain: str) -> dict[str, str]:
    """The text of each operator, from its parenthesis to the one that closes it."""
    text = re.sub(r";[^\n]*", "", domain).lower()
    found = {}
    for match in OPERATOR.finditer(text):
        depth = 0
        for bracket in re.compile(r"[()]").finditer(text, match.start()):
            depth += 1 if bracket[0] == "(" else -1
            if depth == 0:
                found[match[1]] = text[match.start() : bracket.end()]
                break
    return found


def grounded(operator: str, arguments: list[str]) -> str:
    parameters = PARAMETERS.search(operator)
    variables = VARIABLE.findall(parameters[1]) if parameters else []
    values = dict(zip(variables, arguments, strict=False))
    return VARIABLE.sub(lambda match: values.get(match[0], match[0]), operator)
