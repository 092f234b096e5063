"""Folders as users have them."""

import re
from pathlib import Path

from oclgen.domains import catalog
from oclgen.pddl.plan_file import format_plan
from oclgen.pddl.task import PddlTask
from tests.data.toy_data import naive_plan

LAMP = """(define (domain lamp)
  (:requirements :strips)
  (:predicates (plugged) (lit) (broken))
  (:action plug-in :parameters () :precondition (and) :effect (plugged))
  (:action switch-on :parameters () :precondition (and (plugged)) :effect (lit)))
"""


def harbour(folder: Path, problems: int) -> Path:
    """Blocksworld as somebody else would have it: another domain name, crates, nested folders, and some plans."""
    spec = catalog.load("blocksworld")
    domain = spec.domain_text.replace("blocksworld-4ops", "harbour")
    (folder / "training" / "easy").mkdir(parents=True)
    (folder / "training_plans" / "easy").mkdir(parents=True)
    (folder / "domain.pddl").write_text(domain)
    for number in range(problems):
        drawn = catalog.draw(spec, 3, number, catalog.overrides(spec, ["blocks=4"])).text
        text = re.sub(r"\bb(\d+)\b", r"crate\1", drawn.replace("blocksworld-4ops", "harbour"))
        (folder / "training" / "easy" / f"p{number}.pddl").write_text(text)
        plan = format_plan(naive_plan(PddlTask(domain, text)))
        (folder / "training_plans" / "easy" / f"p{number}.plan").write_text(plan)
    return folder


def lamp(folder: Path, **goals: str) -> Path:
    """A domain without parameters or objects; one problem for each goal."""
    (folder / "training").mkdir(parents=True)
    (folder / "domain.pddl").write_text(LAMP)
    for name, goal in goals.items():
        text = f"(define (problem {name}) (:domain lamp) (:init) (:goal (and ({goal}))))"
        (folder / "training" / f"{name}.pddl").write_text(text)
    return folder
