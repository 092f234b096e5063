"""With what something was made: the revision of this package and the versions of the packages it uses."""

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from oclgen import __version__

PACKAGE = Path(__file__).parent.parent


@cache
def revision() -> str:
    """The commit of the checkout this package lies in, marked where the package differs from it; or the release."""
    commit = git("rev-parse", "--short=12", "HEAD")
    if not commit:
        return f"release {__version__}"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", str(PACKAGE))
    return f"{commit} with local changes" if changed else commit


def git(*arguments: str) -> str:
    """What git says about the checkout, empty where there is none."""
    try:
        done = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def versions(*packages: str) -> dict[str, str]:
    """Of Python, this package, and those of `packages` that are installed."""
    found = {"python": platform.python_version(), "oclgen": __version__}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
