"""Readiness and protected deletion of ServiceCIDRs.

A ServiceCIDR with addresses of Services that no other one contains stays, with the condition ``Ready`` False,
until they are gone or another one covers them. Upstream: ``pkg/controller/servicecidrs``.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.networking_v1 import IPAddress, ServiceCIDR
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers import service_cidr_rules as rules
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import ApiError, is_conflict

NOT_READY = "The ServiceCIDR Status can not be set to Ready=True"


class ServiceCIDRController(Controller):
    """The keys are ServiceCIDRs."""

    name: ClassVar[str] = "service-cidr-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder(self.name)
        self._ranges = context.informers.informer(ServiceCIDR)
        self._addresses = context.informers.informer(IPAddress)
        self._ranges.add_handler(self._added, self.enqueue_changed, self._added)
        self._addresses.add_handler(self._address_changed, None, self._address_changed)

    def _added(self, obj: ServiceCIDR) -> None:
        self.enqueue(obj)
        for each in rules.overlapping(obj, self._ranges.values()):
            self.enqueue(each)

    def _address_changed(self, address: IPAddress) -> None:
        """Wake the ServiceCIDRs whose deletion an address holds up, or no longer does."""
        ending = (each for each in self._ranges.values() if each.metadata.deletion_timestamp is not None)
        for each in rules.containing(address, ending):
            self.enqueue(each)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        found = self._ranges.get(key)
        if found is None:
            return AwaitChange()
        if found.metadata.deletion_timestamp is not None:
            return await self._end(found)
        if rules.FINALIZER not in found.metadata.finalizers:
            found = await self._write_finalizers(found, (*found.metadata.finalizers, rules.FINALIZER))
        ready = rules.with_ready(found, clock.now())
        if ready is not found:
            try:
                await self.write_status(ready)
            except ApiError as error:
                if not is_conflict(error):
                    self._recorder.event(found, "Warning", "KubernetesServiceCIDRError", NOT_READY)
                raise
        return AwaitChange()

    async def _end(self, found: ServiceCIDR) -> RequeueAfter | AwaitChange:
        now = clock.now()
        if not rules.can_end(found, self._ranges.values(), self._addresses.values()):
            blocked = rules.with_terminating(found, now)
            if blocked is not found:
                await self.write_status(blocked)
            return AwaitChange()
        seconds = rules.remaining_seconds(found, now)
        if seconds > 0:
            return RequeueAfter(seconds)
        left = tuple(name for name in found.metadata.finalizers if name != rules.FINALIZER)
        if left != found.metadata.finalizers:
            await self._write_finalizers(found, left)
        return AwaitChange()

    async def _write_finalizers(self, found: ServiceCIDR, finalizers: tuple[str, ...]) -> ServiceCIDR:
        metadata = structs.replace(found.metadata, finalizers=finalizers)
        return await self.client.update(structs.replace(found, metadata=metadata))
