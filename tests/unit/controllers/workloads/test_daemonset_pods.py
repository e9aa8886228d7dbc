"""Pods of DaemonSets as they are created and deleted."""

from __future__ import annotations

from datetime import timedelta

from msgspec import structs

from podling.api.apps_v1 import DaemonSet
from podling.api.core_v1 import Pod
from podling.client.base import Key
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.client.workqueue import WorkQueue
from podling.controllers.children import Children, child_selector
from podling.controllers.workloads.daemonset_pods import DaemonPods, FailureBackoff
from podling.controllers.workloads.daemonset_rules import DaemonOwner, node_of
from podling.testing import ControlPlane
from tests.unit.controllers.workloads.daemonsets import daemon_set


def test_failures_wait_longer_and_longer() -> None:
    backoff, key, now = FailureBackoff(), Key("default", "agent"), 0.0
    waits = []
    for _ in range(12):
        now += backoff.seconds_left(key, "n1", now)
        backoff.failed(key, "n1", now)
        waits.append(backoff.seconds_left(key, "n1", now))
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    assert backoff.seconds_left(key, "n2", now) == 0
    backoff.failed(key, "n1", now + timedelta(hours=1).total_seconds())
    assert backoff.seconds_left(key, "n1", now + 3600) == 1


def annotated(owner: DaemonOwner, pod: Pod) -> Pod:
    annotations = {**pod.metadata.annotations, "example.com/set": owner.metadata.name or ""}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, annotations=annotations))


async def test_new_pods_get_what_their_kind_gives_them(cluster: ControlPlane) -> None:
    client = cluster.client
    informers = InformerFactory(client)
    sets, pods = informers.informer(DaemonSet), informers.informer(Pod)
    children = Children(client, sets, pods, WorkQueue(), child_selector)
    owner = await client.create(daemon_set())
    writes = DaemonPods(client, EventRecorder(client, "test"), children, annotated)
    assert await writes.create(owner, ["node-a", "node-b"], "digest") is None
    found = (await client.list(Pod, "default")).items
    assert sorted(node_of(pod) for pod in found) == ["node-a", "node-b"]
    assert {pod.metadata.annotations["example.com/set"] for pod in found} == {owner.metadata.name}
    assert await writes.delete(owner, [found[0], found[0]]) is None
    assert len((await client.list(Pod, "default")).items) == 1
