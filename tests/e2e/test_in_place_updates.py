"""Pods of real containers before, during and after an update in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import ContainerStatus, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.typed_kinds import TypedClient
from podling.controllers.endpoints.endpointslice import EndpointSliceController
from podling.kubelet.config import KubeletConfig
from podling.machinery.conditions import find, is_true
from podling.machinery.encoding import codec
from podling.machinery.pods import is_ready
from podling.testing import running
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.daemonset.types import DaemonSet
from podling_kruise.extension import KruiseExtension
from podling_kruise.sidecarset.types import SidecarSet
from podling_kruise.statefulset.types import StatefulSet
from tests.support import oci_node
from tests.support.clone_sets import gate, manifest
from tests.support.images import busybox_archive
from tests.support.real_kubelet import NODE, RealNode, real_node
from tests.support.sidecar_sets import images, sidecar_set
from tests.support.sidecar_sets import pod as new_pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

DEADLINE_SECONDS = 60.0
FIRST, SECOND, ABSENT = "podling.test/web:1", "podling.test/web:2", "podling.test/web:3"
PENDING = "podling.dev/ImageChangePending"


SERVICE = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


def readiness(slices: Sequence[EndpointSlice]) -> list[bool]:
    """Return for each endpoint whether it gets traffic."""
    return [
        bool(endpoint.conditions and endpoint.conditions.ready)
        for each in slices
        for endpoint in each.endpoints
    ]


async def slices_when(node: RealNode, wanted: list[bool]) -> str:
    """Wait until the endpoints are as wanted; return the revision of the list."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            found = await node.client.list(EndpointSlice, "default")
            if readiness(found.items) == wanted:
                return found.resource_version
            await clock.sleep(0.05)


async def readiness_since(node: RealNode, revision: str) -> list[bool]:
    """Return the different states of the only endpoint since a revision, when it gets traffic again."""
    await slices_when(node, [True])
    seen: list[bool] = []
    async with asyncio.timeout(DEADLINE_SECONDS):
        async for event in node.client.watch(EndpointSlice, "default", resource_version=revision):
            (now,) = readiness([event.object])
            if seen[-1:] != [now]:
                seen.append(now)
            if seen[-2:] == [False, True]:
                break
    return seen


def template_of(image: str, name: str = "web", **more: Any) -> dict[str, Any]:
    """Return the template of pods with two containers and a volume that they share."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    containers = [
        {"name": name, "image": used, "command": list(oci_node.SLEEP), "volumeMounts": mounts}
        for name, used in (("main", image), ("beside", FIRST))
    ]
    spec = {
        "nodeName": NODE,
        "automountServiceAccountToken": False,
        "containers": [{**each, "imagePullPolicy": "Never"} for each in containers],
        "volumes": [{"name": "data", "emptyDir": {}}],
        **more,
    }
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def clone_set(image: str) -> CloneSet:
    """Return a CloneSet of one pod."""
    rolling = {"podUpdatePolicy": "InPlaceOnly", "maxUnavailable": 1}
    template = template_of(image)
    plain = manifest("v1beta1", replicas=1, template=template, updateStrategy={"rollingUpdate": rolling})
    return codec.from_plain(plain, CloneSet)


def agent_template(image: str, config: str) -> dict[str, Any]:
    """Return a template whose container ``main`` reads an annotation."""
    made = template_of(image, "agent", tolerations=[{"operator": "Exists"}])
    made["metadata"]["annotations"] = {"app-config": config}
    source = {"fieldRef": {"fieldPath": "metadata.annotations['app-config']"}}
    made["spec"]["containers"][0]["env"] = [{"name": "CONFIG", "valueFrom": source}]
    return made


def sets(image: str) -> list[dict[str, Any]]:
    """Return a workload of one pod of each other kind, named after the pods' label."""
    agents = {
        "selector": {"matchLabels": {"app": "agent"}},
        "template": agent_template(image, "one"),
        "updateStrategy": {"type": "InPlaceIfPossible"},
    }
    template = template_of(image, "db")
    selector = {"matchLabels": {"app": "db"}}
    spec = {
        "replicas": 1,
        "selector": selector,
        "template": template,
        "updateStrategy": {"type": "InPlaceOnly"},
    }
    return [named("StatefulSet", "db", spec), named("DaemonSet", "agent", agents)]


