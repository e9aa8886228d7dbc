"""Deletion of the contents of terminating namespaces.

Flow: a namespace with a deletion timestamp is marked Terminating; its pods are deleted first, and only
when none is left everything else is (so that what pods need outlives them); when nothing is left, the
``kubernetes`` finalizer is taken out of ``spec`` and the API server lets the namespace go.

Guarantees: nothing new can appear meanwhile (admission refuses it), the finalizer leaves only after a pass
that found nothing, and the conditions say what is still there and which finalizers hold it. While a server
behind an APIService does not answer, its objects are unknown: the namespace stays.

Upstream: ``pkg/controller/namespace/deletion``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apiregistration_v1 import APIService
from podling.api.core_v1 import Namespace, NamespaceCondition, Pod
from podling.client.base import ApiObject, Key
from podling.client.runner import AwaitChange, NotYet, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.other_apis import NO_OTHER_APIS, OtherApis
from podling.machinery.conditions import with_condition
from podling.machinery.encoding.custom import is_established, stored_resource
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.machinery.pods import is_terminal
from podling.machinery.scheme import RESOURCES, Resource

FINALIZER = "kubernetes"
FINALIZER_ESTIMATE_SECONDS = 15
"""The estimated time until another client removes its finalizer."""


@dataclass(slots=True)
class Remains:
    """The remaining objects of a namespace after a pass, and the failed deletions."""

    numbers: dict[str, int] = field(default_factory=dict)
    """Objects left, by ``<resource>.<group>``."""
    finalizers: dict[str, int] = field(default_factory=dict)
    estimate_seconds: int = 0
    errors: list[str] = field(default_factory=list)
    undiscovered: tuple[str, ...] = ()
    """Groups and versions whose servers do not say what the namespace holds of them."""

    def fail(self, error: ApiError) -> None:
        """Note a failure; a resource that is not served, as after the end of its definition, is none."""
        if not is_not_found(error):
            self.errors.append(str(error))

    def count(
        self, namespace: str, resource: Resource, left: Sequence[Any], estimate_seconds: int = 0
    ) -> None:
        """Note the objects of one resource that did not go at once.

        Args:
            estimate_seconds: the time that the objects may take; without any, objects that no finalizer
                holds are an error.
        """
        if not left:
            return
        self.numbers[f"{resource.plural}.{resource.group}"] = len(left)
        held = [finalizer for obj in left for finalizer in obj.metadata.finalizers]
        for finalizer in held:
            self.finalizers[finalizer] = self.finalizers.get(finalizer, 0) + 1
        if not estimate_seconds and held:
            estimate_seconds = FINALIZER_ESTIMATE_SECONDS
        self.estimate_seconds = max(self.estimate_seconds, estimate_seconds)
        if not estimate_seconds:
            which = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            self.errors.append(f"unexpected items still remain in namespace: {namespace} for gvr: {which}")


def termination_estimate(pods: Iterable[Pod], deleted: datetime, now: datetime) -> int:
    """Return the longest grace period of pods that have not ended; 0 once it is over.

    Args:
        deleted: the time at which the deletion of the namespace was requested.
    """
    graces = (each.spec.termination_grace_period_seconds or 0 for each in pods if not is_terminal(each))
    longest = max(graces, default=0)
    return 0 if (now - deleted).total_seconds() >= longest else longest


def conditions_after(
    conditions: tuple[NamespaceCondition, ...], remains: Remains, now: datetime
) -> tuple[NamespaceCondition, ...]:
    """Return the namespace's conditions after a pass that left ``remains``."""
    for type_, reason, message, bad in (
        _discovery_failure(remains.undiscovered),
        ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", _PARSED, False),
        _content_failure(remains.errors),
        _content_remaining(remains.numbers),
        _finalizers_remaining(remains.finalizers),
    ):
        status = "True" if bad else "False"
        condition = NamespaceCondition(type=type_, status=status, reason=reason, message=message)
        conditions = with_condition(conditions, condition, now)
    return conditions


_DISCOVERED = "All resources successfully discovered"
_PARSED = "All legacy kube types successfully parsed"


def _undiscovered_text(groups: tuple[str, ...]) -> str:
    stale = ", ".join(f"{each}: stale GroupVersion discovery: {each}" for each in groups)
    return f"unable to retrieve the complete list of server APIs: {stale}"


