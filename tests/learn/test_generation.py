"""The generation metric: chained rollouts are replayed, not believed."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from oclgen.data import dataset
from oclgen.domains import catalog
from oclgen.interfaces import Action, Rollout, State, Step, Task
from oclgen.learn.generation import chain, completion
from oclgen.learn.settings import Generation, read_settings
from oclgen.learn.train import train
from oclgen.pddl.task import PddlTask
from tests.data.toy_data import make_dataset, naive_plan

SMOKE = Path(__file__).parent.parent.parent / "configs" / "smoke"


class Piecewise:
    """Knows a plan, but only `length` actions ahead of where it stands."""

    def __init__(self, task: PddlTask, length: int) -> None:
        self.next: dict[State, list[Action]] = {}
        state: State | None = task.initial_state
        plan = list(naive_plan(task))
        for number, action in enumerate(plan):
            assert state is not None
            self.next[state] = plan[number : number + length]
            state = task.apply(state, action)

    def rollouts(
        self,
        task: Task,
        states: Sequence[State],
        samples: int,
        rng: random.Random,
        *,
        max_tokens: int | None = None,
        max_actions: int | None = None,
        restricted: bool = False,
        should_stop: Callable[[], bool] | None = None,
    ) -> list[list[Rollout]]:
        wrong = (Step(("pickup", "nothing"), 1.0),)
        right = [tuple(Step(action, 1.0) for action in self.next[state]) for state in states]
        return [[*[wrong] * (samples - 1), rollout] for rollout in right]

    def priors(self, task: Task, state: State, actions: Sequence[Action]) -> list[float]:
        raise NotImplementedError


def long_task() -> PddlTask:
    spec = catalog.load("blocksworld")
    return PddlTask(spec.domain_text, catalog.draw(spec, 1, 0, catalog.overrides(spec, ["blocks=6"])).text)


def test_links_add_up_to_the_goal() -> None:
    task = long_task()
    length = len(naive_plan(task))
    links = -(-length // 3)
    enough, lengths = chain(Piecewise(task, 3), task, Generation(samples=2, links=links), random.Random(0))
    short, _ = chain(Piecewise(task, 3), task, Generation(samples=2, links=links - 1), random.Random(0))
    assert enough and not short
    assert sum(lengths) == length and lengths.count(0) == links


def test_a_chain_ends_where_no_rollout_is_valid() -> None:
    task = long_task()
    policy = Piecewise(task, 3)
    policy.next[task.initial_state] = [("stack", "b1", "b1")]
    assert chain(policy, task, Generation(samples=2, links=50), random.Random(0)) == (False, [0, 0])


def test_a_policy_that_has_learned_completes_its_problems(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", 40, blocks="3")
    quick = [
        "schedule.steps=250",
        "model.layers=1",
        "data.batch_tokens=2000",
        "run.validate_every=125",
        "data.shuffle_names=false",
        "generation.problems=3",
    ]
    recipe = read_settings(SMOKE / "policy-blocksworld.toml", "policy", [f"data.path={data}", *quick])
    train(recipe, tmp_path / "run")
    opened = dataset.open_dataset(data)
    tasks = [PddlTask(opened.domain_text, row.problem) for row in opened.rows("train")][:8]
    found = completion(tmp_path / "run" / "best", tasks, Generation(8, 10, 5), seed=0)
    assert found["completion"] >= 0.5 and found["valid_actions"] > 1
