"""Faults that tests make, and their end. Real threads and sockets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest

from podling.testing.clusters import Cluster, running_cluster
from podling.testing.settings import TestSettings
from tests.support.tested_clusters import WEB, request


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster(TestSettings(nodes=2)) as running:
        yield running


@pytest.mark.parametrize("kind", ["crash", "kubelet", "partition"])
def test_node_with_a_fault_is_not_ready_until_it_is_mended(cluster: Cluster, kind: str) -> None:
    with cluster.fault(kind, node="node-2"):
        cluster.expect("node/node-2", "condition=Ready=Unknown")
        assert cluster.expect("node/node-1")
    cluster.expect("node/node-2")


def test_control_plane_with_a_fault_does_nothing(cluster: Cluster) -> None:
    with cluster.fault("control-plane"):
        cluster.apply(WEB)
        cluster.advance(minutes=5)
        assert cluster.list("pods") == []
    cluster.expect("deploy/web", "condition=Available")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("earthquake", {}, "unknown fault 'earthquake'"),
        ("crash", {}, "there is no node ''"),
        ("crash", {"node": "node-9"}, "there are: node-1, node-2"),
        ("crash", {"node": "node-1", "zone": "a"}, "takes no zone"),
        ("api", {}, "needs the code of an error"),
        ("api", {"code": 503, "path": "/"}, "takes no path"),
    ],
)
def test_impossible_faults_are_refused(
    cluster: Cluster, kind: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message), cluster.fault(kind, **options):
        pytest.fail("the fault was made")


def test_api_fault_decides_requests_of_clients(cluster: Cluster) -> None:
    with cluster.fault("api", verb="list", resource="pods", code=503, times=1):
        with pytest.raises(HTTPError, match="503"):
            request(cluster, "/api/v1/pods")
        assert request(cluster, "/api/v1/nodes")
        assert request(cluster, "/api/v1/pods")
