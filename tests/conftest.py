"""Fixtures that tests in several folders share."""

import signal
from collections.abc import Iterator

import pytest

from oclgen.support.cluster import RayCluster, joined
from tests.nodes import Nodes, started


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell starts what it runs in the background with SIGINT ignored, and all that is started from there inherits
    it. The tests send that signal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A Ray cluster of several nodes, which this process has joined."""
    with started() as found, joined(found.address):
        yield found


@pytest.fixture
def cluster(nodes: Nodes) -> RayCluster:
    """The cluster with all its nodes."""
    nodes.complete()
    return RayCluster()
