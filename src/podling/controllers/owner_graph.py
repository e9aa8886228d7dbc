"""The graph of all objects and their owners, for the garbage collector.

Informers feed it, so it may lag; it names the objects to check after a change, and the collector reads from
the server itself before it deletes an object for an owner that is absent.
"""

from __future__ import annotations

from msgspec import Struct

from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import ApiObject, Key
from podling.controllers.owner_references import is_kind_of, owner_key, served_resource
from podling.machinery.scheme import Resource

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class Item(Struct, frozen=True):
    """One object, by its metadata."""

    resource: Resource
    metadata: ObjectMeta

    @property
    def uid(self) -> str:
        return self.metadata.uid or ""

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace or "", self.metadata.name or "")

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def waits_for_dependents(self) -> bool:
        """True if it goes only after what it owns (foreground deletion)."""
        return self.deleting and FOREGROUND in self.metadata.finalizers

    @property
    def orphans_dependents(self) -> bool:
        """True if what it owns shall stay without an owner."""
        return self.deleting and ORPHAN in self.metadata.finalizers

    def reference_to(self, owner: str) -> OwnerReference | None:
        return next((ref for ref in self.metadata.owner_references if ref.uid == owner), None)


def matches(ref: OwnerReference, dependent: ObjectMeta, owner: Item) -> bool:
    """Return whether the reference names the owner as it is: kind, name and namespace, not the UID alone."""
    resource = served_resource(ref)
    if resource is None and is_kind_of(ref, owner.resource):
        resource = owner.resource
    return resource is owner.resource and owner_key(ref, dependent, resource) == owner.key


class OwnerGraph:
    """Objects by UID, and their dependents."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, uid: str) -> Item | None:
        return self._items.get(uid)

    def dependents(self, uid: str) -> list[Item]:
        """Return the objects with an owner reference to ``uid``, in the order in which they were seen."""
        return [self._items[each] for each in self._dependents.get(uid, ())]

    def blocking_dependents(self, uid: str) -> list[Item]:
        """Return the dependents that hold up the foreground deletion of ``uid``."""
        found = []
        for item in self.dependents(uid):
            ref = item.reference_to(uid)
            if ref is not None and ref.block_owner_deletion:
                found.append(item)
        return found

    def put(self, resource: Resource, obj: ApiObject) -> list[str]:
        """Take in an object as it is now; returns the UIDs of what should be looked at."""
        item = Item(resource, obj.metadata)
        old = self._items.get(item.uid)
        self._items[item.uid] = item
        look = []
        if old is None:
            look += self._misnamed_dependents(item)
        if old is None or old.metadata.owner_references != item.metadata.owner_references:
            look += self._relink(old, item)
        if item.waits_for_dependents or item.orphans_dependents:
            look.append(item.uid)
        return look

    def remove(self, obj: ApiObject) -> list[str]:
        """Forget an object that is gone; returns the UIDs of what should be looked at."""
        uid = obj.metadata.uid or ""
        item = self._items.pop(uid, None)
        look = list(self._dependents.get(uid, ()))
        if item is not None:
            for ref in item.metadata.owner_references:
                self._unlink(uid, ref.uid)
                look += self._waiting(ref.uid)
        return look

    def _relink(self, old: Item | None, item: Item) -> list[str]:
        """Move a new or changed object under its owners."""
        look = []
        for ref in old.metadata.owner_references if old is not None else ():
            self._unlink(item.uid, ref.uid)
            look += self._waiting(ref.uid)
        for ref in item.metadata.owner_references:
            self._dependents.setdefault(ref.uid, {})[item.uid] = None
        if old is not None or self.is_doubtful(item):
            look.append(item.uid)
        return look

    def _unlink(self, uid: str, owner: str) -> None:
        under = self._dependents.get(owner)
        if under is not None:
            under.pop(uid, None)
            if not under:
                del self._dependents[owner]

    def _waiting(self, owner: str) -> list[str]:
        """Return the owner, if it waits for its dependents to go."""
        item = self._items.get(owner)
        return [owner] if item is not None and item.waits_for_dependents else []

    def is_doubtful(self, item: Item) -> bool:
        """Return whether some owner was not seen, goes away, or is not what the reference says."""
        for ref in item.metadata.owner_references:
            owner = self._items.get(ref.uid)
            if owner is None or owner.waits_for_dependents or not matches(ref, item.metadata, owner):
                return True
        return False

    def _misnamed_dependents(self, owner: Item) -> list[str]:
        """Return the objects that named a new object by UID before it was seen, with wrong coordinates."""
        found = []
        for item in self.dependents(owner.uid):
            ref = item.reference_to(owner.uid)
            if ref is not None and not matches(ref, item.metadata, owner):
                found.append(item.uid)
        return found
