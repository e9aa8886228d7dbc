"""The report of a failed test. Real threads and sockets."""

from __future__ import annotations

from podling.testing.clusters import running_cluster
from podling.testing.settings import TestSettings
from tests.support.tested_clusters import WEB


def test_description_says_why_pods_are_not_ready() -> None:
    with running_cluster(TestSettings(nodes=0)) as cluster:
        cluster.apply(WEB)
        cluster.advance(minutes=1)
        text = cluster.describe()
    assert "no nodes available to schedule pods" in text
    assert "waiting for a node" in text
    assert "ScalingReplicaSet" in text
    assert "\x1b" not in text
