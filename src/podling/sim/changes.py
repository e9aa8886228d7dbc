"""Changes of the cluster's objects, as typed values, made from the store's own writes.

They do not come through the API server, so they show everything that was ever stored, also while it is away.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from podling import clock
from podling.apiserver.registry.objects import object_of
from podling.machinery.resource import Resource
from podling.machinery.scheme import RESOURCES
from podling.store.base import DELETE, Entry, Event

_BY_PREFIX = {each.key_prefix: each.storage_resource for each in RESOURCES if each.stored}


class Change(Struct, frozen=True, eq=False):
    """One change. ``old`` is None for a creation, ``new`` for a deletion, whose last state is ``last``."""

    at: datetime
    revision: int
    resource: Resource
    namespace: str
    name: str
    old: Any
    new: Any
    last: Any

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def key(self) -> str:
        """The object in texts: ``pods/default/web``."""
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.plural}/{place}"


def place_of(key: str) -> tuple[Resource, str, str] | None:
    """Return resource, namespace and name of a store key; None for objects of kinds made at run time."""
    parts = key.rsplit("/", 2)
    if len(parts) == 3:
        resource = _BY_PREFIX.get(f"{parts[0]}/")
        if resource is not None and resource.namespaced:
            return resource, parts[1], parts[2]
        resource = _BY_PREFIX.get(f"{parts[0]}/{parts[1]}/")
        if resource is not None and not resource.namespaced:
            return resource, "", parts[2]
    return None


def change_of(event: Event) -> Change | None:
    """Return the change of a stored object; None for one of a kind made at run time."""
    place = place_of(event.entry.key)
    if place is None:
        return None
    resource, namespace, name = place
    last = _object(event.entry, resource)
    old = _object(event.previous, resource) if event.previous is not None else None
    new = None if event.type is DELETE else last
    return Change(clock.steady_now(), event.revision, resource, namespace, name, old, new, last)


def _object(entry: Entry, resource: Resource) -> Any:
    return object_of(entry, resource.type)
