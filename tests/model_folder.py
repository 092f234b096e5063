"""Model folders with random weights, for tests that need a model but not a good one, in environments without torch."""

import json
from dataclasses import asdict
from pathlib import Path

from safetensors.numpy import save_file

from oclgen.checkpoint import Checkpoint
from oclgen.domains import catalog
from oclgen.encoding.vocabulary import build_vocabulary
from oclgen.pddl.reading.domain import read_domain
from tests.inference.words.models import random_checkpoint


def write_random_model(folder: Path, domain: str) -> Path:
    """`policy/` and `heuristic/` for a catalogued domain."""
    spec = catalog.load(domain)
    vocabulary = build_vocabulary(read_domain(spec.domain_text), spec.defaults.encoding.as_table())
    for kind in ("policy", "heuristic"):
        checkpoint = random_checkpoint(kind, vocabulary=vocabulary, max_prompt=2000)
        write_checkpoint(folder / kind, checkpoint, spec.domain_text)
    return folder


def write_checkpoint(folder: Path, checkpoint: Checkpoint, domain_text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "domain.pddl").write_text(domain_text)
    (folder / "vocabulary.json").write_text(checkpoint.vocabulary.to_json())
    (folder / "settings.json").write_text(json.dumps({"format": 1, **asdict(checkpoint.settings)}))
    save_file(dict(checkpoint.weights), folder / "weights.safetensors")
