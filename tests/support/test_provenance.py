from pathlib import Path

import pytest

from oclgen import __version__
from oclgen.support import provenance


@pytest.fixture(autouse=True)
def fresh() -> None:
    provenance.revision.cache_clear()


def test_a_revision_is_a_commit_marked_where_the_package_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"rev-parse": "0123456789ab", "status": " M file"}
    monkeypatch.setattr(provenance, "git", lambda verb, *_: answers[verb])
    assert provenance.revision() == "0123456789ab with local changes"
    provenance.revision.cache_clear()
    answers["status"] = ""
    assert provenance.revision() == "0123456789ab"
    provenance.revision.cache_clear()


def test_outside_a_checkout_the_revision_is_the_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.revision() == f"release {__version__}"
    provenance.revision.cache_clear()


def test_versions_leave_out_what_is_not_installed() -> None:
    assert set(provenance.versions("numpy", "no-such-package")) == {"python", "oclgen", "numpy"}
