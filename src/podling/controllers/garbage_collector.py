"""Deleting what belongs to something that is gone.

An object with owner references lives as long as one of its owners does. When an owner is deleted:

* *background* (the default): the owner goes at once, then what has no owner left;
* *foreground*: the owner stays, marked, until every dependent that blocks it is gone;
* *orphan*: the dependents lose the reference and stay.

Guarantees: an object is deleted only after the server itself said that its owner does not exist, and only
as the very object and revision that was judged. An owner in another namespace cannot exist: such a reference
is reported. Objects with a reference that cannot be resolved are left as they are: a cluster-scoped object
that names a namespaced owner for good, a reference to a kind or version that is not served until it is.
Upstream: ``pkg/controller/garbagecollector``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, assert_never

from msgspec import Struct, structs, to_builtins

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.core_v1 import ObjectReference
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import ApiObject, Key
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, NotYet, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.custom_kinds import CustomKinds
from podling.controllers.owner_graph import FOREGROUND, ORPHAN, Item, OwnerGraph, matches
from podling.controllers.owner_references import owner_key, served_resource, without_owners
from podling.controllers.refusals import collected
from podling.machinery.errors import ApiError, is_not_found, unless_gone
from podling.machinery.scheme import RESOURCES, Resource

UNSEEN_OWNER_SECONDS = 30.0
"""The delay before another look at an object whose owner exists but was not seen by any informer: an owner
that appeared and went while a watch was broken is never seen."""


class Standing(Enum):
    """The state of an owner."""

    SOLID = "solid"
    DANGLING = "dangling"
    """It does not exist."""
    WAITING = "waiting"
    """It exists until its dependents are gone."""


class Keep(Struct, frozen=True):
    """It has an owner, and no reference to a lost one."""


class DropReferences(Struct, frozen=True):
    """It has an owner; the references to these others are of no use."""

    uids: tuple[str, ...]


class Delete(Struct, frozen=True):
    """It has no owner any more."""

    propagation: str


Judgement = Keep | DropReferences | Delete


@dataclass(slots=True)
class Owners:
    """The owners of an object, by what became of them."""

    solid: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Dangling or waiting."""
    waiting: bool = False

    def add(self, ref: OwnerReference, standing: Standing) -> None:
        (self.solid if standing is Standing.SOLID else self.lost).append(ref.uid)
        self.waiting = self.waiting or standing is Standing.WAITING


def judge(metadata: ObjectMeta, owners: Owners, *, has_dependents: bool) -> Judgement:
    """Return the action for an object with owners in these states."""
    if owners.solid:
        return DropReferences(tuple(owners.lost)) if owners.lost else Keep()
    if owners.waiting and has_dependents:
        return Delete("Foreground")
    if ORPHAN in metadata.finalizers:
        return Delete("Orphan")
    if FOREGROUND in metadata.finalizers:
        return Delete("Foreground")
    return Delete("Background")


def collected_resources() -> list[Resource]:
    """Return every kind of object that can own or be owned; events are left out, as Kubernetes does."""
    return [
        resource
        for resource in RESOURCES
        if resource.stored
        and not resource.storage
        and {"delete", "list", "watch"} <= set(resource.verbs)
        and resource.kind != "Event"
    ]


