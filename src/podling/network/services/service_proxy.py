"""The loop of the service proxy: what changes in the API reaches the kernel at once.

Handlers of the informers only note which Service changed. The loop takes all that is noted, computes the
rules of those Services, and commits one transaction for each family of addresses; changes that come meanwhile
are the next transaction. What another program changes in the tables is restored at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from msgspec import Struct, structs

from podling import clock
from podling.api.core_v1 import Node, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.networking_v1 import ServiceCIDR
from podling.client.base import Key
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.network.nftables.monitor import Monitor
from podling.network.services import addresses
from podling.network.services.base_rules import Place
from podling.network.services.endpoint_slices import SliceRecord, port_here
from podling.network.services.health_checks import HealthCheck, HealthChecks, check_of
from podling.network.services.kernel_table import KernelTable
from podling.network.services.proxy_status import ProxyStatus
from podling.network.services.rendering import NodeView, node_view, render
from podling.network.services.rules import NOTHING, ServiceRules
from podling.network.services.service_ports import ServiceRecord, record_of
from podling.network.services.topology import policies_without_local
from podling.network.services.udp_cleanup import UdpCleanup
from podling.network.services.udp_flows import UdpService, udp_service
from podling.runtime.base import RuntimeFailure

logger = logging.getLogger(__name__)

CHECK_SECONDS = 60.0
"""Interval of the comparison with the kernel without any sign of a change."""
RESTORE_SECONDS = 1.0
"""The least time between two comparisons: another program may change the tables again and again."""
_AT_ONCE = 100
"""Services whose rules are computed in one turn of the event loop."""
_BY_SERVICE = "service"
_API = Key("default", "kubernetes")
"""The EndpointSlice of the API server."""


class ProxySettings(Struct, frozen=True):
    """The node that the proxy works for, and its names in the kernel."""

    node: str
    table: str
    """The common name of the tables."""
    bridge: str
    guards_api: bool = False
    """Keep the API server of this machine from other machines."""
    detects_local: bool = True
    """The addresses of this node's pods are known."""


