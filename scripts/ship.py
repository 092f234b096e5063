"""python scripts/ship.py CHECKPOINT TARGET: a copy of a checkpoint with weights in float16."""

import sys
from pathlib import Path

from oclgen.learn.export import ship

checkpoint, target = map(Path, sys.argv[1:])
ship(checkpoint, target)
print(target, f"{(target / 'weights.safetensors').stat().st_size / 1e6:.1f} MB")
