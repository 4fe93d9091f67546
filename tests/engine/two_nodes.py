"""A real Ray cluster of two nodes, with one processor each, on this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MEMORY = 100 * 2**20
"""Bytes of each node's object store; more than shards and functions of tests need."""

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # Workers and nodes die when a test says so, not because other programs fill or slow down the machine.
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_health_check_timeout_ms": "60000",
}


@contextmanager
def two_nodes() -> Iterator[Any]:
    """Yield a running cluster, and stop it afterwards."""
    os.environ |= _ENVIRONMENT
    from ray.cluster_utils import Cluster

    options = {"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=options)
    try:
        add_node(cluster)
        yield cluster
    finally:
        cluster.shutdown()


def add_node(cluster: Any) -> Any:
    """Add a node and return it once the cluster knows it."""
    node = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
    cluster.wait_for_nodes(timeout=120)
    return node
