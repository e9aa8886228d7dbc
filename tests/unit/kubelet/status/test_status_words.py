"""The STATUS column of ``kubectl get pods`` in every situation of a pod's life on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.apiserver.kinds.pod import pod_table
from podling.kubelet.status.status import Verdict
from podling.runtime.sim import ImageScript, Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

IMAGES = {
    "docker.io/library/slow:1": ImageScript(pull_seconds=20),
    "docker.io/library/nowhere:1": ImageScript(missing=True),
    "docker.io/library/rooted:1": ImageScript(user="0"),
}
Plain = dict[str, Any]


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path, Scenario(images=IMAGES)) as found:
        yield found


def app(name: str = "app", image: str = "app:1", **more: Any) -> Plain:
    return {"name": name, "image": image, **more}


def one(image: str = "app:1", **more: Any) -> list[Plain]:
    return [app(image=image, **more)]


def life(*runs: Plain, **more: Any) -> Plain:
    return {"runs": list(runs), **more}


FAILS = life({"seconds": 1, "exitCode": 1})
ENDS = life({"seconds": 1})
OUT_OF_MEMORY = life({"seconds": 1, "outOfMemory": True})
NEVER = {"restartPolicy": "Never"}
NO_ANSWER: Plain = {"probes": [{"success": False}]}
PROBE = {"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 100}
SIDECAR = app("s", restartPolicy="Always")


def init(*containers: Plain, **more: Any) -> Plain:
    return {"initContainers": list(containers), **more}


def scripts(**of: Plain) -> Plain:
    return {"scripts": of}


LIVES: list[tuple[str, Plain, float, str]] = [
    ("bound to nobody", {"nodeName": ""}, 1, "0/1 Pending 0"),
    ("gated", {"nodeName": "", "schedulingGates": [{"name": "g"}]}, 1, "0/1 SchedulingGated 0"),
    ("image on its way", {"containers": one("slow:1")}, 1, "0/1 ContainerCreating 0"),
    ("running", {}, 1, "1/1 Running 0"),
    (
        "running, not ready",
        {"containers": one(readinessProbe=PROBE), "script": NO_ANSWER},
        5,
        "0/1 Running 0",
    ),
    (
        "running, not started",
        {"containers": one(startupProbe=PROBE), "script": NO_ANSWER},
        5,
        "0/1 Running 0",
    ),
    ("gate not met", {"readinessGates": [{"conditionType": "x.io/y"}]}, 1, "1/1 Running 0"),
    ("ended well", {"script": ENDS, **NEVER}, 5, "0/1 Completed 0"),
    ("ended badly", {"script": FAILS, **NEVER}, 5, "0/1 Error 0"),
    ("out of memory", {"script": OUT_OF_MEMORY, **NEVER}, 5, "0/1 OOMKilled 0"),
    ("restarted once", {"script": life({"seconds": 1, "exitCode": 1}, {})}, 5, "1/1 Running 1 (4s ago)"),
    ("crash loop", {"script": FAILS}, 5, "0/1 CrashLoopBackOff 1 (3s ago)"),
    ("crash loop of a good end", {"script": ENDS}, 5, "0/1 CrashLoopBackOff 1 (3s ago)"),
    ("crash loop, running again", {"script": life(*[{"seconds": 1}] * 2, {})}, 15, "1/1 Running 2 (13s ago)"),
    ("image missing", {"containers": one("nowhere:1")}, 0.5, "0/1 ErrImagePull 0"),
    ("image missing for long", {"containers": one("nowhere:1")}, 5, "0/1 ImagePullBackOff 0"),
    (
        "image not to be pulled",
        {"containers": one("nowhere:1", imagePullPolicy="Never")},
        5,
        "0/1 ErrImageNeverPull 0",
    ),
    ("no image at all", {"containers": one("A B")}, 5, "0/1 InvalidImageName 0"),
    (
        "reference missing",
        {"containers": one(envFrom=[{"configMapRef": {"name": "none"}}])},
        5,
        "0/1 CreateContainerConfigError 0",
    ),
    (
        "root where none may be",
        {"containers": one("rooted:1", securityContext={"runAsNonRoot": True})},
        5,
        "0/1 CreateContainerConfigError 0",
    ),
    ("cannot be made", {"script": {"createError": "no"}}, 5, "0/1 CreateContainerError 0"),
    ("cannot be started", {"script": {"startError": "no"}}, 5, "0/1 CrashLoopBackOff 1 (5s ago)"),
    ("cannot be started, and that was it", {"script": {"startError": "no"}, **NEVER}, 5, "0/1 StartError 0"),
    (
        "first hook failed",
        {
            "containers": one(lifecycle={"postStart": {"exec": {"command": ["no"]}}}),
            "script": {"exec": [{"exitCode": 1}], "stopSeconds": 2},
        },
        3,
        "0/1 PostStartHookError 0",
    ),
    ("volume missing", {"volumes": [{"name": "v", "secret": {"secretName": "none"}}]}, 1, "1/1 Running 0"),
    (
        "mounted volume missing",
        {
            "containers": one(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            "volumes": [{"name": "v", "secret": {"secretName": "none"}}],
        },
        5,
        "0/1 ContainerCreating 0",
    ),
    ("first init container runs", init(app("i"), app("j")), 5, "0/1 Init:0/2 0"),
    ("second init container runs", init(app("i"), app("j"), **scripts(i=ENDS)), 5, "0/1 Init:1/2 0"),
    ("init container failed", init(app("i"), **scripts(i=FAILS), **NEVER), 5, "0/1 Init:Error 0"),
    (
        "init container out of memory",
        init(app("i"), **scripts(i=OUT_OF_MEMORY), **NEVER),
        5,
        "0/1 Init:OOMKilled 0",
    ),
    ("init crash loop", init(app("i"), **scripts(i=FAILS)), 5, "0/1 Init:CrashLoopBackOff 1 (3s ago)"),
    ("init image missing", init(app("i", "nowhere:1")), 0.5, "0/1 Init:ErrImagePull 0"),
    ("init image missing for long", init(app("i", "nowhere:1")), 5, "0/1 Init:ImagePullBackOff 0"),
    (
        "initialized, image on its way",
        init(app("i"), containers=one("slow:1"), **scripts(i=ENDS)),
        5,
        "0/1 PodInitializing 0",
    ),
    (
        "sidecar starts",
        init(app("s", restartPolicy="Always", startupProbe=PROBE), **scripts(s=NO_ANSWER)),
        5,
        "0/2 Init:0/1 0",
    ),
    ("sidecar runs", init(SIDECAR), 5, "2/2 Running 0"),
    ("sidecar restarted", init(SIDECAR, **scripts(s=life({"seconds": 1}, {}))), 5, "2/2 Running 1 (4s ago)"),
    ("sidecar crashes", init(SIDECAR, **scripts(s=FAILS)), 5, "1/2 Init:CrashLoopBackOff 1 (3s ago)"),
    ("sidecar of a finished pod", init(SIDECAR, **scripts(app=ENDS), **NEVER), 5, "0/2 Completed 0"),
    (
        "one done, one at work",
        {"containers": [app("a"), app("b")], **scripts(a=ENDS), **NEVER},
        5,
        "1/2 NotReady 0",
    ),
    (
        "one failed, one at work",
        {"containers": [app("a"), app("b")], **scripts(a=FAILS), **NEVER},
        5,
        "1/2 Error 0",
    ),
    (
        "one done, one failed",
        {"containers": [app("a"), app("b")], **scripts(a=ENDS, b=FAILS), **NEVER},
        5,
        "0/2 Error 0",
    ),
    ("too late", {"activeDeadlineSeconds": 3}, 5, "0/1 Error 0"),
    (
        "too late to begin",
        {"activeDeadlineSeconds": 3, "containers": one("nowhere:1")},
        5,
        "0/1 ContainerStatusUnknown 0",
    ),
    (
        "too large",
        {"containers": one(resources={"requests": {"cpu": "64"}})},
        1,
        "0/1 OutOfcpu 0",
    ),
    ("for another node", {"nodeSelector": {"a": "b"}}, 1, "0/1 NodeAffinity 0"),
    ("for another system", {"os": {"name": "windows"}}, 1, "0/1 PodOSNotSupported 0"),
    ("sandbox impossible", {"setHostnameAsFQDN": True, "subdomain": "s" * 63}, 5, "0/1 ContainerCreating 0"),
    (
        "all start over",
        {
            "containers": [
                app(
                    "a",
                    restartPolicy="Never",
                    restartPolicyRules=[
                        {
                            "action": "RestartAllContainers",
                            "exitCodes": {"operator": "In", "values": [1]},
                        }
                    ],
                ),
                app("b"),
            ],
            **scripts(a=life({"seconds": 1, "exitCode": 1}, {}), b={"startSeconds": 3}),
        },
        5,
        "1/2 RestartingAllContainers 2",
    ),
]


async def printed(node: SimNode) -> str:
    found = await node.get()
    _, ready, status, restarts, *_ = pod_table.row(found, clock.now())
    return f"{ready} {status} {restarts}"


@pytest.mark.parametrize(
    ("spec", "seconds", "row"), [case[1:] for case in LIVES], ids=[case[0] for case in LIVES]
)
async def test_row_shows_the_situation(node: SimNode, spec: Plain, seconds: float, row: str) -> None:
    await node.create(pod(**spec))
    await node.pass_time(seconds)
    assert await printed(node) == row


async def deleted(node: SimNode) -> None:
    await node.delete()
    await node.pass_time(1)


async def deleted_but_kept(node: SimNode) -> None:
    """Another controller's finalizer keeps an ended pod's object."""
    found = await node.get()
    metadata = structs.replace(found.metadata, finalizers=("x.io/kept",))
    await node.client.update(structs.replace(found, metadata=metadata))
    await deleted(node)


async def evicted(node: SimNode) -> None:
    uid = (await node.get()).metadata.uid or ""
    node.kubelet.kill_pod(uid, Verdict("Evicted", "The node was low on resource: memory. "), 1)
    await node.pass_time(3)


async def lost(node: SimNode) -> None:
    """Its node is marked as lost while the pod is being deleted; today only an operator does that."""
    await node.stop()
    await node.delete()
    found = await node.get()
    status = structs.replace(found.status, reason="NodeLost")
    await node.client.update(structs.replace(found, status=status), subresource="status")


async def vanished(node: SimNode) -> None:
    """A container of which the runtime has no trace, not even of its end."""
    await node.stop()
    for sandbox in await node.runtime.list_sandboxes():
        await node.runtime.remove_sandbox(sandbox.id)
    await node.start()
    await node.pass_time(1)


async def power_lost(node: SimNode) -> None:
    await node.stop()
    node.runtime.lose_power()
    await node.start()
    await node.pass_time(1)


STUBBORN = {"script": {"ignoresSignals": True}}


@pytest.mark.parametrize(
    ("spec", "happening", "row"),
    [
        (STUBBORN, deleted, "1/1 Terminating 0"),
        ({"containers": one("slow:1")}, deleted, None),
        ({"script": ENDS, **NEVER}, deleted_but_kept, "0/1 Completed 0"),
        ({}, evicted, "0/1 Error 0"),
        ({"containers": one("slow:1")}, evicted, "0/1 ContainerStatusUnknown 0"),
        (STUBBORN, lost, "1/1 Unknown 0"),
        (NEVER, vanished, "0/1 ContainerStatusUnknown 1"),
        ({}, vanished, "1/1 Running 1"),
        ({}, power_lost, "1/1 Running 1 (1s ago)"),
        (NEVER, power_lost, "0/1 Unknown 0"),
        ({**NEVER, "script": ENDS}, power_lost, "0/1 Completed 0"),
    ],
)
async def test_row_follows_an_event(
    node: SimNode, spec: Plain, happening: Callable[[SimNode], Awaitable[None]], row: str | None
) -> None:
    await node.create(pod(**spec))
    await node.pass_time(5)
    await happening(node)
    if row is None:
        assert not await node.exists()
    else:
        assert await printed(node) == row
