"""Other objects that the scheduler follows: namespaces, services, workloads, claims and their volumes."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

from podling.api.apps_v1 import ReplicaSet, StatefulSet
from podling.api.core_v1 import (
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    ReplicationController,
    Service,
)
from podling.api.storage_v1 import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from podling.client.base import ApiObject
from podling.client.informer import Informer
from podling.client.informer_factory import InformerFactory
from podling.machinery.selectors import from_labels
from podling.scheduler.cache import Cache
from podling.scheduler.framework import ObjectChange
from podling.scheduler.gangs import Gangs
from podling.scheduler.terms import selector_of

FOLLOWED = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "VolumeAttachment",
    }
)
"""The kinds whose changes plugins can wait for."""

T = TypeVar("T", bound=ApiObject)
K = TypeVar("K")


class Surroundings:
    """Keeps what the cache holds beside nodes and pods as the informers say.

    Args:
        changed: called with each change of an object that plugins may wait for.
        gangs: keeps the pod groups, where the cluster has any.
    """

    def __init__(
        self,
        cache: Cache,
        informers: InformerFactory,
        changed: Callable[[ObjectChange], None],
        gangs: Gangs | None = None,
    ) -> None:
        self._cache = cache
        self._changed = changed
        self._claims = informers.informer(PersistentVolumeClaim)
        self._volumes = informers.informer(PersistentVolume)
        self._classes = informers.informer(StorageClass)
        self._follow(self._claims, cache.claims, _namespaced)
        self._follow(self._volumes, cache.volumes, _name)
        self._csi_nodes = informers.informer(CSINode)
        self._attachments = informers.informer(VolumeAttachment)
        self._follow(self._classes, cache.storage_classes, _name)
        self._csi_drivers = informers.informer(CSIDriver)
        self._capacities = informers.informer(CSIStorageCapacity)
        self._follow(self._csi_drivers, cache.csi_drivers, _name)
        self._follow(self._capacities, cache.capacities, _namespaced)
        self._follow(self._csi_nodes, cache.csi_nodes, _name)
        self._follow(self._attachments, cache.attachments, _name)
        self._namespaces = informers.informer(Namespace)
        self._services = informers.informer(Service)
        self._controllers = informers.informer(ReplicationController)
        self._replica_sets = informers.informer(ReplicaSet)
        self._stateful_sets = informers.informer(StatefulSet)
        self._namespaces.add_handler(self._namespace, lambda _, new: self._namespace(new), self._no_namespace)
        self._services.add_handler(self._service, lambda _, new: self._service(new), self._no_service)
        self._controllers.add_handler(self._owner, lambda _, new: self._owner(new), self._no_owner)
        self._replica_sets.add_handler(self._owner, lambda _, new: self._owner(new), self._no_owner)
        self._stateful_sets.add_handler(self._owner, lambda _, new: self._owner(new), self._no_owner)

        self._pod_groups = None if gangs is None else self._follow_groups(informers, gangs)

    def _follow_groups(self, informers: InformerFactory, gangs: Gangs) -> Informer[Any]:
        from podling.api.scheduling_v1alpha2 import PodGroup  # behind a feature gate: few clusters have any

        def put(new: PodGroup, old: PodGroup | None = None) -> None:
            gangs.set_group(new)
            self._changed(ObjectChange(PodGroup.__name__, new, old))

        def remove(old: PodGroup) -> None:
            gangs.remove_group(old)
            self._changed(ObjectChange(PodGroup.__name__, None, old))

        informer = informers.informer(PodGroup)
        informer.add_handler(put, lambda old, new: put(new, old), remove)
        return informer

    async def synced(self) -> None:
        """Wait until all of it is known."""
        if self._pod_groups is not None:
            await self._pod_groups.synced()
        await self._claims.synced()
        await self._volumes.synced()
        await self._classes.synced()
        await self._csi_nodes.synced()
        await self._csi_drivers.synced()
        await self._capacities.synced()
        await self._attachments.synced()
        await self._namespaces.synced()
        await self._services.synced()
        await self._controllers.synced()
        await self._replica_sets.synced()
        await self._stateful_sets.synced()

    def _follow(self, informer: Informer[T], held: MutableMapping[K, T], key: Callable[[T], K]) -> None:
        kind = informer.kind.__name__

        def put(new: T, old: T | None = None) -> None:
            held[key(new)] = new
            self._cache.version += 1
            self._changed(ObjectChange(kind, new, old))

        def remove(old: T) -> None:
            held.pop(key(old), None)
            self._cache.version += 1
            self._changed(ObjectChange(kind, None, old))

        informer.add_handler(put, lambda old, new: put(new, old), remove)

    def _namespace(self, namespace: Namespace) -> None:
        self._cache.version += 1
        self._cache.namespace_labels[namespace.metadata.name or ""] = namespace.metadata.labels

    def _no_namespace(self, namespace: Namespace) -> None:
        self._cache.version += 1
        self._cache.namespace_labels.pop(namespace.metadata.name or "", None)

    def _service(self, service: Service) -> None:
        self._cache.version += 1
        metadata = service.metadata
        self._cache.workloads.set_service(
            metadata.namespace or "", metadata.name or "", service.spec.selector
        )

    def _no_service(self, service: Service) -> None:
        self._cache.version += 1
        self._cache.workloads.remove_service(service.metadata.namespace or "", service.metadata.name or "")

    def _owner(self, owner: ReplicationController | ReplicaSet | StatefulSet) -> None:
        self._cache.version += 1
        if isinstance(owner, ReplicationController):
            selector = from_labels(owner.spec.selector)
        else:
            selector = selector_of(owner.spec.selector)
        key = (owner.kind, owner.metadata.namespace or "", owner.metadata.name or "")
        self._cache.workloads.set_owner(key, selector)

    def _no_owner(self, owner: ReplicationController | ReplicaSet | StatefulSet) -> None:
        self._cache.version += 1
        key = (owner.kind, owner.metadata.namespace or "", owner.metadata.name or "")
        self._cache.workloads.remove_owner(key)


def _name(obj: ApiObject) -> str:
    return obj.metadata.name or ""


def _namespaced(obj: ApiObject) -> tuple[str, str]:
    return obj.metadata.namespace or "", obj.metadata.name or ""