def _discovery_failure(groups: tuple[str, ...]) -> tuple[str, str, str, bool]:
    type_ = "NamespaceDeletionDiscoveryFailure"
    if not groups:
        return type_, "ResourcesDiscovered", _DISCOVERED, False
    text = f"Discovery failed for some groups, {len(groups)} failing: {_undiscovered_text(groups)}"
    return type_, "DiscoveryFailed", text, True


def unavailable_groups(services: Iterable[APIService]) -> tuple[str, ...]:
    """Return the groups and versions of other servers that do not answer."""
    return tuple(
        sorted(
            f"{each.spec.group}/{each.spec.version}"
            for each in services
            if each.spec.service is not None
            and not any(one.type == "Available" and one.status == "True" for one in each.status.conditions)
        )
    )


def _content_failure(errors: list[str]) -> tuple[str, str, str, bool]:
    type_ = "NamespaceDeletionContentFailure"
    if not errors:
        message = "All content successfully deleted, may be waiting on finalization"
        return type_, "ContentDeleted", message, False
    message = f"Failed to delete all resource types, {len(errors)} remaining: {', '.join(sorted(errors))}"
    return type_, "ContentDeletionFailed", message, True


def _content_remaining(numbers: dict[str, int]) -> tuple[str, str, str, bool]:
    type_ = "NamespaceContentRemaining"
    if not numbers:
        return type_, "ContentRemoved", "All content successfully removed", False
    listed = ", ".join(f"{name} has {number} resource instances" for name, number in sorted(numbers.items()))
    return type_, "SomeResourcesRemain", f"Some resources are remaining: {listed}", True


def _finalizers_remaining(finalizers: dict[str, int]) -> tuple[str, str, str, bool]:
    type_ = "NamespaceFinalizersRemaining"
    if not finalizers:
        return type_, "ContentHasNoFinalizers", "All content-preserving finalizers finished", False
    listed = ", ".join(
        f"{name} in {number} resource instances" for name, number in sorted(finalizers.items())
    )
    message = f"Some content in the namespace has finalizers remaining: {listed}"
    return type_, "SomeFinalizersRemain", message, True


def deletable_resources() -> tuple[list[Resource], list[Resource]]:
    """Return the namespaced resources: first pods, then all others."""
    every = [
        resource
        for resource in RESOURCES
        if resource.namespaced and resource.stored and not resource.storage and "delete" in resource.verbs
    ]
    pods = [resource for resource in every if (resource.group, resource.plural) == ("", "pods")]
    return pods, [resource for resource in every if resource not in pods]


def custom_resources(definitions: Iterable[CustomResourceDefinition]) -> list[Resource]:
    """Return the namespaced resources that are not built in."""
    return [
        stored_resource(each)
        for each in definitions
        if each.spec.scope == "Namespaced" and is_established(each)
    ]


