"""Which engine runs a model: the compiled kernel on `cpu`, torch on `cuda` or `cpu-torch`.

Torch lives in `oclgen.learn` alone, so its engines are looked up by name, and only when they are asked for.
"""

import importlib

from oclgen.checkpoint import Checkpoint
from oclgen.inference.engine import HeuristicEngine, PolicyEngine
from oclgen.inference.relational.encoded_states import RelationalModel, StateEngine, native_model
from oclgen.inference.words.heuristic_engine import NativeHeuristicEngine
from oclgen.inference.words.policy_engine import NativePolicyEngine
from oclgen.relational_checkpoint import RelationalCheckpoint

TORCH_ENGINES = "oclgen.learn.engines.words"
RELATIONAL_TORCH_ENGINE = "oclgen.learn.engines.relational"


def policy_engine(checkpoint: Checkpoint, device: str) -> PolicyEngine:
    if device == "cpu":
        return NativePolicyEngine(checkpoint)
    engine: PolicyEngine = importlib.import_module(TORCH_ENGINES).TorchPolicyEngine(checkpoint, torch_device(device))
    return engine


def heuristic_engine(checkpoint: Checkpoint, device: str) -> HeuristicEngine:
    if device == "cpu":
        return NativeHeuristicEngine(checkpoint)
    torch_engines = importlib.import_module(TORCH_ENGINES)
    engine: HeuristicEngine = torch_engines.TorchHeuristicEngine(checkpoint, torch_device(device))
    return engine


def relational_model(checkpoint: RelationalCheckpoint, device: str, threads: int = 1) -> RelationalModel:
    """`threads` are those of the compiled kernel; torch has its own."""
    if device == "cpu":
        return native_model(checkpoint, threads)
    torch_engines = importlib.import_module(RELATIONAL_TORCH_ENGINE)
    engine: StateEngine = torch_engines.TorchRelationalEngine(checkpoint, torch_device(device))
    return RelationalModel(checkpoint, engine)


def torch_device(device: str) -> str:
    return "cpu" if device == "cpu-torch" else device
