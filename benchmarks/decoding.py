"""Restricted decoding with and without reading forced tokens at once, same states and weights, turn by turn in one run.

Ten rollouts of 50 tokens from the start of fresh problems of each domain, shipped models; tokens a second, best
turn of each, and the median of the ratios of turns taken side by side. `share` is that of tokens that were choices.

    OMP_NUM_THREADS=1 python benchmarks/decoding.py [--repeats 5]
"""

import argparse
import random
import statistics
import time
from unittest import mock

from oclgen.domains import catalog
from oclgen.inference import sampling
from oclgen.inference.rollout import RolloutBuilder
from oclgen.loaded_model import CountingPolicy, ModelUse, load_model
from oclgen.model_folders import find_model
from oclgen.pddl.reading.domain import read_domain
from oclgen.pddl.task import PddlTask

PROBLEMS, SAMPLES, TOKENS = 5, 10, 50


def rate(policy: CountingPolicy, tasks: list[PddlTask]) -> float:
    before, start = policy.tokens, time.perf_counter()
    for task in tasks:
        policy.rollouts(task, [task.initial_state], SAMPLES, random.Random(0), max_tokens=TOKENS)
    return (policy.tokens - before) / (time.perf_counter() - start)


def share_of_choices(policy: CountingPolicy, tasks: list[PddlTask]) -> float:
    """Each sampled token is read by `Sampler._read`, together with those that it forces."""
    before = policy.tokens
    with mock.patch.object(sampling.Sampler, "_read", autospec=True, side_effect=sampling.Sampler._read) as read:
        rate(policy, tasks)
    return read.call_count / (policy.tokens - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    unforced = property(lambda _: None)
    for name in catalog.names():
        spec = catalog.load(name)
        drawn = [catalog.draw(spec, 0, index, {}).text for index in range(PROBLEMS)]
        tasks = [PddlTask(spec.domain_text, text) for text in drawn]
        model = load_model(find_model(read_domain(spec.domain_text)))
        policy = model.policy(ModelUse(decoding="applicable", whole_rollouts=False))
        turns = []
        for _ in range(repeats + 1):  # the first one is not counted
            forced = rate(policy, tasks)
            with mock.patch.object(RolloutBuilder, "forced", unforced):
                turns.append((forced, rate(policy, tasks)))
        ratio = statistics.median(forced / single for forced, single in turns[1:])
        best = max(forced for forced, _ in turns[1:]), max(single for _, single in turns[1:])
        share = share_of_choices(policy, tasks)
        print(f"{name:12} {best[0]:7.0f} against {best[1]:6.0f} tokens/s, ratio {ratio:.2f}, share {share:.2f}")


if __name__ == "__main__":
    main()