class NamespaceController(Controller):
    name: ClassVar[str] = "namespace-controller"
    workers: ClassVar[int] = 10
    backoff_seconds_max: ClassVar[float] = 60.0
    """A namespace that cannot be emptied is retried every minute."""

    def __init__(
        self,
        context: ControllerContext,
        others: OtherApis = NO_OTHER_APIS,
        gated: Sequence[Resource] = (),
    ) -> None:
        """``others``: what other servers keep in namespaces; ``gated``: resources with a feature gate."""
        super().__init__(context)
        self._others = others
        self._gated = tuple(each for each in gated if each.namespaced)
        self._namespaces = context.informers.informer(Namespace)
        self._namespaces.add_handler(self.enqueue, self.enqueue_new)
        context.informers.informer(Pod).add_handler(on_delete=self._pod_gone)

    def _pod_gone(self, pod: Pod) -> None:
        """The last pod's end is what a terminating namespace waits for: look again at once."""
        key = Key("", pod.metadata.namespace or "")
        namespace = self._namespaces.get(key)
        if namespace is not None and namespace.metadata.deletion_timestamp is not None:
            self.queue.add(key)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        namespace = self._namespaces.get(key)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return AwaitChange()
        if FINALIZER not in namespace.spec.finalizers:
            return AwaitChange()
        try:
            namespace = await self._mark_terminating(namespace)
            return await self._empty(namespace)
        except ApiError as error:
            if is_not_found(error):
                return AwaitChange()
            raise

    async def _mark_terminating(self, namespace: Namespace) -> Namespace:
        if namespace.status.phase == "Terminating":
            return namespace
        status = structs.replace(namespace.status, phase="Terminating")
        return await self.client.update(structs.replace(namespace, status=status), subresource="status")

    async def _empty(self, namespace: Namespace) -> RequeueAfter | AwaitChange:
        services = await self.client.list(APIService)
        remains = Remains(undiscovered=unavailable_groups(services.items))
        name = namespace.metadata.name or ""
        pods, others = deletable_resources()
        deleted, now = namespace.metadata.deletion_timestamp or clock.now(), clock.now()
        estimate = termination_estimate((await self.client.list(Pod, name)).items, deleted, now)
        await self._delete_all(name, pods, remains, estimate)
        if not remains.numbers and not remains.errors:
            definitions = await self.client.list(CustomResourceDefinition)
            await self._delete_all(
                name, [*others, *self._gated, *custom_resources(definitions.items)], remains
            )
            await self._delete_elsewhere(name, remains)
        namespace = await self._show(namespace, remains)
        if remains.errors:
            raise NotYet(f"emptying namespace {name}: {'; '.join(remains.errors)}")
        if remains.undiscovered:
            raise NotYet(f"emptying namespace {name}: {_undiscovered_text(remains.undiscovered)}")
        if remains.numbers:
            return RequeueAfter(remains.estimate_seconds // 2 + 1)
        left = tuple(each for each in namespace.spec.finalizers if each != FINALIZER)
        spec = structs.replace(namespace.spec, finalizers=left)
        await self.client.update(structs.replace(namespace, spec=spec), subresource="finalize")
        return AwaitChange()

    async def _delete_all(
        self, namespace: str, resources: list[Resource], remains: Remains, estimate_seconds: int = 0
    ) -> None:
        for resource in resources:
            try:
                left = await self._delete_kind(namespace, resource)
                remains.count(namespace, resource, left, estimate_seconds)
            except ApiError as error:
                remains.fail(error)

    async def _delete_elsewhere(self, namespace: str, remains: Remains) -> None:
        """Request the deletion of the objects of aggregated API servers."""
        for resource in await self._others.resources():
            if not resource.namespaced or not {"list", "delete"} <= set(resource.verbs):
                continue
            try:
                found = await self._others.list(resource, namespace)
                if found:
                    await self._delete_found(resource, namespace, found)
                    found = await self._others.list(resource, namespace)
                remains.count(namespace, resource, found)
            except ApiError as error:
                remains.fail(error)

    async def _delete_found(self, resource: Resource, namespace: str, found: Sequence[ApiObject]) -> None:
        if "deletecollection" in resource.verbs:
            await self._others.delete(resource, namespace)
            return
        for obj in found:
            try:
                await self._others.delete(resource, namespace, obj.metadata.name or "")
            except ApiError as error:
                if not is_not_found(error):
                    raise

    async def _delete_kind(self, namespace: str, resource: Resource) -> tuple[Any, ...]:
        """Request the deletion of every object of one resource. Return the objects that remain."""
        kind: type[Any] = resource.type
        listing = await self.client.list(kind, namespace)
        if not listing.items:
            return ()
        for obj in listing.items:
            if obj.metadata.deletion_timestamp is None:
                await self._delete_one(kind, obj)
        return (await self.client.list(kind, namespace)).items

    async def _delete_one(self, kind: type[Any], obj: Any) -> None:
        metadata = obj.metadata
        try:
            await self.client.delete(
                kind, metadata.name, metadata.namespace, uid=metadata.uid or "", propagation="Background"
            )
        except ApiError as error:
            if not is_not_found(error) and not is_conflict(error):  # gone, or another by now
                raise

    async def _show(self, namespace: Namespace, remains: Remains) -> Namespace:
        """Write what is left into the namespace's conditions."""
        conditions = conditions_after(namespace.status.conditions, remains, clock.now())
        if conditions is namespace.status.conditions:
            return namespace
        status = structs.replace(namespace.status, conditions=conditions)
        return await self.client.update(structs.replace(namespace, status=status), subresource="status")
