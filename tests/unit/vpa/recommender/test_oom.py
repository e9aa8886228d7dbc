"""Kills and evictions for want of memory, as changes of pods and events show them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Event, Pod
from podling.client.base import Key
from podling.kubelet.eviction.eviction_ranking import ContainerUse, PodUse, explain
from podling.kubelet.node.node_pressure import Observation, Threshold
from podling.machinery.encoding import codec
from podling.sim.loop import EPOCH
from podling_vpa.recommender.oom import Oom, ooms_between, ooms_of_eviction

AT = "2026-01-01T00:00:00Z"
KILLED = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "startedAt": AT, "finishedAt": AT}}
FAILED = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": AT, "finishedAt": AT}}
RUNNING = {"running": {"startedAt": AT}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def pod(state: Any, last: Any = None, restarts: int = 0, memory: str = "1k") -> Pod:
    status = {"name": "app", "image": "a", "imageID": "a", "ready": False, "restartCount": restarts}
    container = {"name": "app", "image": "a", "resources": {"requests": {"memory": memory}}}
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [container]},
        "status": {"containerStatuses": [{**status, "state": state, "lastState": last or {}}]},
    }
    return codec.from_plain(plain, Pod)


@pytest.mark.parametrize(
    ("old", "new", "memory"),
    [
        (pod(RUNNING, memory="2k"), pod(KILLED), 1000),
        (pod(KILLED), pod(KILLED), None),
        (pod(KILLED), pod(KILLED, restarts=1), 1000),
        (pod(RUNNING, memory="2k"), pod(RUNNING, KILLED, 1), 2000),
        (pod(WAITING), pod(RUNNING, KILLED, 1), None),
        (pod(RUNNING, KILLED, 1), pod(RUNNING, KILLED, 1), None),
        (pod(RUNNING), pod(FAILED), None),
        (pod(RUNNING), pod(RUNNING, FAILED, 1), None),
    ],
    ids=[
        "killed",
        "seen before",
        "killed again",
        "restarted at once: the resources before",
        "restarted after a back-off: seen before",
        "unchanged",
        "failed otherwise",
        "restarted after another failure",
    ],
)
def test_kills_are_seen_once(old: Pod, new: Pod, memory: int | None) -> None:
    expected = [] if memory is None else [Oom(Key("default", "web"), "app", EPOCH, memory)]
    assert ooms_between(old, new) == expected


def eviction(names: str, uses: str, resources: str, reason: str = "Evicted", kind: str = "Pod") -> Event:
    annotations = {
        "offending_containers": names,
        "offending_containers_usage": uses,
        "starved_resource": resources,
    }
    plain = {
        "metadata": {
            "name": "e",
            "namespace": "default",
            "creationTimestamp": AT,
            "annotations": annotations,
        },
        "reason": reason,
        "involvedObject": {"kind": kind, "namespace": "default", "name": "web"},
    }
    return codec.from_plain(plain, Event)


def test_kubelet_says_which_container_it_evicted_a_pod_for() -> None:
    use = PodUse(pod(RUNNING), (ContainerUse("app", memory=2 << 20),))
    why = explain(use, Threshold("memory.available", "1Gi"), Observation(0, 2 << 30))
    event = eviction("", "", "")
    said = structs.replace(event, metadata=structs.replace(event.metadata, annotations=why.annotations))
    assert [(found.container, found.memory) for found in ooms_of_eviction(said)] == [("app", 2 << 20)]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (eviction("a,b", "1024Ki,2k", "memory,memory"), [("a", 1024 * 1024), ("b", 2000)]),
        (eviction("a,b", "1k,2k", "memory,ephemeral-storage"), [("a", 1000)]),
        (eviction("a,b", "1k,bad", "memory,memory"), [("a", 1000)]),
        (eviction("a,b", "1k", "memory,memory"), []),
        (eviction("a", "1k", "memory", reason="Killing"), []),
        (eviction("a", "1k", "memory", kind="Node"), []),
    ],
)
def test_evictions_for_memory_name_containers(event: Event, expected: list[tuple[str, int]]) -> None:
    assert [(each.container, each.memory) for each in ooms_of_eviction(event)] == expected
