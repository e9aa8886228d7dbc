"""Pods that end at once are replaced at the rate of Kubernetes' controllers, and time goes on."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from podling.api.apps_v1 import ReplicaSet, StatefulSet
from podling.api.core_v1 import Pod, ReplicationController
from podling.controllers.workloads.replacement_rate import (
    REPLACEMENTS_BURST,
    REPLACEMENTS_PER_SECOND,
    Bucket,
    take,
)
from podling.sim.simulated_cluster import simulated_cluster

SECONDS = 4
LABELS = {"app": "web"}


@pytest.mark.parametrize(
    ("tokens", "passed", "left", "seconds"),
    [
        (30.0, 0.0, 29.0, 0.0),
        (1.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, -1.0, 0.05),
        (-9.0, 0.0, -10.0, 0.5),
        (-9.0, 0.5, 0.0, 0.0),
        (0.0, 3600.0, 29.0, 0.0),
        (5.0, -10.0, 4.0, 0.0),
    ],
    ids=["full", "last", "empty", "others wait", "grown", "no more than the burst", "clock behind"],
)
def test_bucket_gives_tokens_at_its_rate(tokens: float, passed: float, left: float, seconds: float) -> None:
    bucket, wait = take(Bucket(tokens, 100.0), 100.0 + passed)
    assert bucket.tokens == pytest.approx(left)
    assert wait == pytest.approx(seconds)


def owner(kind: type[Any]) -> Any:
    """Return an owner of one pod, which its node's kubelet rejects."""
    containers = [{"name": "main", "image": "web"}]
    pod = {"nodeName": "node-1", "nodeSelector": {"no": "such"}, "containers": containers}
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    selector = LABELS if kind is ReplicationController else {"matchLabels": LABELS}
    spec = {"selector": selector, "template": template}
    return convert({"metadata": {"name": "web", "namespace": "default"}, "spec": spec}, kind)


@pytest.mark.parametrize("kind", [ReplicaSet, ReplicationController])
async def test_rejected_pods_of_a_replica_set_are_replaced_at_a_limited_rate(kind: type[Any]) -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await cluster.advance(seconds=5)
        await cluster.client.create(owner(kind))
        await cluster.advance(seconds=SECONDS)
        pods = (await cluster.client.list(Pod, "default")).items
        most = 1 + REPLACEMENTS_BURST + REPLACEMENTS_PER_SECOND * SECONDS
        assert most - REPLACEMENTS_PER_SECOND <= len(pods) <= most + 1
        assert {pod.status.reason for pod in pods[:-1]} <= {"NodeAffinity", ""}


async def test_rejected_pod_of_a_stateful_set_is_recreated_at_a_limited_rate() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await cluster.advance(seconds=5)
        seen: set[str] = set()
        await cluster.client.create(owner(StatefulSet))
        for _ in range(SECONDS * 20):
            await cluster.advance(seconds=0.05)
            seen |= {pod.metadata.uid or "" for pod in (await cluster.client.list(Pod, "default")).items}
        most = 1 + REPLACEMENTS_BURST + REPLACEMENTS_PER_SECOND * SECONDS
        assert REPLACEMENTS_PER_SECOND * (SECONDS - 1) <= len(seen) <= most
