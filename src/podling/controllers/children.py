"""Objects of one kind that objects of another own: pods of a replica set, replica sets of a deployment.

Three parts that every controller of owned objects needs:

* **waking**: a change of a child wakes its owner; a change of an orphan wakes every owner that would
  take it;
* **claiming**: an orphan that matches an owner's selector is adopted, a child that stopped matching
  is released, as ``controller_ref_manager`` does it;
* **own writes**: after an owner's children were created or deleted, its controller must not decide
  again before the informer shows it, or it would do the work twice; see ``settled``. Nothing times out:
  the event that settles an owner also wakes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from msgspec import to_builtins

from podling.api.meta_v1 import LabelSelector as Selection
from podling.client.base import ApiObject, Client, Key, key_of
from podling.client.informer import Informer, revision_number
from podling.client.workqueue import WorkQueue
from podling.controllers.owner_references import (
    controller_of,
    controller_reference,
    is_kind_of,
    without_owners,
)
from podling.controllers.refusals import collected
from podling.machinery.errors import ApiError, conflict, is_not_found
from podling.machinery.scheme import resource_of
from podling.machinery.selectors import LabelSelector, readable_selector

O = TypeVar("O", bound=ApiObject)  # noqa: E741 owner
C = TypeVar("C", bound=ApiObject)

BY_CONTROLLER = "controller"
BY_NAMESPACE = "namespace"


def controller_index(obj: ApiObject) -> Iterable[str]:
    """Objects by the UID of what manages them, orphans by ``/<namespace>``."""
    ref = controller_of(obj)
    return (ref.uid if ref is not None else f"/{obj.metadata.namespace or ''}",)


def namespace_index(obj: ApiObject) -> Iterable[str]:
    return (obj.metadata.namespace or "",)


class SelectingSpec(Protocol):
    @property
    def selector(self) -> Selection | None: ...


class SelectingOwner(Protocol):
    """An owner that selects its children by labels."""

    @property
    def spec(self) -> SelectingSpec: ...


def child_selector(owner: SelectingOwner) -> LabelSelector | None:
    """Return the labels that an owner's children carry; None where that cannot be read, or would be all."""
    selector = readable_selector(owner.spec.selector)
    return None if selector is None or selector.empty else selector


