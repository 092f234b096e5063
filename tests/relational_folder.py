"""Relational model folders with random weights, for tests that need a model but not a good one, without torch."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from oclgen.domains import catalog
from oclgen.encoding.relational import schema_of
from oclgen.inference.relational.encoded_states import RelationalModel, native_model
from oclgen.pddl.reading.domain import read_domain
from oclgen.relational_checkpoint import RelationalSettings, load_relational, relational_shapes

SIZES: dict[str, Any] = {
    "width": 16,
    "heads": 2,
    "inner": 32,
    "relation": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "max_plan": 60,
    "distances": True,
}


def write_relational_checkpoint(folder: Path, domain_text: str, dtype: Any = np.float32, **changes: Any) -> Path:
    """All relations have weights, large enough that distributions are far from uniform."""
    schema = schema_of(read_domain(domain_text))
    settings = RelationalSettings(**{"relations": schema.all_relations()} | SIZES | changes)
    rng = np.random.default_rng(0)
    weights = {}
    for name, shape in relational_shapes(settings, schema).items():
        centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        weights[name] = rng.normal(centre, 0.3 if len(shape) == 1 else shape[-1] ** -0.5, shape).astype(dtype)
    folder.mkdir(parents=True)
    (folder / "domain.pddl").write_text(domain_text)
    (folder / "settings.json").write_text(json.dumps({"format": 1, **asdict(settings)}))
    save_file(weights, folder / "weights.safetensors")
    return folder


def write_relational_model(folder: Path, domain: str, **changes: Any) -> Path:
    """A model folder for a catalogued domain."""
    write_relational_checkpoint(folder / "relational", catalog.load(domain).domain_text, **changes)
    return folder


def random_relational_model(folder: Path, domain_text: str, threads: int = 1, **changes: Any) -> RelationalModel:
    return native_model(load_relational(write_relational_checkpoint(folder, domain_text, **changes)), threads)
