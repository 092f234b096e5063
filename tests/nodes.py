"""A Ray cluster of several nodes on this machine, for tests: a node can be killed in the middle of work."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from oclgen.support.cluster import RayCluster

COUNT = 2
"""Nodes that work, with one core each; the driver's own has none."""
STARTS = 3
"""Attempts to start a node."""
QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 12}
"""So that a dead node is noticed within seconds, and a live one on a busy machine is not taken for dead."""
TOKEN = uuid.uuid4().hex
"""Of this process: Ray reads it once."""


class Nodes:
    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": QUICK}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.working: dict[str, Any] = {}
        self.complete()

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def complete(self) -> None:
        """Put new nodes in the place of killed ones."""
        while len(self.working) < COUNT:
            node = self.new_node()
            self.working[node.node_id] = node

    def new_node(self) -> Any:
        """Ray gives a node 30 s to start, which a busy machine may need."""
        for _ in range(STARTS - 1):
            with suppress(Exception):
                return self.cluster.add_node(num_cpus=1)
        return self.cluster.add_node(num_cpus=1)

    def kill_first(self, cluster: RayCluster) -> bool:
        """Kill the first node that has finished anything, without farewell, as when a machine loses its power. It has
        more to do at that moment, and others must do that."""
        found = [node for _, node in cluster.finished if node in self.working]
        if len(self.working) < COUNT or not found:
            return False
        self.kill(found[0])
        return True

    def kill(self, node: str) -> None:
        self.cluster.remove_node(self.working.pop(node), allow_graceful=False)


@contextmanager
def started() -> Iterator[Nodes]:
    """With a temporary folder of its own, so that tests neither find nor disturb a cluster of the user's. (Paths of
    sockets are short: no `tmp_path`.)"""
    folder = tempfile.mkdtemp(prefix="oclgen-")
    before = dict(os.environ)
    os.environ.update({"RAY_TMPDIR": folder, "TMPDIR": folder, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN})
    os.environ.update({"RAY_worker_niceness": "0"})
    os.environ.pop("RAY_ADDRESS", None)
    nodes = Nodes()
    try:
        yield nodes
    finally:
        nodes.cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)
