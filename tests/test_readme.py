"""The commands of README.md and docs/usage.md work: quick ones are run, the others are parsed."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from oclgen.cli import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(text: str, language: str = "") -> Iterator[str]:
    return (match[1] for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def commands(text: str) -> list[list[str]]:
    lines = [line for block in blocks(text) for line in block.splitlines() if line.startswith("oclgen ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def section(title: str) -> str:
    return README.partition(f"## {title}\n")[2].partition("\n## ")[0]


def hurried(text: str) -> str:
    """The same with a limit on iterations instead of time, which no slow machine can miss."""
    return text.replace("10s", "10m --iterations 1").replace("time_limit=10", "time_limit=600, iterations=1")


def python(folder: Path, *arguments: str) -> str:
    """What a Python process prints; it must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), arguments
    return done.stdout


def test_what_the_readme_says_on_solving_works(tmp_path: Path) -> None:
    lines = commands(hurried(section("Solve")))
    assert [verb for verb, *_ in lines] == ["generate", "solve", "validate"]
    _, solved, validated = (python(tmp_path, "-m", "oclgen", *arguments) for arguments in lines)
    assert "Solution found!" in solved
    assert "Plan valid" in validated
    [example] = blocks(section("Solve"), "python")
    assert re.match(r"\d+ \(\(", python(tmp_path, "-c", hurried(example)))


@pytest.mark.parametrize("arguments", commands(README + (ROOT / "docs" / "usage.md").read_text()), ids=" ".join)
def test_every_command_has_a_verb_and_options_that_exist(arguments: list[str]) -> None:
    verb, *rest = arguments
    context = click.Context(cli)
    command = cli.get_command(context, verb)
    assert command is not None
    command.make_parser(click.Context(command)).parse_args(rest)


@pytest.mark.parametrize("target", re.findall(r"^make (\w+)", README, re.MULTILINE))
def test_every_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_every_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).is_file()
