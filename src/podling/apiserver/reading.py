"""Reading stored objects without a request: for admission, authorisation and the server's own needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from podling.apiserver.objects import object_of
from podling.client.base import ApiObject
from podling.machinery.scheme import resource_of
from podling.store.base import Store

T = TypeVar("T", bound=ApiObject)


class StoredObjects:
    """``admission.base.Objects`` over a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        entry = self._store.peek(resource_of(kind).key(namespace, name))
        return None if entry is None else object_of(entry, kind)

    async def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        page = await self._store.list(resource_of(kind).namespace_prefix(namespace))
        return tuple(object_of(entry, kind) for entry in page.entries)
