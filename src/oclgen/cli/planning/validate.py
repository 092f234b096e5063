"""`oclgen validate`: judge a plan without the planner's own successor generator."""

from pathlib import Path

import click

from oclgen.errors import PddlError

INVALID = 1


@click.command("validate")
@click.argument("domain", type=click.Path(path_type=Path))
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("plan", type=click.Path(path_type=Path))
def command(domain: Path, problem: Path, plan: Path) -> int:
    """Check PLAN step by step: prints `Plan valid` and `Value: N`, or the first broken step and why it fails.

    Exits with 0 for a valid plan, 1 for one that fails, 31 for a file that cannot be read as PDDL.
    """
    from oclgen.pddl.checking.validate import Validator
    from oclgen.pddl.plan_file import parse_steps
    from oclgen.pddl.reading.source import read_file

    validator = Validator(domain, problem)
    origin = read_file(plan, "plan")
    steps = parse_steps(origin.text, origin.name)
    for line, action in steps:
        if complaint := validator.malformed(action):
            raise PddlError(f"{origin.name}:{line}: {complaint}")
    verdict = validator.check([action for _, action in steps])
    if verdict.valid:
        value = int(verdict.value) if float(verdict.value).is_integer() else verdict.value
        click.echo(f"Plan valid\nValue: {value}")
        return 0
    where = "" if verdict.step is None else f"{origin.name}:{steps[verdict.step - 1][0]}: "
    click.echo(f"Plan invalid\n{where}{verdict.reason}")
    return INVALID
