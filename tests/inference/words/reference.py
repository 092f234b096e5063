"""Both networks written down once more, in the plainest torch, as an oracle: one sequence, no cache, float64."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from oclgen.checkpoint import NORM_EPSILON, Checkpoint
from oclgen.encoding.vocabulary import ACTIONS
from oclgen.inference.engine import FloatArray, IntArray


class Reference:
    """A checkpoint's network."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.settings = checkpoint.settings
        self.tensors = {name: torch.tensor(array, dtype=torch.float64) for name, array in checkpoint.weights.items()}

    def policy(self, prompt: IntArray, plan: IntArray) -> FloatArray:
        """Next-token probabilities after `<actions>` and after each plan token, [1 + plan, vocabulary]."""
        logits = self.decoded(prompt, plan) @ self.tensors["token.weight"].T
        return logits.softmax(-1).float().numpy()

    def decoded(self, prompt: IntArray, plan: IntArray) -> Tensor:
        """The last rows of a decoder: for `<actions>` and for each plan token."""
        tokens = torch.cat([torch.tensor([ACTIONS]), torch.tensor(plan, dtype=torch.long)])
        rows = self.prompt(prompt)
        length = len(rows)
        places = torch.arange(len(tokens)) + length
        x = self.tensors["token.weight"][tokens] + self.tensors["position.weight"][places]
        x = torch.cat([rows, x])
        mask = torch.ones(len(x), len(x), dtype=torch.bool).tril()
        for layer in range(self.settings.layers):
            name = f"block.{layer}"
            x = x + self.attention(name, self.norm(f"{name}.norm1", x), mask)
            x = x + self.feed_forward(name, self.norm(f"{name}.norm2", x), "tanh")
        return self.norm("norm", x[length:])

    def heuristic(self, prompt: IntArray) -> FloatArray:
        x = self.norm("embedding_norm", self.prompt(prompt))
        mask = torch.ones(len(x), len(x), dtype=torch.bool)
        for layer in range(self.settings.layers):
            name = f"block.{layer}"
            x = self.norm(f"{name}.norm1", x + self.attention(name, x, mask))
            x = self.norm(f"{name}.norm2", x + self.feed_forward(name, x, "none"))
        logits = self.linear("classifier", torch.tanh(self.linear("pooler", x[0])))
        return logits.softmax(-1).float().numpy()

    def prompt(self, prompt: IntArray) -> Tensor:
        ids = torch.tensor(prompt, dtype=torch.long)
        return self.tensors["token.weight"][ids[:, 0]] + self.tensors["position.weight"][: len(ids)]

    def attention(self, name: str, x: Tensor, mask: Tensor) -> Tensor:
        heads = self.settings.heads
        query, key, value = (
            part.view(len(x), heads, -1).transpose(0, 1) for part in self.linear(f"{name}.attention", x).chunk(3, -1)
        )
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        mixed = scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value
        return self.linear(f"{name}.projection", mixed.transpose(0, 1).flatten(1))

    def feed_forward(self, name: str, x: Tensor, approximate: str) -> Tensor:
        return self.linear(f"{name}.down", F.gelu(self.linear(f"{name}.up", x), approximate=approximate))

    def linear(self, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return F.layer_norm(x, (x.shape[-1],), weight, bias, NORM_EPSILON[self.settings.network])
