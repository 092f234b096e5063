"""Two heads for the cost-to-go on one relational encoder: a logistic of added shares, and the paper's classifier.

    python -m benchmarks.cost_heads CONFIG INSIDE BEYOND --model MODEL --minutes 10 [--problems 10 --iterations 40]

Both networks see the same batches of INSIDE for the same number of steps. Printed: the error of their modes on the
validation problems of INSIDE and of BEYOND (a data set of larger problems of the same domain), and the plans that
OCLGen finds for problems of BEYOND with MODEL's policy and either head, for a number of iterations.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from oclgen.data.dataset import open_dataset
from oclgen.data.examples.batches import Position
from oclgen.data.examples.relational import RelationalExamples
from oclgen.encoding.relational import Schema
from oclgen.inference.engine import FloatArray
from oclgen.inference.relational.encoded_states import RelationalModel
from oclgen.inference.relational.heuristic import percentiles
from oclgen.interfaces import State, Task
from oclgen.learn.distributed import World
from oclgen.learn.engines.relational import TorchRelationalEngine, TorchRows
from oclgen.learn.networks.objectives import cost_surprise, to_tensors
from oclgen.learn.networks.relational import RelationalNetwork
from oclgen.learn.optim import make_optimizers, set_rates
from oclgen.learn.settings import TrainingSettings, read_settings
from oclgen.learn.sources import Sources, open_sources
from oclgen.loaded_model import LoadedModel, ModelUse
from oclgen.pddl.task import PddlTask
from oclgen.relational_checkpoint import RelationalCheckpoint, RelationalSettings, load_relational
from oclgen.search import METHODS
from oclgen.search.anytime import Budget, Counters
from oclgen.search.oclgen import oclgen_search
from oclgen.search.settings import OclgenSettings

Summary = Callable[[FloatArray], FloatArray]


class Logistic(nn.Module):
    """What ships: mean and spread are sums over rows."""

    def __init__(self, network: RelationalNetwork, _largest: int) -> None:
        super().__init__()
        self.network = network

    def forward(self, rows: Tensor, there: Tensor) -> Tensor:
        return torch.stack(self.network.cost(rows, there), 1)

    def surprise(self, output: Tensor, cost: Tensor) -> Tensor:
        return cost_surprise(cost.float(), output[:, 0], output[:, 1])

    @staticmethod
    def percentile(output: FloatArray, k: float) -> FloatArray:
        return percentiles(output, k)


class Classifier(nn.Module):
    """The paper's: one class for each cost up to the largest of training, read off the row of the whole problem."""

    def __init__(self, network: RelationalNetwork, largest: int) -> None:
        super().__init__()
        self.network = network
        width = network.settings.width
        self.hidden, self.out = nn.Linear(width, width), nn.Linear(width, largest + 1)

    def forward(self, rows: Tensor, there: Tensor) -> Tensor:
        last = there.sum(1) - 1
        scores: Tensor = self.out(F.gelu(self.hidden(rows[torch.arange(len(rows)), last])))
        return scores

    def surprise(self, output: Tensor, cost: Tensor) -> Tensor:
        return F.cross_entropy(output, cost.clamp(max=output.shape[1] - 1), reduction="none")

    @staticmethod
    def percentile(output: FloatArray, k: float) -> FloatArray:
        shares = np.exp(output - output.max(1, keepdims=True))
        cumulated = np.cumsum(shares / shares.sum(1, keepdims=True), 1)
        found: FloatArray = (cumulated < min(k / 100, 1 - 1e-6)).sum(1).astype(np.float32)
        return found


Head = Logistic | Classifier


def train(settings: TrainingSettings, sources: Sources, minutes: float) -> dict[str, Head]:
    """Both heads, each on an encoder of its own with the same first weights, on the same batches."""
    heads: dict[str, Head] = {}
    shape, schema = sources.shape, sources.origin.language
    assert isinstance(shape, RelationalSettings) and isinstance(schema, Schema)
    assert isinstance(sources.training, RelationalExamples)
    largest = int(sources.training.store.length.max())
    for name, kind in (("logistic", Logistic), ("classifier", Classifier)):
        torch.manual_seed(settings.run.seed)
        heads[name] = kind(RelationalNetwork(shape, schema), largest)
    optimizers = {name: make_optimizers(head, settings.optimizer) for name, head in heads.items()}
    started, steps = time.monotonic(), 0
    for _, batch in sources.training.stream(Position(0, 0)):
        share = (time.monotonic() - started) / (60 * minutes)
        if share >= 1:
            break
        tensors = to_tensors(batch, torch.device("cpu"))
        for name, head in heads.items():
            loss = surprise(head, tensors).mean()
            for value in head.parameters():
                value.grad = torch.zeros_like(value)  # the decoder takes no part
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            set_rates(optimizers[name], min(1.0, (steps + 1) / 50, (1 - share) / 0.5))
            for optimizer in optimizers[name]:
                optimizer.step()
        steps += 1
    print(f"{steps} steps each, costs up to {largest} in training", flush=True)
    return heads


