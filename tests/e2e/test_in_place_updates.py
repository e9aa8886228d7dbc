"""A CloneSet's pod of real containers, before, during and after an update in place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import ContainerStatus, Pod
from podling.client.typed_kinds import TypedClient
from podling.kubelet.config import KubeletConfig
from podling.machinery.encoding import codec
from podling.machinery.pods import is_ready
from podling.testing import running
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.extension import KruiseExtension
from tests.support import oci_node
from tests.support.clone_sets import gate, manifest
from tests.support.images import busybox_archive
from tests.support.real_kubelet import NODE, RealNode, real_node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

DEADLINE_SECONDS = 60.0
FIRST, SECOND = "podling.test/web:1", "podling.test/web:2"


def clone_set(image: str) -> CloneSet:
    """Return a CloneSet of one pod with two containers and a volume that they share."""
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
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    rolling = {"podUpdatePolicy": "InPlaceOnly", "maxUnavailable": 1}
    plain = manifest("v1beta1", replicas=1, template=template, updateStrategy={"rollingUpdate": rolling})
    return codec.from_plain(plain, CloneSet)


async def the_pod(node: RealNode, image: str) -> Pod:
    """Wait until the pod is Ready with an image, and return it."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            pods = (await node.client.list(Pod, "default")).items
            if pods and is_ready(pods[0]) and pods[0].spec.containers[0].image == image:
                return pods[0]
            await clock.sleep(0.05)


def statuses(pod: Pod) -> dict[str, ContainerStatus]:
    return {each.name: each for each in pod.status.container_statuses}


async def test_image_changes_while_everything_else_of_the_pod_stays(tmp_path: Path) -> None:
    extension = KruiseExtension()
    config = KubeletConfig(eviction_hard={}, max_pods=10)
    async with (
        real_node(tmp_path, config, extensions=[extension]) as node,
        running(node.client, *extension.controllers().values()),
    ):
        for tag in (FIRST, SECOND):
            archive = busybox_archive(tmp_path / "image.tar", tag, env={"TAG": tag})
            await node.machine.runtime.images.load(archive)
        client = TypedClient(node.client)
        await client.create(clone_set(FIRST))
        before = await the_pod(node, FIRST)
        await node.exec(before, "main", "sh", "-c", "echo kept > /data/file")
        (sandbox,) = await node.machine.runtime.list_sandboxes()
        stream = node.client.watch(Pod, "default", resource_version=before.metadata.resource_version or "")

        template: dict[str, Any] = codec.to_plain(clone_set(SECOND))["spec"]["template"]
        await client.patch(CloneSet, "web", {"spec": {"template": template}}, "default")
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
