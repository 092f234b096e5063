"""python scripts/ship.py POLICY HEURISTIC MODEL: two checkpoints as one model folder, weights in float16."""

import sys
from pathlib import Path

from oclgen.learn.export import ship

policy, heuristic, model = map(Path, sys.argv[1:])
for kind, checkpoint in (("policy", policy), ("heuristic", heuristic)):
    ship(checkpoint, model / kind)
    print(model / kind, f"{(model / kind / 'weights.safetensors').stat().st_size / 1e6:.1f} MB")
