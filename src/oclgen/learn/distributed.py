"""One process or many: `torchrun` and `accelerate launch` say in the environment which one this is.

Each process computes on its share of a batch; gradients and measurements are sums over all of them, so that
the number of processes changes the speed and nothing else. Paper: Appendix "Training Details" (32 GPUs).
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]

from oclgen.errors import InputError, OclgenError

POLL_SECONDS = 0.2

Share = tuple[int, int]
"""Share i of n of a batch."""


class ProcessLost(OclgenError):
    """Another process of the run was killed or cannot be reached."""


@dataclass(frozen=True, slots=True)
class World:
    """This process among all; rank 0 writes the files and talks to the user."""

    rank: int
    size: int
    device: torch.device
    store: Any = None  # torch's store, for messages beside the sums

    def shares(self, processes: int) -> list[Share]:
        """Which shares of a batch this process computes, where a batch is cut for so many processes.

        Fewer processes compute several shares one after the other, in the memory of one; more get smaller shares.
        """
        rounds = -(-processes // self.size)
        return [(self.rank + turn * self.size, rounds * self.size) for turn in range(rounds)]

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.size > 1:
            try:
                dist.all_reduce(values)
            except RuntimeError as error:
                raise self.lost(error) from None
        return values

    def lost(self, error: RuntimeError) -> ProcessLost:
        reason = str(error).strip().partition("\n")[0][-200:]
        return ProcessLost(f"process {self.rank} of {self.size} lost the connection to another one ({reason})")

    def first(self, make: Callable[[], object]) -> None:
        """Rank 0 makes something while the others wait, however long that takes."""
        if self.rank == 0:
            make()
        if self.store is None:
            return
        try:
            key = f"made/{self.store.add(f'asked/{self.rank}', 1)}"
            if self.rank == 0:
                self.store.set(key, "yes")
            while not self.store.check([key]):
                time.sleep(POLL_SECONDS)
        except RuntimeError as error:
            raise self.lost(error) from None

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum gradients in one message; a process with an empty share adds nothing."""
        if self.size == 1:
            return
        members = list(parameters)
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in members]
        flat = self.sum(torch.cat([part.flatten() for part in parts]))
        for parameter, part in zip(members, torch.split(flat, [p.numel() for p in members]), strict=True):
            parameter.grad = part.view_as(parameter)


@contextmanager
def join_world(device: str, patience: float) -> Iterator[World]:
    """Connect to the other processes, if any. One that does not answer for `patience` seconds counts as lost."""
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    place = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if size == 1:
        yield World(0, 1, place)
        return
    backend, wait = "nccl" if place.type == "cuda" else "gloo", timedelta(seconds=patience)
    store, rank, size = next(iter(rendezvous("env://", rank, size, timeout=wait)))
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=wait)
    try:
        yield World(rank, size, place, PrefixStore("oclgen", store))
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
