"""Fast Downward as a script: it translates and then becomes the search by `exec`.

It is one process from beginning to end, so there is no driver to start (half the time of a small problem), no
grandchild to lose, and the memory limit and the tie to the parent, both set once, hold for translation and search
alike. It is started without site-packages, which makes it quicker, and finds this package by where it lies itself.
"""

import gc
import os
import sys

TRANSLATE_OUT_OF_MEMORY = 20
TRANSLATE_CRITICAL_ERROR = 30
TRANSLATE_INPUT_ERROR = 31
RESERVE_BYTES = 10_000_000


def translate(arguments: list[str]) -> None:
    """Fast Downward's translator, in this process."""
    gc.disable()  # it makes no cycles worth collecting; looking for them costs a tenth of its time
    from fast_downward.translate import main, options  # type: ignore[import-untyped]

    options.set_options(arguments)
    main.main()


def translate_or_exit(arguments: list[str]) -> None:
    """Turn the translator's exceptions into Fast Downward's exit codes."""
    reserve = bytearray(RESERVE_BYTES)
    try:
        translate(arguments)
    except MemoryError:
        del reserve
        sys.exit(TRANSLATE_OUT_OF_MEMORY)
    except Exception as error:
        if type(error).__name__ == "ParseError":
            print(error)
            sys.exit(TRANSLATE_INPUT_ERROR)
        print(f"{type(error).__name__}: {error}")
        sys.exit(TRANSLATE_CRITICAL_ERROR)


def fast_downward(parent: str, memory: str, build: str, sas_file: str, *arguments: str) -> None:
    """Arguments of the translator, then `--`, then those of the search."""
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 (pathlib is slow to import here)
    from oclgen.support.processes import die_with_parent, limit_memory

    die_with_parent(int(parent))
    limit_memory(int(memory))
    sys.path.insert(0, build)
    split = arguments.index("--")
    translate_or_exit([*arguments[:split], "--sas-file", sas_file])
    sys.stdout.flush()
    become_search(build, sas_file, arguments[split + 1 :])


def become_search(build: str, sas_file: str, arguments: tuple[str, ...]) -> None:
    """Go on as the search. Windows has no `exec` that keeps the process, so there it is a child and this one waits."""
    task = os.open(sas_file, os.O_RDONLY)
    if os.name == "nt":
        import subprocess

        command = [os.path.join(build, "downward.exe"), *arguments]  # noqa: PTH118
        sys.exit(subprocess.run(command, stdin=task, check=False).returncode)
    os.dup2(task, 0)
    binary = os.path.join(build, "downward")  # noqa: PTH118 (pathlib is slow to import here)
    os.execv(binary, [binary, *arguments])


if __name__ == "__main__":
    fast_downward(*sys.argv[1:])
