"""The loop that keeps an IPAddress for each address of a Service, and reports numbers that cannot be.

The Services say which addresses are in use; the IPAddresses follow within milliseconds, also those of a
cluster that ran before without them. An IPAddress that another program deletes or changes is restored.

Upstream: ``pkg/registry/core/service/ipallocator/controller``, ``.../portallocator/controller``; both run in
kube-apiserver.
"""

from __future__ import annotations

from ipaddress import ip_address

from podling import clock
from podling.api.core_v1 import Service
from podling.api.networking_v1 import IPAddress, ServiceCIDR
from podling.apiserver.registry.address_pool import can_have, parse_address
from podling.apiserver.registry.service_numbers import addresses_of, networks_of
from podling.apiserver.service_repair_rules import AddressPlan, Notice, plan_address, port_notices
from podling.client.base import Client, Key
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.client.runner import AwaitChange, Runner
from podling.client.workqueue import WorkQueue
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling.machinery.network_ranges import NetworkRanges
from podling.supervisor import Supervisor

ADDRESS_COMPONENT = "ipallocator-repair-controller"
PORT_COMPONENT = "portallocator-repair-controller"
INTERVAL_SECONDS = 180.0
"""Between two looks at all Services (upstream: ``RepairServicesInterval``)."""
_WORKERS = 5
_BY_ADDRESS = "address"


def _address_texts(service: Service) -> list[str]:
    return [str(address) for address in addresses_of(service.spec)]


class ServiceRepair:
    """The loop. The keys of its queue are addresses."""

    def __init__(
        self, client: Client, ranges: NetworkRanges, addresses: EventRecorder, ports: EventRecorder
    ) -> None:
        self._client = client
        self._ports = ranges.node_ports
        self._recorders = (addresses, ports)

    async def run(self) -> None:
        """Work until cancelled."""
        self._queue: WorkQueue[Key] = WorkQueue()
        self._deleted: set[str] = set()
        informers = InformerFactory(self._client)
        self._services = informers.informer(Service)
        self._addresses = informers.informer(IPAddress)
        self._ranges = informers.informer(ServiceCIDR)
        self._services.add_indexer(_BY_ADDRESS, _address_texts)
        self._services.add_handler(self._wake, self._wake_both, self._wake)
        self._addresses.add_handler(
            self._wake_one, lambda old, new: self._wake_one(new), self._address_deleted
        )
        self._ranges.add_handler(self._wake_all, lambda old, new: None, self._wake_all)
        async with Supervisor() as supervisor:
            supervisor.keep_running("informers", informers.run)
            await informers.synced()
            runner = Runner(self, self._queue, _WORKERS, ADDRESS_COMPONENT)
            supervisor.keep_running("addresses", runner.run)
            late = 0.0
            while True:
                if self._look_at_all():
                    await clock.sleep(INTERVAL_SECONDS - late)  # the problem is reported again then
                    late = 0.0
                else:
                    late = await clock.sleep_until_round(INTERVAL_SECONDS, late=late)

    # ---- wakes

    def _wake(self, service: Service) -> None:
        for address in addresses_of(service.spec):
            self._queue.add(Key("", str(address)))

    def _wake_both(self, old: Service, new: Service) -> None:
        if old.spec is not new.spec and old.spec != new.spec:
            self._wake(old)
            self._wake(new)

    def _wake_one(self, address: IPAddress) -> None:
        self._queue.add(Key("", address.metadata.name or ""))

    def _address_deleted(self, address: IPAddress) -> None:
        self._deleted.add(address.metadata.name or "")
        self._wake_one(address)

    def _wake_all(self, changed: ServiceCIDR) -> None:
        for service in self._services.values():
            self._wake(service)

    def _look_at_all(self) -> bool:
        """Wake the addresses with a problem, and report node ports with one; return whether there are any."""
        found = False
        services = sorted(self._services.values(), key=lambda each: str(each.metadata.creation_timestamp))
        for service in services:
            for address in addresses_of(service.spec):
                text = str(address)
                if len(self._services.by_index(_BY_ADDRESS, text)) > 1 or not self._is_in_range(text):
                    self._queue.add(Key("", text))
                    found = True
        for notice in port_notices(services, self._ports):
            self._record(self._recorders[1], notice)
            found = True
        return found

    # ---- work

    async def reconcile(self, key: Key) -> AwaitChange:
        text = key.name
        if parse_address(text) is None:
            return AwaitChange()
        owners = list(self._services.by_index(_BY_ADDRESS, text))
        found = self._addresses.get(key)
        deleted = text in self._deleted and found is None
        self._deleted.discard(text)
        plan = plan_address(text, owners, found, in_range=self._is_in_range(text), deleted=deleted)
        await self._carry_out(plan)
        return AwaitChange()

    async def _carry_out(self, plan: AddressPlan) -> None:
        if plan.delete is not None:
            metadata = plan.delete.metadata
            try:
                await self._client.delete(IPAddress, metadata.name or "", uid=metadata.uid or "")
            except ApiError as error:
                if not is_not_found(error):
                    raise
        if plan.create is not None:
            try:
                await self._client.create(plan.create)
            except ApiError as error:
                if is_already_exists(error):  # the informer is behind, or a new owner has taken it
                    return
                raise
        for notice in plan.notices:
            self._record(self._recorders[0], notice)

    def _is_in_range(self, text: str) -> bool:
        address = ip_address(text)
        return any(
            can_have(network, address) for each in self._ranges.values() for network in networks_of(each)
        )

    def _record(self, recorder: EventRecorder, notice: Notice) -> None:
        recorder.event(notice.regarding, "Warning", notice.reason, notice.message)
