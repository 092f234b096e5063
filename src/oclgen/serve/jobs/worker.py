"""The inside of a job's process: tied to the server, bounded, then simply `oclgen solve` (or a drawing).

Started as `python -m oclgen.serve.jobs.worker PARENT MEMORY MODELS VERB ARGUMENT...` in a folder of its own. MODELS is
a JSON list of the server's own model folders. Whether one fits the job's domain is found out here, because reading a
domain takes time and memory that count as the job's.
"""

import json
import os
import runpy
import sys
from pathlib import Path

from oclgen.support.processes import die_with_parent, limit_memory

NICENESS = 5
"""Planning yields to the server, which needs little but needs it at once."""


def main(parent: str, memory: str, models: str, verb: str, *arguments: str) -> None:
    die_with_parent(int(parent))
    limit_memory(int(memory))
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if verb == "picture":
        from oclgen.serve.jobs.picture import draw_folder

        draw_folder()
    else:
        sys.argv = ["oclgen", verb, *arguments, *model_option(json.loads(models))]
        runpy.run_module("oclgen.__main__", run_name="__main__")


def model_option(folders: list[str]) -> list[str]:
    """`--model` where one of the server's own models was made for the job's domain."""
    if not folders:
        return []
    from oclgen.errors import OclgenError
    from oclgen.model_folders import own_model

    try:
        model = own_model(map(Path, folders), Path("domain.pddl"))
    except OclgenError as error:  # the model has gone since the server began
        print(f"oclgen: {error}", file=sys.stderr)
        sys.exit(int(error.exit_code))
    return [] if model is None else ["--model", str(model)]


if __name__ == "__main__":
    main(*sys.argv[1:])
