"""Slices for Endpoints that users write by hand: for services without a selector.

The service proxy and DNS read slices only; this controller copies the addresses of Endpoints objects for
them. ``mirror_rules`` decides. Endpoints with the label ``skip-mirror`` are left alone. Upstream:
``pkg/controller/endpointslicemirroring``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from podling.api.core_v1 import Endpoints, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children
from podling.controllers.endpoints import mirror_rules as rules
from podling.controllers.endpoints.mirror_metrics import MirrorMetrics
from podling.controllers.endpoints.slice_changes import ChangeFailed, ManagedSlices, carry_out
from podling.controllers.endpoints.slice_rules import Changes
from podling.controllers.refusals import is_namespace_terminating


class EndpointSliceMirroringController(Controller):
    """The keys are Endpoints, which are named as their services are."""

    name: ClassVar[str] = "endpointslice-mirroring-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._metrics = MirrorMetrics()
        self._recorder = context.recorder("endpoint-slice-mirroring-controller")
        self._endpoints = context.informers.informer(Endpoints)
        self._services = context.informers.informer(Service)
        slices = context.informers.informer(EndpointSlice)
        self._endpoints.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._services.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._children = Children(context.client, self._endpoints, slices, self.queue, lambda owner: None)
        self._slices = ManagedSlices(slices, rules.MANAGER, self.queue)

    async def reconcile(self, key: Key) -> AwaitChange:
        if self._children.settled(key):
            with self._metrics.sync():
                await self._mirror(key)
        return AwaitChange()

    def families(self) -> Iterator[Any]:
        return self._metrics.families()

    async def _mirror(self, key: Key) -> None:
        endpoints, present = self._endpoints.get(key), self._slices.of(key)
        if endpoints is None or not rules.should_mirror(endpoints, self._services.get(key)):
            self._metrics.forget(key)
            changes = Changes(delete=present)
        else:
            changes = self._mirrored(key, endpoints, present)
        try:
            await carry_out(self.client, key, "Endpoints", self._children, changes)
        except ChangeFailed as failed:
            cause = failed.__cause__
            if cause is not None and not is_namespace_terminating(cause):
                raise cause from None
        else:
            self._metrics.record_written(changes)

    def _mirrored(self, key: Key, endpoints: Endpoints, present: list[EndpointSlice]) -> Changes:
        wanted, skipped = rules.desired(endpoints)
        self._metrics.record_fill(key, present, wanted, skipped)
        if skipped:
            message = (
                f"A max of {rules.ADDRESSES_MAX} addresses can be mirrored to EndpointSlices "
                f"per Endpoints subset. {skipped} addresses were skipped"
            )
            self._recorder.event(endpoints, "Warning", "TooManyAddressesToMirror", message)
        changes = rules.arrange_mirrors(rules.owner_of(endpoints), present, wanted)
        if endpoints.metadata.deletion_timestamp is not None:
            changes.create = []
        return changes
