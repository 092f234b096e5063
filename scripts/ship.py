"""python scripts/ship.py CHECKPOINT MODEL: a relational checkpoint as a model folder, weights in float16."""

import sys
from pathlib import Path

from oclgen.learn.export import ship

checkpoint, model = map(Path, sys.argv[1:])
ship(checkpoint, model / "relational")
print(model / "relational", f"{(model / 'relational' / 'weights.safetensors').stat().st_size / 1e6:.1f} MB")