def named(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps.kruise.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


async def the_pod(node: RealNode, image: str, name: str = "web") -> Pod:
    """Wait until the pod is Ready with an image, and return it. ``name`` is its label ``app``."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            pods = (await node.client.list(Pod, "default", label_selector=f"app={name}")).items
            if pods and is_ready(pods[0]) and pods[0].spec.containers[0].image == image:
                return pods[0]
            await clock.sleep(0.05)


def statuses(pod: Pod) -> dict[str, ContainerStatus]:
    return {each.name: each for each in pod.status.container_statuses}


@asynccontextmanager
async def kruise_node(tmp_path: Path) -> AsyncIterator[RealNode]:
    """Run a node of real containers, with both images, and OpenKruise's controllers."""
    extension = KruiseExtension()
    config = KubeletConfig(eviction_hard={}, max_pods=10)
    async with (
        real_node(tmp_path, config, extensions=[extension]) as node,
        running(node.client, *extension.controllers().values(), EndpointSliceController),
    ):
        for tag in (FIRST, SECOND):
            archive = busybox_archive(tmp_path / "image.tar", tag, env={"TAG": tag})
            await node.machine.runtime.images.load(archive)
        yield node


async def test_image_changes_while_everything_else_of_the_pod_stays(tmp_path: Path) -> None:
    async with kruise_node(tmp_path) as node:
        client = TypedClient(node.client)
        await client.create(codec.from_plain(SERVICE, Service))
        await client.create(clone_set(FIRST))
        before = await the_pod(node, FIRST)
        slices = await slices_when(node, [True])
        await node.exec(before, "main", "sh", "-c", "echo kept > /data/file")
        (sandbox,) = await node.machine.runtime.list_sandboxes()
        stream = node.client.watch(Pod, "default", resource_version=before.metadata.resource_version or "")

        await client.patch(CloneSet, "web", {"spec": {"template": template_of(SECOND)}}, "default")
        after = await the_pod(node, SECOND)

        assert (after.metadata.name, after.metadata.uid) == (before.metadata.name, before.metadata.uid)
        assert after.status.pod_ip == before.status.pod_ip
        assert after.spec.node_name == before.spec.node_name
        assert [each.id for each in await node.machine.runtime.list_sandboxes()] == [sandbox.id]
        assert (await node.exec(after, "main", "cat", "/data/file")).out == "kept\n"
        assert (await node.exec(after, "main", "sh", "-c", "echo $TAG")).out == f"{SECOND}\n"
        old, new = statuses(before), statuses(after)
        assert (new["main"].restart_count, new["beside"].restart_count) == (1, 0)
        assert new["main"].image_id != old["main"].image_id
        assert new["beside"].container_id == old["beside"].container_id

        seen: list[tuple[str, str, bool]] = []
        async for event in stream:
            found = gate(event.object)
            assert found is not None
            seen.append((event.object.spec.containers[0].image, found.status, is_ready(event.object)))
            if event.object.metadata.resource_version == after.metadata.resource_version:
                break
        assert seen[0] == (FIRST, "False", False)
        assert (SECOND, "False", False) in seen
        assert seen[-1] == (SECOND, "True", True)
        assert [step for step in seen if step[2] and step[1] != "True"] == []
        assert await readiness_since(node, slices) == [False, True]
        await old_container_stays_without_the_new_image(node, client, after)


async def old_container_stays_without_the_new_image(node: RealNode, client: TypedClient, before: Pod) -> None:
    """Change to an image that is not there, and back: the container runs through."""
    await change(client, ABSENT)
    held = await pod_when(node, lambda pod: is_true(pod.status.conditions, PENDING))
    assert held.spec.containers[0].image == ABSENT
    assert statuses(held) == statuses(before)
    assert (await node.exec(held, "main", "sh", "-c", "echo $TAG")).out == f"{SECOND}\n"
    await change(client, SECOND)
    again = await pod_when(
        node, lambda pod: has_image(pod, SECOND) and find(pod.status.conditions, PENDING) is None
    )
    assert statuses(again) == statuses(before)


async def change(client: TypedClient, image: str) -> None:
    template: dict[str, Any] = codec.to_plain(clone_set(image))["spec"]["template"]
    await client.patch(CloneSet, "web", {"spec": {"template": template}}, "default")


def has_image(pod: Pod, image: str) -> bool:
    """Return whether the pod is Ready and is to have the image."""
    return is_ready(pod) and pod.spec.containers[0].image == image


async def pod_when(node: RealNode, holds: Callable[[Pod], bool]) -> Pod:
    """Wait until something holds for the only pod, and return it."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            (found,) = (await node.client.list(Pod, "default")).items
            if holds(found):
                return found
            await clock.sleep(0.05)


async def test_images_of_sets_change_in_the_living_pods(tmp_path: Path) -> None:
    kinds: dict[str, type[Any]] = {"StatefulSet": StatefulSet, "DaemonSet": DaemonSet}
    async with kruise_node(tmp_path) as node:
        client = TypedClient(node.client)
        for plain in sets(FIRST):
            await client.create(codec.from_plain(plain, kinds[plain["kind"]]))
        names = [plain["metadata"]["name"] for plain in sets(FIRST)]
        before = [await the_pod(node, FIRST, name) for name in names]
        for plain in sets(SECOND):
            patch = {"spec": {"template": plain["spec"]["template"]}}
            await client.patch(kinds[plain["kind"]], plain["metadata"]["name"], patch, "default")
        after = [await the_pod(node, SECOND, name) for name in names]
        for one, other in zip(before, after, strict=True):
            assert (other.metadata.uid, other.status.pod_ip) == (one.metadata.uid, one.status.pod_ip)
            old, new = statuses(one), statuses(other)
            assert (new["main"].restart_count, new["beside"].restart_count) == (1, 0)
            assert new["main"].image_id != old["main"].image_id
            assert new["beside"].container_id == old["beside"].container_id
            assert (await node.exec(other, "main", "sh", "-c", "echo $TAG")).out == f"{SECOND}\n"
        await environment_changes_in_the_living_pod(node, client, after[-1])


async def environment_changes_in_the_living_pod(node: RealNode, client: TypedClient, before: Pod) -> None:
    """Change the annotation that the DaemonSet's container reads: this container alone starts again."""
    assert (await node.exec(before, "main", "sh", "-c", "echo $CONFIG")).out == "one\n"
    template = agent_template(SECOND, "two")
    await client.patch(DaemonSet, "agent", {"spec": {"template": template}}, "default")
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            after = await the_pod(node, SECOND, "agent")
            if after.metadata.annotations["app-config"] == "two":
                break
            await clock.sleep(0.05)
    assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
    assert (await node.exec(after, "main", "sh", "-c", "echo $CONFIG")).out == "two\n"
    old, new = statuses(before), statuses(after)
    assert (new["main"].restart_count, new["main"].image_id) == (2, old["main"].image_id)
    assert new["beside"].container_id == old["beside"].container_id


EMPTY = "podling.test/empty:1"
COLD_AND_HOT = {"agent": FIRST, "mesh-1": FIRST, "mesh-2": EMPTY, "main": FIRST}


def sidecars(image: str) -> SidecarSet:
    """Return a SidecarSet with a container for cold upgrades, and one for hot upgrades."""
    hot = {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": EMPTY}
    common = {"image": image, "command": list(oci_node.SLEEP), "imagePullPolicy": "Never"}
    containers = [{"name": "agent", **common}, {"name": "mesh", **common, "upgradeStrategy": hot}]
    return codec.from_plain(sidecar_set(containers=containers), SidecarSet)


async def pod_with(node: RealNode, wanted: dict[str, str]) -> Pod:
    """Wait until the pod is Ready with these images, in its spec and in its status; return it."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            pod = await node.client.get(Pod, "web", "default")
            shown = {name: status.image for name, status in statuses(pod).items()}
            if is_ready(pod) and images(pod) == shown == wanted:
                return pod
            await clock.sleep(0.05)


async def test_sidecars_change_cold_and_hot_while_the_pod_lives(tmp_path: Path) -> None:
    async with kruise_node(tmp_path) as node:
        await node.machine.runtime.images.load(busybox_archive(tmp_path / "image.tar", EMPTY))
        client = TypedClient(node.client)
        await client.create(sidecars(FIRST))
        main = {"name": "main", "image": FIRST, "command": list(oci_node.SLEEP), "imagePullPolicy": "Never"}
        await client.create(new_pod(node=NODE, containers=[main], automountServiceAccountToken=False))
        before = await pod_with(node, COLD_AND_HOT)

        changed = codec.to_plain(sidecars(SECOND))["spec"]["containers"]
        await client.patch(SidecarSet, "sidecars", {"spec": {"containers": changed}})
        wanted = {"agent": SECOND, "mesh-1": EMPTY, "mesh-2": SECOND, "main": FIRST}
        after = await pod_with(node, wanted)

        assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
        old, new = statuses(before), statuses(after)
        assert {name: status.restart_count for name, status in new.items()} == {
            "agent": 1,
            "mesh-1": 1,
            "mesh-2": 1,
            "main": 0,
        }
        assert new["main"].container_id == old["main"].container_id
        assert (await node.exec(after, "agent", "sh", "-c", "echo $TAG")).out == f"{SECOND}\n"
        assert (await node.exec(after, "mesh-2", "sh", "-c", "echo $TAG")).out == f"{SECOND}\n"
