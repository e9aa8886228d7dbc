"""Reading stored objects without a request: for admission, authorisation and the server's own needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from podling.api.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from podling.api.core_v1 import LimitRange, ResourceQuota
from podling.api.networking_v1 import IngressClass
from podling.api.scheduling_v1 import PriorityClass
from podling.api.storage_v1 import StorageClass
from podling.apiserver.registry.objects import object_of
from podling.client.base import ApiObject
from podling.machinery.scheme import resource_of
from podling.store.base import Store, Watch

T = TypeVar("T", bound=ApiObject)

FOLLOWED = (
    LimitRange,
    ResourceQuota,
    PriorityClass,
    StorageClass,
    IngressClass,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
"""Kinds that admission lists for every write (or every pod, claim, ingress), and that hardly ever change."""


class StoredObjects:
    """``admission.base.Objects`` over a store. ``close`` it to end the watches that it keeps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._followed: dict[type[Any], _Followed] = {kind: _Followed(store, kind) for kind in FOLLOWED}

    def close(self) -> None:
        for each in self._followed.values():
            each.close()

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        entry = self._store.peek(resource_of(kind).key(namespace, name))
        return None if entry is None else object_of(entry, kind)

    async def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        followed = self._followed.get(kind)
        if followed is None:
            return await _listed(self._store, kind, namespace)
        watch = followed.watch
        found = None if watch is None or watch.behind else followed.lists.get(namespace)
        return await followed.list(namespace) if found is None else found

    def has_none(self, kind: type[Any]) -> bool:
        followed = self._followed[kind]
        return followed.is_empty and followed.watch is not None and not followed.watch.behind


class _Followed:
    """Cached lists of one kind, valid until an object of that kind changes."""

    def __init__(self, store: Store, kind: type[Any]) -> None:
        self._store = store
        self._kind = kind
        self.watch: Watch | None = None
        """Behind, or not there: anything may have changed since the last ``list``."""
        self.lists: dict[str, Sequence[Any]] = {}
        """By namespace; worth nothing when the watch is behind."""
        self.is_empty = False
        """There was no object when the watch began; worth nothing when it is behind."""

    async def list(self, namespace: str) -> Sequence[Any]:
        if self.watch is None or self.watch.behind:
            self.close()
            prefix = resource_of(self._kind).key_prefix
            self.watch = self._store.watch(prefix, after=self._store.revision)
            self.lists = {}
            self.is_empty = not self._store.count(prefix)
        lists = self.lists  # a change while we look replaces it, and what we find is not kept
        found = lists[namespace] = await _listed(self._store, self._kind, namespace)
        return found

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()
            self.watch = None


async def _listed(store: Store, kind: type[T], namespace: str) -> Sequence[T]:
    page = await store.list(resource_of(kind).namespace_prefix(namespace))
    return tuple(object_of(entry, kind) for entry in page.entries)
