"""Metrics of writes to the store: counts and latencies, under Kubernetes' names for etcd.

Reads come from memory and are not counted, as Kubernetes does not count reads from its watch cache.
Source of names and labels: ``apiserver/pkg/storage/etcd3/metrics``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from podling import clock
from podling.machinery import errors
from podling.machinery.histograms import REQUEST_SECONDS, Histogram, counters, gauges, histograms
from podling.machinery.scheme import group_versions
from podling.machinery.text_cache import cached_by_text
from podling.store.base import (
    Conflict,
    Encode,
    Entry,
    Store,
    StoreClosed,
    StoreError,
    ValueTooLarge,
    Watch,
    WriteFailed,
)

CLUSTER = "etcd-0"
_NAMES = ("operation", "group", "resource")

COLLECTIONS_MAX = 4096
"""Collections remembered before remembering starts afresh."""

_Key = tuple[str, str]
"""An operation and a kind."""


class MeteredStore:
    """A ``Store`` that counts its writes and fails with the API's errors; all else is the store's own."""

    def __init__(self, store: Store, written: Callable[[], object] = lambda: None) -> None:
        """``written``: called after every write that replaces or deletes a value."""
        self._store = store
        self._written = written
        self.history_beyond = store.history_beyond
        self.forget_derived = store.forget_derived
        self.get, self.peek, self.list, self.count = store.get, store.peek, store.list, store.count
        self.compact, self.close = store.compact, store.close
        self._durations: dict[_Key, Histogram] = {}
        self._of_collections: dict[tuple[str, str], Histogram] = {}
        """The same by operation and the collection that an object is in, such as the pods of a namespace."""
        self._failed: dict[_Key, int] = {}

    @property
    def revision(self) -> int:
        return self._store.revision

    @property
    def compacted(self) -> int:
        return self._store.compacted

    @property
    def trouble(self) -> str:
        return self._store.trouble

    @property
    def size_bytes(self) -> int:
        return self._store.size_bytes

    @property
    def history_bytes(self) -> int:
        return self._store.history_bytes

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        started, operation = clock.monotonic(), "update" if expect else "create"
        try:
            return await self._store.put(key, encode, expect=expect, memo=memo)
        except StoreError as error:
            self._note_failure(operation, key, error)
            raise _status_error(error) from error
        finally:
            self._observe(operation, key, started)

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        started = clock.monotonic()
        try:
            return await self._store.delete(key, expect=expect, encode=encode)
        except StoreError as error:
            self._note_failure("delete", key, error)
            raise _status_error(error) from error
        finally:
            self._observe("delete", key, started)

    def watch(self, prefix: str, *, after: int) -> Watch:
        try:
            return self._store.watch(prefix, after=after)
        except StoreClosed as error:
            raise _status_error(error) from error

    def _observe(self, operation: str, key: str, started: float) -> None:
        if operation != "create":
            self._written()
        found = self._of_collections.get((operation, key[: key.rfind("/")]))
        if found is None:
            found = self._histogram(operation, key)
        found.observe(clock.monotonic() - started)

    def _histogram(self, operation: str, key: str) -> Histogram:
        """Return where writes of this kind are counted, and remember it for the collection of ``key``."""
        kind = (operation, _kind(key))
        found = self._durations.get(kind)
        if found is None:
            found = self._durations[kind] = Histogram(REQUEST_SECONDS)
        if len(self._of_collections) >= COLLECTIONS_MAX:
            self._of_collections.clear()
        self._of_collections[operation, key[: key.rfind("/")]] = found
        return found

    def _note_failure(self, operation: str, key: str, error: StoreError) -> None:
        if not isinstance(error, Conflict):  # a concurrent write is no fault of the store
            kind = (operation, _kind(key))
            self._failed[kind] = self._failed.get(kind, 0) + 1

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        durations = {
            (operation, *_resource(kind)): found for (operation, kind), found in self._durations.items()
        }
        requests = {labels: found.count for labels, found in durations.items()}
        failed = {(operation, *_resource(kind)): count for (operation, kind), count in self._failed.items()}
        text = "[ALPHA] Etcd request counts for each operation and object type."
        yield counters("etcd_requests", text, _NAMES, requests)
        text = "[ALPHA] Etcd failed request counts for each operation and object type."
        yield counters("etcd_request_errors", text, _NAMES, failed)
        text = "[ALPHA] Etcd request latency in seconds for each operation and object type."
        yield histograms("etcd_request_duration_seconds", text, _NAMES, durations)
        size = {(CLUSTER,): self._store.size_bytes}
        text = "[STABLE] Size of the storage database file physically allocated in bytes."
        yield gauges("apiserver_storage_size_bytes", text, ("storage_cluster_id",), size)


def _status_error(error: StoreError) -> Exception:
    """Return a failure of the storage as the API reports it.

    As upstream when etcd has no space left (``etcdserver: mvcc: database space exceeded``): code 500, no
    reason, and the message is the storage's own (``responsewriters.ErrorToAPIStatus``).
    """
    if isinstance(error, ValueTooLarge):
        return errors.storage_too_large()
    if isinstance(error, WriteFailed):
        return errors.failure(500, "", str(error))
    if isinstance(error, StoreClosed):
        return errors.service_unavailable("the API server is shutting down")
    return error


_PREFIX = "/registry/"


@lru_cache(maxsize=1)
def _groups() -> frozenset[str]:
    """Return the groups whose names say so by nothing: ``apps``; all others have a dot."""
    return frozenset(group_versions()) - {""}


@cached_by_text(4096)
def _kind_of(collection: str) -> str:
    """``apps/replicasets`` or ``pods``, of the key of what an object is in."""
    first, *rest = collection.removeprefix(_PREFIX).split("/")
    return f"{first}/{rest[0]}" if rest and ("." in first or first in _groups()) else first


def _kind(key: str) -> str:
    return _kind_of(key.rpartition("/")[0])


def _resource(kind: str) -> tuple[str, str]:
    """Group and resource."""
    group, _, resource = kind.rpartition("/")
    return group, resource
