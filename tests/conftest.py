"""Fixtures that tests in several folders share."""

from collections.abc import Iterator

import pytest

from oclgen.support.cluster import RayCluster, joined
from tests.nodes import Nodes, started


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
