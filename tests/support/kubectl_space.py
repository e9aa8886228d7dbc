"""A namespace of the tests' own on the simulated cluster, with a Deployment to query and to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.clusters import RealCluster, namespace

SPACE = "changed"
IN = ("-n", SPACE)
WEB = "deployment/web"


@contextmanager
def web_in_a_space(cluster: RealCluster) -> Iterator[RealCluster]:
    """Add a Deployment without replicas in ``SPACE`` to the cluster, as long as the block lasts."""
    with namespace(cluster, SPACE):
        cluster.kubectl(*IN, "create", "deployment", "web", "--image=web:1", "--replicas=0")
        yield cluster


def field(cluster: RealCluster, what: str, path: str) -> str:
    return cluster.kubectl("get", *IN, what, "-o", f"jsonpath={path}")
