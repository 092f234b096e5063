"""Where and with what a run was made: processor, system, revision."""

import os
import platform
import subprocess
from pathlib import Path


def describe() -> str:
    """`AMD EPYC 7B13, 2 cores, Linux 6.1`."""
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return f"{processor()}, {os.cpu_count() or 1} cores, {system}"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "unknown processor"


def revision() -> str:
    """The commit of the checkout this package lies in, marked where the package differs from it."""
    folder = Path(__file__).parent.parent
    commit = git(folder, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return "not a checkout"
    changed = git(folder, "status", "--porcelain", "--untracked-files=no", "--", str(folder))
    return f"{commit} with local changes" if changed else commit


def git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