class Children(Generic[O, C]):
    """The children of kind ``C`` of owners of kind ``O``.

    Args:
        queue: whose keys are owners.
        selector: which labels an owner's children carry; None for an owner that takes none.
        accepts: a further condition for the children of an owner, if there is one.
        finalizer: a finalizer that children get when they are adopted, and lose when they are released.
        adopts: orphans that match an owner's selector become its children.
        wakes_when_new: a new child wakes its owner. If not, only one that the owner wrote and waits for does.
    """

    def __init__(  # noqa: PLR0913 the parts of a family
        self,
        client: Client,
        owners: Informer[O],
        children: Informer[C],
        queue: WorkQueue[Key],
        selector: Callable[[O], LabelSelector | None],
        *,
        accepts: Callable[[O, C], bool] | None = None,
        finalizer: str = "",
        adopts: bool = True,
        wakes_when_new: bool = True,
    ) -> None:
        self._client = client
        self._owners = owners
        self._children = children
        self._queue = queue
        self._selector = selector
        self._accepts = accepts
        self._finalizer = finalizer
        self._adopts = adopts
        self._resource = resource_of(owners.kind)
        self._written: dict[Key, dict[str, int]] = {}  # UID to revision, by owner
        self._deleted: dict[Key, dict[str, Key]] = {}  # UID to key, by owner
        owners.add_indexer(BY_NAMESPACE, namespace_index)
        owners.add_handler(on_delete=self._forget)
        children.add_indexer(BY_CONTROLLER, controller_index)
        children.add_handler(
            self._wake if wakes_when_new else self._wake_waiting, self._wake_both, self._wake
        )

    def _forget(self, owner: O) -> None:
        key = key_of(owner)
        self._written.pop(key, None)
        self._deleted.pop(key, None)

    # Waking

    def _wake_both(self, old: C, new: C) -> None:
        before, after = self.owner_key(old), self.owner_key(new)
        if before is not None and before != after:
            self._queue.add(before)
        if after is not None or old.metadata.labels != new.metadata.labels or before is not None:
            self._wake(new)

    def _wake(self, child: C) -> None:
        if controller_of(child) is not None:
            key = self.owner_key(child)
            if key is not None:
                self._queue.add(key)
            return
        for owner in self._owners.by_index(BY_NAMESPACE, child.metadata.namespace or ""):
            selector = self._selector(owner)
            if selector is not None and selector.matches(child.metadata.labels):
                self._queue.add(key_of(owner))

    def _wake_waiting(self, child: C) -> None:
        key = self.owner_key(child)
        if key is None or child.metadata.uid in self._written.get(key, {}):
            self._wake(child)

    def owner_key(self, child: C) -> Key | None:
        """Return the key of the child's controller, if that is of our kind."""
        ref = controller_of(child)
        if ref is None or not is_kind_of(ref, self._resource):
            return None
        return Key(child.metadata.namespace or "", ref.name)

    # Claiming

    def owned(self, owner: O) -> tuple[C, ...]:
        """Return the children that the informer shows under the owner, without claiming any."""
        return self._children.by_index(BY_CONTROLLER, owner.metadata.uid or "")

    def has_orphans(self, namespace: str) -> bool:
        """Return whether the namespace has children without an owner, which a controller may adopt."""
        return self._children.count_index(BY_CONTROLLER, f"/{namespace}") > 0

    async def claim(self, owner: O) -> list[C]:
        """Return the owner's children, after adopting those that match and releasing those that do not.

        A child that cannot be adopted or released does not keep the others from it.

        Raises:
            ApiError, Unreachable: the first failure; a conflict, if there are children to adopt but the
                owner is being deleted, or was replaced, and the informer does not show it yet: orphans
                that it leaves behind are not missing children.
        """
        selector, mine = self._selector(owner), []
        failures: list[Exception] = []
        for child in self.owned(owner):
            if selector is not None and self._fits(owner, selector, child):
                mine.append(child)
            elif owner.metadata.deletion_timestamp is None:
                with collected(failures):
                    await self._release(owner, child)
        if self._adopts and owner.metadata.deletion_timestamp is None and selector is not None:
            with collected(failures):
                mine += await self._adopt_orphans(owner, selector, failures)
        if failures:
            raise failures[0]
        return mine

    async def _adopt_orphans(self, owner: O, selector: LabelSelector, failures: list[Exception]) -> list[C]:
        adopted: list[C] = []
        checked = False
        for child in self._children.by_index(BY_CONTROLLER, f"/{owner.metadata.namespace or ''}"):
            if child.metadata.deletion_timestamp or not self._fits(owner, selector, child):
                continue
            if not checked:
                await self._check_owner(owner)
                checked = True
            with collected(failures):
                if (mine := await self._adopt(owner, child)) is not None:
                    adopted.append(mine)
        return adopted

    def _fits(self, owner: O, selector: LabelSelector, child: C) -> bool:
        accepted = self._accepts is None or self._accepts(owner, child)
        return accepted and selector.matches(child.metadata.labels)

    async def _check_owner(self, owner: O) -> None:
        """Read the owner from the server: one that is being deleted or was replaced may not adopt."""
        name, resource = owner.metadata.name or "", self._resource
        try:
            live: Any = await self._client.get(self._owners.kind, name, owner.metadata.namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise
            live = None
        if live is None or live.metadata.uid != owner.metadata.uid:
            raise conflict(resource.plural, resource.group, name, f"{owner.metadata.uid} is gone")
        if live.metadata.deletion_timestamp is not None:
            raise conflict(resource.plural, resource.group, name, "it is being deleted")

    async def _adopt(self, owner: O, child: C) -> C | None:
        references = [
            *(to_builtins(each) for each in child.metadata.owner_references),
            to_builtins(controller_reference(owner)),
        ]
        present = child.metadata.finalizers
        missing = self._finalizer and self._finalizer not in present
        return await self._change(child, references, [*present, self._finalizer] if missing else None)

    async def _release(self, owner: O, child: C) -> None:
        left = without_owners(child.metadata, [owner.metadata.uid or ""])
        present = child.metadata.finalizers
        kept = [each for each in present if each != self._finalizer]
        await self._change(
            child, [to_builtins(each) for each in left], kept if len(kept) < len(present) else None
        )

    async def _change(self, child: C, references: list[Any], finalizers: list[str] | None) -> C | None:
        """Write owner references, and finalizers if they change; returns None for a child that is gone."""
        metadata = child.metadata
        changes: dict[str, Any] = {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "ownerReferences": references or None,
        }
        if finalizers is not None:
            changes["finalizers"] = finalizers or None
        try:
            return await self._client.patch(
                self._children.kind, metadata.name or "", {"metadata": changes}, metadata.namespace
            )
        except ApiError as error:
            if is_not_found(error):
                return None
            raise

    # Own writes

    def wrote(self, owner: Key, child: ApiObject) -> None:
        """Note that a child was created or changed: the owner is not settled before the informer shows it."""
        self._written.setdefault(owner, {})[child.metadata.uid or ""] = revision_number(child)

    def deleted(self, owner: Key, child: ApiObject) -> None:
        """Record that the deletion of a child was requested."""
        self._deleted.setdefault(owner, {})[child.metadata.uid or ""] = key_of(child)

    def settled(self, owner: Key) -> bool:
        """Return whether the informer shows everything that was written for this owner."""
        written, deleted = self._written.get(owner), self._deleted.get(owner)
        if written:
            for uid in [uid for uid, at in written.items() if self._children.revision >= at]:
                del written[uid]
        if deleted:
            for uid in [uid for uid, key in deleted.items() if self._shows_deleted(uid, key)]:
                del deleted[uid]
        if not written:
            self._written.pop(owner, None)
        if not deleted:
            self._deleted.pop(owner, None)
        return not written and not deleted

    def _shows_deleted(self, uid: str, key: Key) -> bool:
        held = self._children.get(key)
        return held is None or held.metadata.uid != uid or held.metadata.deletion_timestamp is not None
