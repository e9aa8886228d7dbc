"""The node's half of the records: objects of informers become messages, all of them first, then changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import cast

from podling import clock, turns
from podling.api.core_v1 import Namespace, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Client, Key, key_of
from podling.client.informer import Informer
from podling.client.informer_factory import InformerFactory
from podling.network.dns.messages import (
    SERVICES_AT_ONCE,
    Begin,
    Complete,
    Namespaces,
    Services,
    ToServer,
    batches,
)
from podling.network.dns.records import encode_records, service_key
from podling.network.dns.service_records import SliceRecords, records_of, slice_records

GATHER_SECONDS = 0.005
"""Changes of so long a time are sent together."""
_BY_SERVICE = "dns/service"
_PIECE_BYTES = turns.LARGE_BYTES


class RecordFeed:
    """Turns objects into messages for one reader at a time."""

    def __init__(self, client: Client, informers: InformerFactory) -> None:
        self._services: Informer[Service] = informers.informer(Service)
        kind = cast("type[SliceRecords]", EndpointSlice)
        self.slices: Informer[SliceRecords] = Informer(client, kind, transform=slice_records)
        """Not shared: other components hold other parts of these objects."""
        self._namespaces: Informer[Namespace] = informers.informer(Namespace)
        self.slices.add_indexer(_BY_SERVICE, _services_of)
        self._changed: dict[Key, None] = {}
        self._namespaces_changed = False
        self._wake = asyncio.Event()
        self._services.add_handler(self._service, lambda old, new: self._service(new), self._service)
        self.slices.add_handler(self._slice, self._slice_update, self._slice)
        self._namespaces.add_handler(self._namespace, None, self._namespace)

    async def messages(self) -> AsyncIterator[ToServer]:
        """Yield everything, once the informers hold it, and from then on every change."""
        for informer in (self._services, self.slices, self._namespaces):
            await informer.synced()
        self._changed.clear()
        self._namespaces_changed = False
        yield Begin()
        yield self._all_namespaces()
        keys = [key_of(each) for each in self._services.values()]
        for start in range(0, len(keys), SERVICES_AT_ONCE):
            await turns.take(_PIECE_BYTES)
            for each in self._records(keys[start : start + SERVICES_AT_ONCE]):
                yield each
        yield Complete()
        while True:
            await self._wake.wait()
            await clock.sleep(GATHER_SECONDS)
            self._wake.clear()
            if self._namespaces_changed:
                self._namespaces_changed = False
                yield self._all_namespaces()
            keys, self._changed = list(self._changed), {}
            for start in range(0, len(keys), SERVICES_AT_ONCE):
                for each in self._records(keys[start : start + SERVICES_AT_ONCE]):
                    yield each

    def _all_namespaces(self) -> Namespaces:
        return Namespaces(tuple(each.metadata.name or "" for each in self._namespaces.values()))

    def _records(self, keys: Iterable[Key]) -> list[Services]:
        changed, gone = [], []
        for key in keys:
            service = self._services.get(key)
            if service is None:
                gone.append(service_key(key.namespace, key.name))
            else:
                slices = self.slices.by_index(_BY_SERVICE, str(key))
                changed.append(encode_records(records_of(service, slices)))
        found = [Services(each) for each in batches(changed)]
        return [*found, Services(gone=tuple(gone))] if gone else found

    # ---- changes

    def _note(self, key: Key) -> None:
        self._changed[key] = None
        self._wake.set()

    def _service(self, service: Service) -> None:
        self._note(key_of(service))

    def _slice(self, found: SliceRecords) -> None:
        for name in _services_of(found):
            namespace, _, service = name.partition("/")
            self._note(Key(namespace, service))

    def _slice_update(self, old: SliceRecords, new: SliceRecords) -> None:
        self._slice(old)
        self._slice(new)

    def _namespace(self, namespace: Namespace) -> None:
        self._namespaces_changed = True
        self._wake.set()


def _services_of(found: SliceRecords) -> tuple[str, ...]:
    return (str(Key(found.metadata.namespace or "", found.service)),) if found.service else ()
