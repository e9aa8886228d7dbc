"""The actions of scenarios that people and programs take through the API: apply, scale, drain and so on.

They use kubectl's requests. A conflict or an absent server is tried again for a while, as a person would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.policy_v1 import Eviction
from podling.client.base import PatchType, Unreachable
from podling.machinery.errors import ApiError, is_not_found, unless_gone
from podling.machinery.pods import is_mirror
from podling.machinery.resource import Resource
from podling.machinery.scheme import resource_of
from podling.sim.added_kinds import Entries, is_added, target_kind
from podling.sim.fault_actions import FaultActions, drawn
from podling.sim.manifests import apply, manifests_of
from podling.sim.scenario_actions import Delete, Drain, NodeChoice, ScaleTo, SetImage, Target
from podling.sim.scenario_parts import ManifestSource, NodeGroup
from podling.sim.simulated_cluster import SimulatedCluster
from podling.sim.simulated_node import NodeSettings

T = TypeVar("T")

RETRY_SECONDS = 5.0
TRIES = 60
"""So many attempts for a server that is away: five minutes."""
_NODE = resource_of(Node)
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


class ActionFailed(Exception):
    """An action that the cluster refused."""


class WorkloadActions:
    """Acts on one cluster as an administrator.

    Args:
        folder: where the files that scenarios name are.
        faults: chooses nodes.
        entries: the extensions of the cluster.
    """

    def __init__(
        self, cluster: SimulatedCluster, folder: Path, faults: FaultActions, entries: Entries = ()
    ) -> None:
        self._cluster = cluster
        self._client = cluster.client
        self._folder = folder
        self._faults = faults
        self._entries = entries

    async def apply(self, source: ManifestSource) -> None:
        for manifest in manifests_of(source, self._folder, self._entries):
            await persistently(partial(apply, self._client, manifest))

    async def delete(self, action: Delete) -> None:
        for resource, name, namespace in await self._targets(action.target):
            await self._delete(resource, name, namespace, action)

    async def _delete(self, resource: Resource, name: str, namespace: str | None, action: Delete) -> None:
        try:
            await persistently(
                lambda: self._client.delete(
                    resource.type,
                    name,
                    namespace,
                    grace_seconds=action.grace_seconds,
                    propagation=action.propagation,
                )
            )
        except ApiError as error:
            if not is_not_found(error):
                raise

    async def scale(self, action: ScaleTo) -> None:
        await self._patch(action.target, {"spec": {"replicas": action.replicas}})

    async def set_image(self, action: SetImage) -> None:
        for resource, name, namespace in await self._targets(action.target):
            obj = await persistently(partial(self._client.get, resource.type, name, namespace))
            if is_added(resource):
                await self._patch_one(resource, name, namespace, _image_patch(obj, action))
                continue
            template = obj.spec if resource.kind == "Pod" else obj.spec.template.spec
            container = action.container or template.containers[0].name
            spec: dict[str, Any] = {"containers": [{"name": container, "image": action.image}]}
            patch = {"spec": spec if resource.kind == "Pod" else {"template": {"spec": spec}}}
            await self._patch_one(resource, name, namespace, patch)

    async def restart(self, target: Target) -> None:
        moment = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata = {"annotations": {RESTARTED_AT: moment}}
        await self._patch(target, {"spec": {"template": {"metadata": metadata}}})

    async def cordon(self, choice: NodeChoice) -> None:
        await self._set_unschedulable(choice, True)

    async def uncordon(self, choice: NodeChoice) -> None:
        await self._set_unschedulable(choice, None)

    async def drain(self, action: Drain) -> None:
        """Cordon the nodes, evict their pods one node after the other, and wait until they are gone."""
        nodes = self._faults.chosen(action.nodes)
        for node in nodes:
            await self._patch_one(_NODE, node.name, None, {"spec": {"unschedulable": True}})
        try:
            async with asyncio.timeout(action.timeout):
                for node in nodes:
                    await self._evict_all(node.name)
        except TimeoutError:
            raise ActionFailed(f"drain: pods were left after {action.timeout:g} s") from None

    async def add_nodes(self, group: NodeGroup) -> None:
        for settings in settings_of(group):
            if settings.name in self._cluster.nodes:
                raise ActionFailed(f"there is a node {settings.name} already")
            await self._cluster.add_node(settings)

    async def remove_nodes(self, choice: NodeChoice) -> None:
        for node in self._faults.chosen(choice):
            await self._cluster.remove_node(node.name)
            with unless_gone():
                await persistently(partial(self._client.delete, Node, node.name))

    async def _evict_all(self, node: str) -> None:
        while True:
            pods = await persistently(lambda: self._client.list(Pod, field_selector=f"spec.nodeName={node}"))
            left = [pod for pod in pods.items if not _stays(pod)]
            if not left:
                return
            for pod in left:
                if pod.metadata.deletion_timestamp is None:
                    await self._evict(pod)
            await clock.sleep(RETRY_SECONDS)

    async def _evict(self, pod: Pod) -> None:
        """Request the eviction of a pod; if a budget forbids it, the next pass requests it again."""
        name, namespace = pod.metadata.name or "", pod.metadata.namespace
        body = Eviction(metadata=ObjectMeta(name=name, namespace=namespace))
        try:
            await persistently(
                lambda: self._client.create_subresource(Pod, name, "eviction", body, namespace)
            )
        except ApiError as error:
            if error.code != 429 and not is_not_found(error):
                raise

    async def _set_unschedulable(self, choice: NodeChoice, value: bool | None) -> None:
        for node in self._faults.chosen(choice):
            await self._patch_one(_NODE, node.name, None, {"spec": {"unschedulable": value}})

    async def _patch(self, target: Target, patch: Any) -> None:
        for resource, name, namespace in await self._targets(target):
            await self._patch_one(resource, name, namespace, patch)

    async def _patch_one(self, resource: Resource, name: str, namespace: str | None, patch: Any) -> None:
        kind = PatchType.MERGE if is_added(resource) else PatchType.STRATEGIC
        await persistently(lambda: self._client.patch(resource.type, name, patch, namespace, patch_type=kind))

    async def _targets(self, target: Target) -> Sequence[tuple[Resource, str, str | None]]:
        resource = target_kind(self._entries, target.kind)
        if resource is None:
            raise ActionFailed(f'no kind is called "{target.kind}"')
        namespace = target.namespace if resource.namespaced else None
        if target.name:
            return [(resource, target.name, namespace)]
        found = await persistently(
            lambda: self._client.list(resource.type, namespace, label_selector=target.selector)
        )
        names = [each.metadata.name or "" for each in found.items]
        return [(resource, name, namespace) for name in drawn(names, target.count)]


async def persistently(request: Callable[[], Awaitable[T]]) -> T:
    """Return the answer of a request, which is sent again while the server is away or fails."""
    for attempt in range(TRIES):
        try:
            return await request()
        except Unreachable:
            if attempt == TRIES - 1:
                raise
        except ApiError as error:
            if error.code < 500 or attempt == TRIES - 1:
                raise
        await clock.sleep(RETRY_SECONDS)
    raise AssertionError("the last attempt returns or raises")


def _image_patch(obj: Any, action: SetImage) -> dict[str, Any]:
    """Return the merge patch of a container's image in the pod template of an extension's kind. Pure.

    Raises ``ActionFailed``.
    """
    try:
        containers = obj.content["spec"]["template"]["spec"]["containers"]
        name = action.container or containers[0]["name"]
    except (KeyError, IndexError, TypeError):
        raise ActionFailed(f"a {obj.kind} has no pod template") from None
    changed = [{**each, "image": action.image} if each["name"] == name else each for each in containers]
    return {"spec": {"template": {"spec": {"containers": changed}}}}


def settings_of(group: NodeGroup) -> Sequence[NodeSettings]:
    """Return the settings of each node of a group. Pure."""
    return [
        NodeSettings(
            name=f"{group.name}-{number + 1}",
            cpu=group.cpu,
            memory=group.memory,
            ephemeral_storage=group.ephemeral_storage,
            pods=group.pods,
            zone=group.zones[number % len(group.zones)] if group.zones else "",
            labels=group.labels,
            taints=group.taints,
        )
        for number in range(group.count)
    ]


def _stays(pod: Pod) -> bool:
    """Return whether a drain leaves the pod: those of DaemonSets, mirrors of static pods, and ended ones."""
    if is_mirror(pod) or pod.status.phase in ("Succeeded", "Failed"):
        return True
    return any(owner.controller and owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)