def surprise(head: Head, batch: Mapping[str, Tensor]) -> Tensor:
    return head.surprise(head(*head.network.encode(batch)), batch["cost"])


@torch.inference_mode()
def errors(head: Head, sources: Sources) -> tuple[float, float]:
    """Mean absolute error of the median, and mean surprise in nats, over the validation problems."""
    distances: list[float] = []
    surprises: list[float] = []
    for batch in sources.validation.validation():
        tensors = to_tensors(batch, torch.device("cpu"))
        output = head(*head.network.encode(tensors))
        distances += np.abs(head.percentile(output.numpy(), 50) - batch["cost"]).tolist()
        surprises += head.surprise(output, tensors["cost"]).tolist()
    return statistics.mean(distances), statistics.mean(surprises)


class HeadEngine(TorchRelationalEngine):
    """Encodes with the head's network; `costs` are the head's outputs."""

    def __init__(self, checkpoint: RelationalCheckpoint, head: Head) -> None:
        super().__init__(checkpoint, "cpu")
        self.head = head

    @torch.inference_mode()
    def costs(self, rows: Sequence[TorchRows]) -> FloatArray:
        stacked = torch.stack([each.final for each in rows])
        return np.asarray(self.head(stacked, torch.ones(stacked.shape[:2], dtype=torch.bool)).numpy(), np.float32)


class HeadHeuristic:
    def __init__(self, checkpoint: RelationalCheckpoint, head: Head, percentile: float) -> None:
        weights = {name: value.detach().numpy() for name, value in head.network.state_dict().items()}
        checkpoint = replace(checkpoint, settings=head.network.settings, weights=weights)
        self.model, self.head, self.k = RelationalModel(checkpoint, HeadEngine(checkpoint, head)), head, percentile

    def estimate(self, task: Task, states: Sequence[State]) -> list[float]:
        if not states:
            return []
        output = self.model.engine.costs(self.model.states(task).rows(states))
        return [float(value) for value in self.head.percentile(output, self.k)]


def search(model: LoadedModel, heuristic: HeadHeuristic, domain: str, problem: str, iterations: int) -> int | None:
    """The length of the best plan after some iterations."""
    task, counters = PddlTask(domain, problem), Counters()
    policy = model.policy(ModelUse(whole_rollouts=False))
    settings = METHODS["oclgen"].in_profile("extended")
    assert isinstance(settings, OclgenSettings)
    budget = Budget(600.0, iterations=iterations)
    plans = oclgen_search(
        task, policy, heuristic, replace(settings, confidence=0.05), budget, random.Random(0), counters
    )
    lengths = [len(plan) for plan in plans]
    return lengths[-1] if lengths else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("inside", type=Path)
    parser.add_argument("beyond", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="a relational model folder, for its policy")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--problems", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    world = World(0, 1, torch.device("cpu"))
    settings = read_settings(options.config, "relational", [f'data.path="{options.inside}"'])
    inside = open_sources(settings, world)
    heads = train(settings, inside, options.minutes)
    beyond = open_sources(read_settings(options.config, "relational", [f'data.path="{options.beyond}"']), world)
    for name, head in heads.items():
        for place, sources in (("inside", inside), ("beyond", beyond)):
            error, nats = errors(head, sources)
            print(f"{name}, {place}: error {error:.2f} steps, surprise {nats:.2f} nats", flush=True)
    data = open_dataset(options.beyond)
    rows = [row for row, _ in zip(data.rows("val"), range(options.problems), strict=False)]
    model = LoadedModel(options.model)
    checkpoint = load_relational(options.model / "relational")
    for k in (20.0, 50.0):
        found = {
            name: [
                search(model, HeadHeuristic(checkpoint, head, k), data.domain_text, row.problem, options.iterations)
                for row in rows
            ]
            for name, head in heads.items()
        }
        print(f"percentile {k:.0f}: {found}", flush=True)
        common = [pair for pair in zip(*found.values(), strict=True) if None not in pair]
        means = [statistics.mean(column) for column in zip(*common, strict=True)] if common else []
        print(f"  mean length on the {len(common)} solved by both, {' and '.join(found)}: {means}", flush=True)


if __name__ == "__main__":
    main()
