"""The workloads of protected pods: how many pods each is to have. Upstream: ``pkg/util/controllerfinder``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apps_v1 import Deployment, ReplicaSet, StatefulSet
from podling.api.meta_v1 import OwnerReference
from podling.client.base import Client, Key
from podling.client.informer_factory import InformerFactory
from podling.controllers.custom_kinds import CustomKinds
from podling.controllers.owner_references import controller_of, resource_named
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.scheme import Resource, resource_of, split_group_version
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.podunavailablebudget.types import TargetReference
from podling_kruise.statefulset.types import StatefulSet as AdvancedStatefulSet

KINDS: tuple[type[Any], ...] = (Deployment, ReplicaSet, StatefulSet, CloneSet, AdvancedStatefulSet)
"""Kinds whose number of pods is followed; that of others is read from their scale subresource."""
BY_OWNER = "controller-uid"


class Workload(Struct, frozen=True):
    """A workload with its number of pods. ``selector`` is that of its scale, where that was read."""

    uid: str
    replicas: int
    selector: str = ""


def reference_to(obj: Any) -> TargetReference:
    """Return the reference that names an object of ``KINDS``."""
    resource = resource_of(type(obj))
    return TargetReference(
        api_version=resource.group_version, kind=resource.kind, name=obj.metadata.name or ""
    )


class Workloads:
    """Finds workloads. ``changed`` is called with each that appears, goes, or has another number of pods."""

    def __init__(self, client: Client, informers: InformerFactory, changed: Callable[[Any], None]) -> None:
        self._client, self._changed = client, changed
        self._informers: dict[tuple[str, str], Any] = {}
        for kind in KINDS:
            informer: Any = informers.informer(kind)
            informer.add_handler(changed, self._if_scaled, changed)
            self._informers[_kind_of(resource_of(kind))] = informer
        self._informers[_kind_of(resource_of(ReplicaSet))].add_indexer(BY_OWNER, _owner_uid)
        self._custom = CustomKinds(lambda resource: None, lambda resource: None)
        definitions = informers.informer(CustomResourceDefinition)
        definitions.add_handler(self._custom.put, lambda old, new: self._custom.put(new), self._custom.remove)

    def _if_scaled(self, old: Any, new: Any) -> None:
        if (old.spec.replicas, old.metadata.deletion_timestamp) != (
            new.spec.replicas,
            new.metadata.deletion_timestamp,
        ):
            self._changed(new)

    async def find(self, ref: OwnerReference, namespace: str) -> Workload | None:
        """Return the workload that a reference names, or the Deployment of a replica set.

        None for one that is gone, is being deleted, or has no number of pods. A reference without a UID takes
        any of this name.
        """
        group, _ = split_group_version(ref.api_version)
        informer, key = self._informers.get((group, ref.kind)), Key(namespace, ref.name)
        if informer is None:
            return await self._scale(ref, key)
        held = informer.get(key)
        if held is None or (ref.uid and held.metadata.uid != ref.uid):
            return None
        above = controller_of(held)
        if informer.kind is ReplicaSet and above is not None and above.kind == "Deployment":
            return await self.find(above, namespace)
        if held.metadata.deletion_timestamp is not None:
            return None
        replicas = held.spec.replicas
        return Workload(held.metadata.uid or "", 1 if replicas is None else replicas)

    def owners_of_pods(self, workload: Workload) -> list[str]:
        """Return the UIDs that pods of the workload name as their controller."""
        sets = self._informers[_kind_of(resource_of(ReplicaSet))].by_index(BY_OWNER, workload.uid)
        return [each.metadata.uid or "" for each in sets] or [workload.uid]

    async def _scale(self, ref: OwnerReference, key: Key) -> Workload | None:
        resource = resource_named(ref) or self._custom.named(ref)
        if resource is None or "scale" not in resource.subresources:
            return None
        try:
            scale = await self._client.get_scale(resource, key.name, key.namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise
        if ref.uid and scale.metadata.uid != ref.uid:
            return None
        return Workload(scale.metadata.uid or "", scale.spec.replicas or 0, scale.status.selector)


def _kind_of(resource: Resource) -> tuple[str, str]:
    return resource.group, resource.kind


def _owner_uid(obj: Any) -> tuple[str, ...]:
    ref = controller_of(obj)
    return (ref.uid,) if ref is not None else ()
