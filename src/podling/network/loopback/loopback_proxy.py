"""Keeping the listeners of Services as the API describes them.

A change concerns the Services that it names only. A place that cannot be opened, because another program or
another cluster has it, is tried again; its Service has an event about it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Iterable
from typing import cast

from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Key, key_of
from podling.client.events import EventRecorder
from podling.client.informer import Informer
from podling.client.informer_factory import InformerFactory
from podling.network.loopback.added_addresses import AddedAddresses
from podling.network.loopback.places import Opening, Place, api_openings, openings_of
from podling.network.loopback.tcp import TcpListener
from podling.network.loopback.udp import UdpListener
from podling.network.services.endpoint_slices import SliceRecord
from podling.network.services.service_ports import record_of

logger = logging.getLogger(__name__)

REPAIR_SECONDS = 10.0
"""Interval of new tries for places that failed, and of the look whether the added addresses are there."""
_BY_SERVICE = "service"
_API_SERVER = Key("default", "kubernetes")
_TYPES: dict[str, type[TcpListener] | type[UdpListener]] = {"TCP": TcpListener, "UDP": UdpListener}
_REFUSED = (errno.EACCES, errno.EPERM, errno.EADDRNOTAVAIL)
"""Errors of a process that is not root, or of a machine without the address: an event would not help."""


class LoopbackProxy:
    """The proxy of one node.

    Args:
        informers: of Services, and of EndpointSlices as ``SliceRecord``.
        addresses: the Services' own addresses; None where they cannot be added.
        is_own: whether an address is one of this machine's.
    """

    def __init__(
        self,
        node: str,
        informers: InformerFactory,
        recorder: EventRecorder,
        addresses: AddedAddresses | None,
        is_own: Callable[[str], bool],
    ) -> None:
        self._node = node
        self._recorder = recorder
        self._addresses = addresses
        self._is_own = is_own
        self._services = informers.informer(Service)
        self._slices: Informer[SliceRecord] = informers.informer(cast("type[SliceRecord]", EndpointSlice))
        self._slices.add_indexer(_BY_SERVICE, _service_of)
        self._wanted: dict[Key, dict[Place, Opening]] = {}
        self._listeners: dict[Place, TcpListener | UdpListener] = {}
        self._reported: set[Place] = set()
        self._changed: set[Key] = set()
        self._wake = asyncio.Event()
        self._services.add_handler(self._note, lambda _, new: self._note(new), self._note)
        self._slices.add_handler(self._note_slice, self._note_slices, self._note_slice)

    def _note(self, service: Service) -> None:
        self._mark(key_of(service))

    def _note_slice(self, found: SliceRecord) -> None:
        if found.service:
            self._mark(Key(found.metadata.namespace or "", found.service))

    def _note_slices(self, old: SliceRecord, new: SliceRecord) -> None:
        if (old.service, old.ports, old.endpoints) != (new.service, new.ports, new.endpoints):
            self._note_slice(old)
            self._note_slice(new)

    def _mark(self, key: Key) -> None:
        self._changed.add(key)
        self._wake.set()

    async def run(self) -> None:
        """Keep the listeners open until cancelled; then close them and remove the added addresses."""
        try:
            await asyncio.gather(self._services.synced(), self._slices.synced())
            for service in self._services.values():
                self._note(service)
            while True:
                self._take_changes()
                await self._open_and_close()
                await self._wait()
        finally:
            await self._close_all()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(REPAIR_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _take_changes(self) -> None:
        self._wake.clear()
        changed, self._changed = self._changed, set()
        for key in changed:
            service = self._services.get(key)
            record = record_of(service) if service is not None else None
            if service is None or record is None:
                self._wanted.pop(key, None)
                continue
            slices = self._slices.by_index(_BY_SERVICE, str(key))
            found = openings_of(record, slices, self._node, self._is_own)
            if key == _API_SERVER and not found:
                found = api_openings(service, record)
            self._wanted[key] = found

    async def _open_and_close(self) -> None:
        wanted = {place: (key, each) for key, own in self._wanted.items() for place, each in own.items()}
        for place in self._listeners.keys() - wanted.keys():
            await self._listeners.pop(place).close()
        self._reported &= wanted.keys()
        self._hold_addresses()
        for place, (key, opening) in wanted.items():
            listener = self._listeners.get(place)
            if listener is None:
                await self._open(place, opening, key)
            else:
                listener.change(opening)

    def _hold_addresses(self) -> None:
        """Add the addresses of all Services, also of those without endpoints: they refuse connections."""
        if self._addresses is None:
            return
        services = filter(None, map(self._services.get, self._wanted))
        found = {address for service in services for address in service.spec.cluster_ips}
        try:
            self._addresses.hold(found)
        except OSError as error:
            logger.warning("the addresses of Services cannot be added to the loopback interface: %s", error)

    async def _open(self, place: Place, opening: Opening, key: Key) -> None:
        listener = _TYPES[place.protocol](place, opening)
        try:
            await listener.open()
        except OSError as error:
            self._report(place, key, error)
            return
        self._listeners[place] = listener
        self._reported.discard(place)

    def _report(self, place: Place, key: Key, error: OSError) -> None:
        if place in self._reported:
            return
        self._reported.add(place)
        text = f"can't open port {place}, skipping it: {error.strerror}"
        logger.info("service %s: %s", key, text)
        service = self._services.get(key)
        if service is not None and error.errno not in _REFUSED:
            self._recorder.event(service, "Warning", "PortNotOpened", text)

    async def _close_all(self) -> None:
        for listener in self._listeners.values():
            await listener.close()
        self._listeners.clear()
        if self._addresses is not None:
            self._addresses.remove()


def _service_of(found: SliceRecord) -> Iterable[str]:
    return (str(Key(found.metadata.namespace or "", found.service)),) if found.service else ()
