"""The inside of a job's process: tied to the server, bounded, then simply `oclgen solve` (or a drawing).

Started as `python -m oclgen.serve.jobs.worker PARENT MEMORY VERB ARGUMENT...` in a folder of its own.
"""

import os
import runpy
import sys

from oclgen.support.processes import die_with_parent, limit_memory

NICENESS = 5
"""Planning yields to the server, which needs little but needs it at once."""


def main(parent: str, memory: str, verb: str, *arguments: str) -> None:
    die_with_parent(int(parent))
    limit_memory(int(memory))
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if verb == "picture":
        from oclgen.serve.jobs.picture import draw_folder

        draw_folder()
    else:
        sys.argv = ["oclgen", verb, *arguments]
        runpy.run_module("oclgen.__main__", run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
