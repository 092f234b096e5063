"""The mathematics of a relational model in plain numpy and double precision, and random models and states for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oclgen.inference.relational.weights import SchemaCounts

Array = npt.NDArray[np.float64]
FAR = 32
NOISE = 16


@dataclass(frozen=True)
class Shape:
    width: int = 32
    heads: int = 2
    inner: int = 64
    relation: int = 16
    encoder_layers: int = 2
    decoder_layers: int = 2
    max_plan: int = 40
    distances: bool = True


@dataclass(frozen=True)
class Problem:
    kinds: npt.NDArray[np.int32]
    noise: npt.NDArray[np.float32]
    distances: npt.NDArray[np.int8] | None


COUNTS = SchemaCounts(relations=(1, 2, 3, 1, 5, 2), operators=(2, 0, 3), kinds=4)


def tensor_shapes(shape: Shape, counts: SchemaCounts) -> dict[str, tuple[int, ...]]:
    d, m = shape.width, shape.relation
    shapes: dict[str, tuple[int, ...]] = {"kind.weight": (counts.kinds, d), "noise.weight": (d, NOISE)}
    linear = {"attention": (3 * d, d), "projection": (d, d), "up": (shape.inner, d), "down": (d, shape.inner)}
    norms: list[str] = ["encoder.norm", "decoder.norm"]
    layers = {f"encoder.block.{i}": True for i in range(shape.encoder_layers)}
    layers |= {f"decoder.block.{i}": False for i in range(shape.decoder_layers)}
    for block, encoder in layers.items():
        norms += [f"{block}.norm{i}" for i in range(0 if encoder else 1, 3)]
        for name, size in linear.items():
            shapes |= {f"{block}.{name}.weight": size, f"{block}.{name}.bias": size[:1]}
        for r, k in enumerate(counts.relations if encoder else ()):
            shapes |= {f"{block}.relation.{r}.in.weight": (m, k * d), f"{block}.relation.{r}.in.bias": (m,)}
            shapes |= {f"{block}.relation.{r}.out.weight": (k * d, m), f"{block}.relation.{r}.out.bias": (k * d,)}
    for norm in norms:
        shapes |= {f"{norm}.weight": (d,), f"{norm}.bias": (d,)}
    if shape.distances:
        shapes["distance.weight"] = (shape.encoder_layers, FAR + 1, shape.heads)
    operators = len(counts.operators)
    shapes |= {"operator.weight": (operators + 2, d), "position.weight": (shape.max_plan, d)}
    shapes["slot.weight"] = (max(counts.operators, default=0) + 1, d)
    heads = {"argument": d, "choose": operators + 1, "query": d, "key": d, "cost_in": d, "cost_out": 2}
    for name, outputs in heads.items():
        shapes |= {f"{name}.weight": (outputs, d), f"{name}.bias": (outputs,)}
    return shapes


def random_weights(shape: Shape, counts: SchemaCounts = COUNTS, seed: int = 0) -> dict[str, npt.NDArray[np.float32]]:
    """Large enough that distributions are far from uniform."""
    rng = np.random.default_rng(seed)
    weights = {}
    for name, size in tensor_shapes(shape, counts).items():
        centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        deviation = 0.3 if len(size) == 1 or name.startswith("distance") else size[-1] ** -0.5
        weights[name] = rng.normal(centre, deviation, size).astype(np.float32)
    return weights


def random_problem(rng: np.random.Generator, rows: int, counts: SchemaCounts = COUNTS) -> Problem:
    distances = rng.integers(0, FAR + 1, (rows, rows), np.int8)
    np.fill_diagonal(distances, 0)
    kinds = rng.integers(0, counts.kinds, rows, np.int32)
    return Problem(kinds, rng.normal(size=(rows, NOISE)).astype(np.float32), distances)


def random_atoms(
    rng: np.random.Generator, rows: int, most: int = 12, counts: SchemaCounts = COUNTS
) -> list[npt.NDArray[np.int32]]:
    """Some relations have no atoms; an object may occur twice in one."""
    sizes = rng.integers(0, most + 1, len(counts.relations)) * (rng.random(len(counts.relations)) < 0.8)
    return [rng.integers(0, rows, (size, arity), np.int32) for size, arity in zip(sizes, counts.relations, strict=True)]


def gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


class Reference:
    """One state at a time, one token after the other."""

    def __init__(
        self, shape: Shape, weights: dict[str, npt.NDArray[np.float32]], counts: SchemaCounts = COUNTS
    ) -> None:
        self.shape, self.counts = shape, counts
        self.weights = {name: array.astype(np.float64) for name, array in weights.items()}

    def linear(self, name: str, x: Array) -> Array:
        return np.asarray(x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def norm(self, name: str, x: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return np.asarray(scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])

    def messages(self, block: str, h: Array, atoms: Sequence[Any]) -> Array:
        d = self.shape.width
        total, degree = np.zeros_like(h), np.zeros(len(h))
        for r, arguments in enumerate(atoms):
            for atom in arguments:
                name = f"{block}.relation.{r}"
                z = np.maximum(self.linear(f"{name}.in", np.concatenate([h[a] for a in atom])), 0.0)
                out = self.linear(f"{name}.out", z)
                for i, a in enumerate(atom):
                    total[a] += out[i * d : (i + 1) * d]
                    degree[a] += 1
        return total / np.sqrt(np.maximum(1.0, degree))[:, None]

    def split(self, x: Array) -> list[Array]:
        """Queries, keys and values: [heads, rows, head]."""
        parts = x.reshape(len(x), 3, self.shape.heads, -1)
        return [parts[:, i].transpose(1, 0, 2) for i in range(3)]

    def attend(self, block: str, x: Array, q: Array, k: Array, v: Array, bias: Any) -> Array:
        logits = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + bias
        mixed = (softmax(logits) @ v).transpose(1, 0, 2).reshape(len(x), -1)
        x = x + self.linear(f"{block}.projection", mixed)
        hidden = gelu(self.linear(f"{block}.up", self.norm(f"{block}.norm2", x)))
        return np.asarray(x + self.linear(f"{block}.down", hidden))

    def encode(self, problem: Problem, atoms: Sequence[Any]) -> Array:
        w = self.weights
        x = w["kind.weight"][problem.kinds] + problem.noise @ w["noise.weight"].T
        for layer in range(self.shape.encoder_layers):
            block = f"encoder.block.{layer}"
            x = x + self.messages(block, self.norm(f"{block}.norm0", x), atoms)
            bias: Any = 0.0
            if self.shape.distances:
                bias = w["distance.weight"][layer][problem.distances].transpose(2, 0, 1)
            q, k, v = self.split(self.linear(f"{block}.attention", self.norm(f"{block}.norm1", x)))
            x = self.attend(block, x, q, k, v, bias)
        return self.norm("encoder.norm", x)

    def cost(self, rows: Array) -> tuple[float, float]:
        s = np.log1p(np.exp(self.linear("cost_out", gelu(self.linear("cost_in", rows)))))
        return float(s[:, 0].sum()), float(np.sqrt((s[:, 1] ** 2).sum()) + 0.3)

    def inputs(self, rows: Array, tokens: Sequence[int]) -> tuple[Array, int]:
        """The inputs of START and the tokens; how many arguments are missing behind the last."""
        w, operators = self.weights, len(self.counts.operators)
        xs = [w["operator.weight"][operators + 1] + w["slot.weight"][0]]
        missing = place = 0
        for token in tokens:
            if missing:
                missing, place = missing - 1, place + 1
                xs.append(self.linear("argument", rows[token - operators - 1]) + w["slot.weight"][place])
            else:
                missing, place = self.counts.operators[token], 0
                xs.append(w["operator.weight"][token] + w["slot.weight"][0])
        return np.stack(xs) + w["position.weight"][: len(xs)], missing

    def next_token(self, rows: Array, tokens: Sequence[int]) -> Array:
        """[operators + 1 + objects]: the distribution behind START and the tokens."""
        y, missing = self.inputs(rows, tokens)
        hidden = np.where(np.tri(len(y), dtype=bool), 0.0, -np.inf)
        bias = np.concatenate([np.zeros((len(y), len(rows))), hidden], 1)
        for layer in range(self.shape.decoder_layers):
            block = f"decoder.block.{layer}"
            _, before_k, before_v = self.split(self.linear(f"{block}.attention", rows))
            q, k, v = self.split(self.linear(f"{block}.attention", self.norm(f"{block}.norm1", y)))
            k, v = np.concatenate([before_k, k], 1), np.concatenate([before_v, v], 1)
            y = self.attend(block, y, q, k, v, bias)
        h = self.norm("decoder.norm", y[-1:])
        operators, objects = len(self.counts.operators) + 1, len(rows) - 1
        if not missing:
            return np.concatenate([softmax(self.linear("choose", h)[0]), np.zeros(objects)])
        scores = self.linear("key", rows[:-1]) @ self.linear("query", h)[0] / np.sqrt(self.shape.width)
        return np.concatenate([np.zeros(operators), softmax(scores)])