class GarbageCollectorController(Controller):
    """The keys are UIDs (in place of names)."""

    name: ClassVar[str] = "garbage-collector-controller"
    workers: ClassVar[int] = 20

    def __init__(self, context: ControllerContext, gated: Sequence[Resource] = ()) -> None:
        """``gated``: resources that are served because a feature gate is on."""
        super().__init__(context)
        self._gated = gated
        self._recorder = context.recorder("garbage-collector-controller")
        self._graph = OwnerGraph()
        for resource in (*collected_resources(), *gated):
            self._follow(resource, context.informers.informer(resource.type))
        self._informers = context.informers
        self._custom = CustomKinds(self._follow_custom, self._forget_custom)
        definitions = context.informers.informer(CustomResourceDefinition)
        definitions.add_handler(self._custom.put, lambda old, new: self._custom.put(new), self._custom.remove)

    def _follow_custom(self, resource: Resource) -> None:
        self._follow(resource, self._informers.informer(resource.type))

    def _forget_custom(self, resource: Resource) -> None:
        left = self._informers.informer(resource.type).values()
        self._informers.forget(resource.type)
        for obj in left:
            self._look_at(self._graph.remove(obj))

    def _follow(self, resource: Resource, informer: Informer[Any]) -> None:
        def put(obj: ApiObject) -> None:
            self._look_at(self._graph.put(resource, obj))

        def remove(obj: ApiObject) -> None:
            self._look_at(self._graph.remove(obj))

        informer.add_handler(put, lambda old, new: put(new), remove)

    def _look_at(self, uids: Sequence[str]) -> None:
        for uid in uids:
            self.queue.add(Key("", uid))

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        item = self._graph.get(key.name)
        if item is None:
            return AwaitChange()
        if item.orphans_dependents:
            await self._orphan_dependents(item)
        elif item.waits_for_dependents:
            await self._wait_for_dependents(item)
        elif not item.deleting and self._graph.is_doubtful(item):
            return await self._collect(item)
        return AwaitChange()

    async def _orphan_dependents(self, item: Item) -> None:
        failures: list[Exception] = []
        for dependent in self._graph.dependents(item.uid):
            with collected(failures):
                live = await self._live(dependent)
                if live is not None:
                    await self._drop_references(dependent, live, (item.uid,))
        if failures:
            raise failures[0]
        await self._remove_finalizer(item, ORPHAN)

    async def _wait_for_dependents(self, item: Item) -> None:
        if not self._graph.blocking_dependents(item.uid):
            await self._remove_finalizer(item, FOREGROUND)
            return
        self._look_at([each.uid for each in self._graph.dependents(item.uid) if not each.deleting])

    async def _collect(self, item: Item) -> RequeueAfter | AwaitChange:
        live = await self._live(item)
        if live is None or live.deletion_timestamp is not None or not live.owner_references:
            return AwaitChange()
        self._report_far_owners(item, live)
        resources = [self._resource(ref) for ref in live.owner_references]
        if not item.key.namespace and any(each.namespaced for each in resources):
            return AwaitChange()  # invalid, and no retry can resolve it
        owners = Owners()
        for ref, resource in zip(live.owner_references, resources, strict=True):
            owners.add(ref, await self._standing(item, ref, resource))
        dependents = self._graph.dependents(item.uid)
        judgement = judge(live, owners, has_dependents=bool(dependents))
        match judgement:
            case Keep():
                pass
            case DropReferences(uids=uids):
                await self._drop_references(item, live, uids)
            case Delete(propagation=propagation):
                if owners.waiting and any(each.waits_for_dependents for each in dependents):
                    # The dependents wait for it while it would wait for them: break the circle.
                    live = await self._unblock_owners(item, live)
                await self._delete(item, live, propagation)
            case _:
                assert_never(judgement)
        unseen = any(self._graph.get(uid) is None for uid in owners.solid)
        return RequeueAfter(UNSEEN_OWNER_SECONDS) if unseen else AwaitChange()

    def _resource(self, ref: OwnerReference) -> Resource:
        """Return the resource that a reference names. Raises NotYet if that version is not served."""
        resource = served_resource(ref) or self._gated_resource(ref) or self._custom.named(ref)
        if resource is None:
            raise NotYet(f'no matches for kind "{ref.kind}" in version "{ref.api_version}"')
        return resource

    def _gated_resource(self, ref: OwnerReference) -> Resource | None:
        wanted = (ref.api_version, ref.kind)
        return next((each for each in self._gated if (each.group_version, each.kind) == wanted), None)

    async def _standing(self, item: Item, ref: OwnerReference, resource: Resource) -> Standing:
        owner = self._graph.get(ref.uid)
        if owner is not None and matches(ref, item.metadata, owner):
            return Standing.WAITING if owner.waits_for_dependents else Standing.SOLID
        where = owner_key(ref, item.metadata, resource)
        try:
            found: Any = await self.client.get(resource.type, where.name, where.namespace or None)
        except ApiError as error:
            if is_not_found(error):
                return Standing.DANGLING
            raise
        if found.metadata.uid != ref.uid:
            return Standing.DANGLING
        return Standing.WAITING if Item(resource, found.metadata).waits_for_dependents else Standing.SOLID

    async def _live(self, item: Item) -> ObjectMeta | None:
        """Return the object's metadata as the server has it now; None if it is gone or another by now."""
        try:
            found: Any = await self.client.get(item.resource.type, item.key.name, item.key.namespace or None)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise
        metadata: ObjectMeta = found.metadata
        return metadata if metadata.uid == item.uid else None

    async def _delete(self, item: Item, live: ObjectMeta, propagation: str) -> None:
        with unless_gone():
            await self.client.delete(
                item.resource.type,
                item.key.name,
                item.key.namespace or None,
                uid=item.uid,
                resource_version=live.resource_version or "",
                propagation=propagation,
            )

    async def _drop_references(self, item: Item, live: ObjectMeta, uids: Sequence[str]) -> None:
        await self._set_references(item, live, without_owners(live, uids))

    async def _unblock_owners(self, item: Item, live: ObjectMeta) -> ObjectMeta:
        """Let the owners go before the object; returns its metadata as stored."""
        unblocked = [
            structs.replace(ref, block_owner_deletion=False) if ref.block_owner_deletion else ref
            for ref in live.owner_references
        ]
        return await self._set_references(item, live, tuple(unblocked))

    async def _set_references(
        self, item: Item, live: ObjectMeta, references: tuple[OwnerReference, ...]
    ) -> ObjectMeta:
        if references == live.owner_references:
            return live
        plain = [to_builtins(ref) for ref in references]
        return await self._patch(item, {"ownerReferences": plain or None}, live)

    async def _remove_finalizer(self, item: Item, finalizer: str) -> None:
        live = await self._live(item)
        if live is None or finalizer not in live.finalizers:
            return
        left = [each for each in live.finalizers if each != finalizer]
        await self._patch(item, {"finalizers": left or None}, live)

    async def _patch(self, item: Item, metadata: dict[str, Any], live: ObjectMeta) -> ObjectMeta:
        """Change metadata if the object is still as ``live`` says; conflicts are the runner's to retry."""
        patch = {"metadata": {"uid": item.uid, "resourceVersion": live.resource_version, **metadata}}
        stored: ObjectMeta = live
        with unless_gone():
            found: Any = await self.client.patch(
                item.resource.type, item.key.name, patch, item.key.namespace or None
            )
            stored = found.metadata
        return stored

    def _report_far_owners(self, item: Item, live: ObjectMeta) -> None:
        """Record an event about each reference to an object that lives in another namespace."""
        for ref in live.owner_references:
            owner = self._graph.get(ref.uid)
            if owner is not None and owner.key.namespace not in ("", item.key.namespace):
                self._report(item, ref)

    def _report(self, item: Item, ref: OwnerReference) -> None:
        namespace = item.key.namespace
        what = f"{ref.api_version}/{ref.kind}, namespace: {namespace}, name: {ref.name}, uid: {ref.uid}"
        about = ObjectReference(
            kind=item.resource.kind,
            api_version=item.resource.group_version,
            namespace=namespace,
            name=item.key.name,
            uid=item.uid,
        )
        message = f'ownerRef [{what}] does not exist in namespace "{namespace}"'
        self._recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message)
