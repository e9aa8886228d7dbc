"""Keeping what resource quotas say is used.

Admission counts for itself (``machinery.quotas``, which both share); the status is for people and for what
they run. A quota is counted anew when something it counts comes, goes or changes its size, and every
five minutes, because pods also stop counting when their time to end is over.

Upstream: ``pkg/controller/resourcequota``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.core_v1 import PersistentVolumeClaim, Pod, ResourceQuota, ResourceQuotaStatus, Service
from podling.api.resource_v1 import ResourceClaim
from podling.client.base import ApiObject, Key
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_NAMESPACE, namespace_index
from podling.controllers.custom_kinds import CustomKinds
from podling.controllers.status_writes import write_status
from podling.machinery import quotas
from podling.machinery.resized_pods import statuses_with_resources
from podling.machinery.scheme import RESOURCES, Resource, resource_of
from podling.machinery.storage_classes import attributes_classes_of

RESYNC_SECONDS = 300.0
STORAGE_CLASS = ".storageclass.storage.k8s.io/"
POD_LIMITS = frozenset(
    ["pods", *(f"{side}{name}" for side in ("", "requests.", "limits.") for name in quotas.NATIVE)]
)


def counted_resource(name: str) -> Resource | None:
    """Return the resource whose objects count against the limit ``name``; None if there is none such."""
    if name.startswith("count/"):
        plural, _, group = name.removeprefix("count/").partition(".")
    elif name in quotas.COUNTED_BY_NAME:
        plural, group = name, ""
    elif name in ("services", "services.nodeports", "services.loadbalancers"):
        return resource_of(Service)
    elif name.rpartition(STORAGE_CLASS)[2] in ("persistentvolumeclaims", "requests.storage"):
        return resource_of(PersistentVolumeClaim)
    elif name.endswith(quotas.DEVICES):
        return resource_of(ResourceClaim)
    else:
        return resource_of(Pod) if is_of_pods(name) else None
    return next((each for each in RESOURCES if (each.plural, each.group) == (plural, group)), None)


def is_of_pods(name: str) -> bool:
    """Return whether pods count against the limit: a native resource, huge pages or an extended resource."""
    if name in POD_LIMITS or name.startswith(("hugepages-", "requests.hugepages-")):
        return True
    if name.startswith("requests.deviceclass.resource.kubernetes.io/"):
        return True
    return name.startswith("requests.") and "/" in name and "kubernetes.io/" not in name


def status_of(
    quota: ResourceQuota, names: Iterable[str], objects: Iterable[tuple[Resource, ApiObject]], now: datetime
) -> ResourceQuotaStatus:
    """Return the quota's status when these objects, of every resource it counts, are in its namespace.

    Args:
        names: the limits that something counts against; a use of others that stands in the status stays.
    """
    hard = quota.spec.hard
    usages = (
        quotas.usage(obj, resource.plural, resource.group, now)
        for resource, obj in objects
        if quotas.in_scope(quota.spec, obj)
    )
    counted = quotas.total(usages, names)
    used = {name: amount for name, amount in quota.status.used.items() if name in hard}
    used |= {name: str(amount) for name, amount in counted.items()}
    return ResourceQuotaStatus(hard=dict(hard), used=used)


class ResourceQuotaController(Controller):
    name: ClassVar[str] = "resourcequota-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._informers = context.informers
        self._quotas = context.informers.informer(ResourceQuota)
        self._quotas.add_indexer(BY_NAMESPACE, namespace_index)
        self._counted: dict[Resource, Informer[Any]] = {}
        self._quotas.add_handler(self.enqueue, self.enqueue_new)
        self._custom = CustomKinds(self._custom_appeared, self._custom_gone)
        definitions = context.informers.informer(CustomResourceDefinition)
        definitions.add_handler(self._custom.put, lambda old, new: self._custom.put(new), self._custom.remove)

    def _custom_appeared(self, resource: Resource) -> None:
        limit = f"count/{resource.plural}.{resource.group}"
        for quota in self._quotas.values():
            if limit in quota.spec.hard:
                self.enqueue(quota)

    def _custom_gone(self, resource: Resource) -> None:
        if self._counted.pop(resource, None) is not None:
            self._informers.forget(resource.type)
        self._custom_appeared(resource)

    def _named(self, limit: str) -> Resource | None:
        """Return the resource that counts against ``limit``, built in or custom."""
        return counted_resource(limit) or self._custom.by_name(limit.removeprefix("count/"))

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        quota = self._quotas.get(key)
        if quota is None:
            return AwaitChange()
        objects: list[tuple[Resource, ApiObject]] = []
        named = {name: found for name in quota.spec.hard if (found := self._named(name)) is not None}
        for resource in dict.fromkeys(named.values()):
            informer = self._follow(resource.storage_resource)
            await informer.synced()
            objects += [(resource, obj) for obj in informer.by_index(BY_NAMESPACE, key.namespace)]
        status = status_of(quota, named, objects, clock.now())
        if status != quota.status:
            await write_status(self.client, structs.replace(quota, status=status))
        return RequeueAfter(RESYNC_SECONDS)

    def _follow(self, resource: Resource) -> Informer[Any]:
        """Return the informer of a resource that some quota counts; it wakes the quotas from then on."""
        informer = self._counted.get(resource)
        if informer is None:
            informer = self._counted[resource] = self._informers.informer(resource.type)
            informer.add_indexer(BY_NAMESPACE, namespace_index)
            informer.add_handler(self._wake, self._wake_if_changed, self._wake)
        return informer

    def _wake(self, obj: ApiObject) -> None:
        for quota in self._quotas.by_index(BY_NAMESPACE, obj.metadata.namespace or ""):
            self.enqueue(quota)

    def _wake_if_changed(self, old: Any, new: Any) -> None:
        if _countable(old) != _countable(new):
            self._wake(new)


def _countable(obj: Any) -> tuple[Any, ...]:
    """Return all of an object that its usage, or its scopes, can depend on."""
    status = getattr(obj, "status", None)
    phase = getattr(status, "phase", None)
    sizes: tuple[Any, ...] = ()
    if isinstance(obj, PersistentVolumeClaim):
        sizes = (obj.status.allocated_resources, attributes_classes_of(obj))
    elif isinstance(obj, Pod):
        statuses = statuses_with_resources(obj)
        sizes = tuple((each.name, each.resources, each.allocated_resources) for each in statuses)
    return obj.metadata.deletion_timestamp, getattr(obj, "spec", None), phase, sizes
