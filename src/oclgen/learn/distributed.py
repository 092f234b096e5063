"""One process or many: `torchrun` and `accelerate launch` say in the environment which one this is.

Each process computes on its share of a batch; gradients and measurements are sums over all of them, so that
the number of processes changes the speed and nothing else. Paper: Appendix "Training Details" (32 GPUs).
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from oclgen.errors import InputError


@dataclass(frozen=True, slots=True)
class World:
    """This process among all; rank 0 writes the files and talks to the user."""

    rank: int
    size: int
    device: torch.device

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Add up gradients in one message; a process whose share was empty adds nothing."""
        if self.size == 1:
            return
        members = list(parameters)
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in members]
        flat = self.sum(torch.cat([part.flatten() for part in parts]))
        for parameter, part in zip(members, torch.split(flat, [p.numel() for p in members]), strict=True):
            parameter.grad = part.view_as(parameter)


@contextmanager
def join_world(device: str) -> Iterator[World]:
    """Find the other processes, if there are any."""
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    place = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if size == 1:
        yield World(0, 1, place)
        return
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo", rank=rank, world_size=size)
    try:
        yield World(rank, size, place)
    finally:
        dist.destroy_process_group()


def choose_device(name: str, local_rank: int) -> torch.device:
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise InputError("run.device is cuda, but torch finds no GPU here")
    if name == "cpu" or not available:
        return torch.device("cpu")
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)