class ServiceProxy:
    """The proxy of one node.

    Args:
        subnets: returns the addresses of the node's pods by family; raises ``RuntimeFailure`` while the pod
            network is not there.
    """

    def __init__(
        self,
        informers: InformerFactory,
        settings: ProxySettings,
        subnets: Callable[[], Mapping[str, str]],
        recorder: EventRecorder,
    ) -> None:
        self._settings = settings
        self._subnets = subnets
        self._recorder = recorder
        self._services = informers.informer(Service)
        self._slices = informers.informer(cast("type[SliceRecord]", EndpointSlice))
        self._slices.add_indexer(_BY_SERVICE, _service_of)
        self._ranges = informers.informer(ServiceCIDR)
        self._nodes = informers.informer(Node)
        self._tables: dict[str, KernelTable] = {}
        self._view = NodeView(name=settings.node)
        self._udp = {family: UdpCleanup(family) for family in addresses.FAMILIES}
        self.status = ProxyStatus(settings.node)
        self._checks = HealthChecks(settings.node, recorder, self.status.is_healthy)
        self._dirty: set[Key] = set()
        self._wake = asyncio.Event()
        self._next_check = 0.0
        self._last_check = 0.0
        self._services.add_handler(self._note, self._note_update, self._note)
        self._slices.add_handler(self._note_slice, self._note_slices, self._note_slice)
        self._ranges.add_handler(*[lambda *_: self._wake.set()] * 3)
        self._nodes.add_handler(self._note_node, lambda _, new: self._note_node(new), self._note_deletion)

    # ---- notes

    def _note(self, service: Service) -> None:
        self.status.metrics.count_change("service", clock.now())
        self._mark((Key(service.metadata.namespace or "", service.metadata.name or ""),))

    def _note_update(self, old: Service, new: Service) -> None:
        if record_of(old) != record_of(new):
            self._note(new)

    def _note_slice(self, found: SliceRecord) -> None:
        if found.service:
            self.status.metrics.count_change("endpoint", clock.now(), found.trigger)
            self._mark((Key(found.metadata.namespace or "", found.service),))

    def _note_slices(self, old: SliceRecord, new: SliceRecord) -> None:
        if (old.service, old.ports, old.endpoints) != (new.service, new.ports, new.endpoints):
            if old.service != new.service:
                self._note_slice(old)
            self._note_slice(new)

    def _note_node(self, node: Node) -> None:
        """A node's zone and addresses decide about the endpoints and sources of every Service."""
        if node.metadata.name != self._settings.node:
            return
        self.status.health.see(node)
        view = node_view(node, self._view.subnets)
        if view != self._view:
            self._view = view
            self._mark(self._all())

    def _note_deletion(self, node: Node) -> None:
        if node.metadata.name == self._settings.node:
            self.status.health.see(None)

    def _mark(self, keys: Iterable[Key]) -> None:
        self._dirty.update(keys)
        self.status.queue(self._tables)
        self._wake.set()

    def _all(self) -> set[Key]:
        known = {
            Key(each.metadata.namespace or "", each.metadata.name or "") for each in self._services.values()
        }
        return known.union(*(table.rules.keys() for table in self._tables.values()))

    # ---- the loop

    async def run(self) -> None:
        """Keep the kernel's tables as the API says until cancelled."""
        self._view = structs.replace(self._view, subnets=dict(self._subnets()))
        for each in (self._services, self._slices, self._ranges, self._nodes):
            await each.synced()
        self._start_table("ip")
        self._mark(self._all())
        monitor = Monitor(self._is_mine, self._is_own, self._suspect)
        monitor.start()
        try:
            await self._follow()
        finally:
            monitor.close()
            self._checks.close()
            tables, self._tables = self._tables, {}
            for table in tables.values():
                await table.close()

    async def _follow(self) -> None:
        self._last_check = clock.monotonic()
        self._next_check = self._last_check + CHECK_SECONDS
        while True:
            self._follow_places()
            await self._take_changes()
            if clock.monotonic() >= self._next_check:
                await self._check()
            await self._wait()

    def look_again(self) -> None:
        """Look soon whether the node's pods have other addresses now."""
        self._wake.set()

    def _follow_places(self) -> None:
        """Write all rules anew if the node's pods have other addresses, or the API server another port."""
        self._view = structs.replace(self._view, subnets=dict(self._subnets()))
        moved = [
            (table, place)
            for family, table in self._tables.items()
            if (place := self._place(family)) != table.place
        ]
        for table, place in moved:
            table.move(place)
        if moved:
            self._mark(self._all())

    def _place(self, family: str) -> Place:
        api = self._slices.get(_API) if self._settings.guards_api else None
        return Place(
            family,
            self._settings.table,
            self._settings.bridge,
            self._view.subnets.get(family, ""),
            service_ranges=addresses.service_ranges(self._ranges.values(), family),
            guarded_port=port_here(api, self._view.addresses, family) if api else 0,
            detects_local=self._settings.detects_local,
        )

    def _start_table(self, family: str) -> KernelTable:
        """Begin with a table. The rules of the last run stay until they are compared with the wanted."""
        table = KernelTable(self._place(family))
        self._tables[family] = table
        return table

    async def _wait(self) -> None:
        """Wait for a change, or for the time of the next check."""
        try:
            async with asyncio.timeout(self._next_check - clock.monotonic()):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _take_changes(self) -> None:
        """Carry out what was noted. Should that fail, it is noted again, and the supervisor starts anew."""
        self._wake.clear()
        dirty, self._dirty = self._dirty, set()
        triggers = self.status.metrics.take_triggers()
        try:
            await self._carry_out(sorted(dirty))
        except BaseException:
            self._mark(dirty)
            raise
        if dirty:
            self.status.finish(self._tables, triggers)
        if self._dirty:
            self.status.queue(self._tables)

    async def _carry_out(self, keys: list[Key]) -> None:
        changes: dict[str, dict[Key, ServiceRules]] = {family: {} for family in addresses.FAMILIES}
        served: dict[str, dict[Key, UdpService]] = {family: {} for family in addresses.FAMILIES}
        checks: dict[Key, HealthCheck | None] = {}
        for done, key in enumerate(keys):
            if done % _AT_ONCE == _AT_ONCE - 1:
                await clock.sleep(0)
            service = self._services.get(key)
            record = record_of(service) if service is not None else None
            slices = self._slices.by_index(_BY_SERVICE, str(key))
            checks[key] = check_of(record, slices, self._settings.node)
            for family in addresses.FAMILIES:
                self._count_local(key, record, slices, family)
                changes[family][key] = render(record, slices, self._view, family) if record else NOTHING
                served[family][key] = udp_service(record, slices, family) if record else UdpService()
        for family, rules in changes.items():
            if table := self._table_for(family, rules):
                await self._put(family, table, rules)
                await self._udp[family].put(served[family])
        await self._checks.put(checks)

    def _count_local(
        self, key: Key, record: ServiceRecord | None, slices: tuple[SliceRecord, ...], family: str
    ) -> None:
        node = self._settings.node
        policies = policies_without_local(record, slices, family, node) if record else frozenset()
        self.status.metrics.put_without_local(key, family, policies)

    async def _put(self, family: str, table: KernelTable, rules: dict[Key, ServiceRules]) -> None:
        begun, is_full = clock.monotonic(), not table.is_known
        if not rules and not is_full:
            return
        try:
            await table.put(rules)
        except RuntimeFailure:
            self.status.metrics.count_failure(family)
            raise
        self.status.metrics.observe_sync(family, clock.monotonic() - begun, full=is_full)

    def _table_for(self, family: str, changes: dict[Key, ServiceRules]) -> KernelTable | None:
        """Return the table of a family. That of IPv6 is not made before a Service needs it."""
        table = self._tables.get(family)
        if table is None and any(rules != NOTHING for rules in changes.values()):
            return self._start_table(family)
        return table

    # ---- foreign changes

    def _is_mine(self, table: str) -> bool:
        return table == self._settings.table

    def _is_own(self, number: int) -> bool:
        return any(table.owns(number) for table in self._tables.values())

    def _suspect(self) -> None:
        """Compare soon: another program may have changed a table."""
        self._next_check = min(self._next_check, self._last_check + RESTORE_SECONDS)
        self._wake.set()

    async def _check(self) -> None:
        """Restore what another program changed in the tables."""
        self._last_check = clock.monotonic()
        self._next_check = self._last_check + CHECK_SECONDS
        for table in self._tables.values():
            if wrong := await table.restore():
                logger.warning("%s; it is restored", wrong)
                self._report(wrong)

    def _report(self, wrong: str) -> None:
        node = self._nodes.get(Key("", self._settings.node))
        if node is not None:
            self._recorder.event(node, "Warning", "ServiceRulesRestored", wrong)


def _service_of(found: SliceRecord) -> Iterable[str]:
    return (str(Key(found.metadata.namespace or "", found.service)),) if found.service else ()
