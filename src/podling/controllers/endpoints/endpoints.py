"""The Endpoints object of every service that selects pods, for clients that do not know slices.

One object per service, named after it; ``subset_rules`` decides what it says.
Upstream: ``pkg/controller/endpoint``.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import structs

from podling.api.core_v1 import Endpoints, Service
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange
from podling.controllers.base import ControllerContext
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.service_pods import ServicePodsController
from podling.controllers.endpoints.slice_rules import HEADLESS
from podling.controllers.endpoints.subset_rules import subsets_of, truncated
from podling.controllers.endpoints.trigger_times import TriggerTimes, triggered
from podling.controllers.pod_index import pods_with
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError, is_already_exists, unless_gone

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
MANAGER = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


class EndpointsController(ServicePodsController):
    """The keys are services."""

    name: ClassVar[str] = "endpoints-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("endpoint-controller")
        self._endpoints = context.informers.informer(Endpoints)
        self._triggers = TriggerTimes()
        self._left: set[Key] = set()
        """Services that were deleted: their Endpoints go with them, also those of other writers."""
        self._services.add_handler(self.enqueue, self.enqueue_new, self._leave)
        self._endpoints.add_handler(self._left_over, self.enqueue_new, self.enqueue)

    def _leave(self, service: Service) -> None:
        self._left.add(key_of(service))
        self.enqueue(service)

    def _left_over(self, endpoints: Endpoints) -> None:
        """Enqueue, at the start, objects whose service was deleted while the controller was not running."""
        if endpoints.metadata.labels.get(MANAGED_BY) == MANAGER:
            self.enqueue(endpoints)

    async def reconcile(self, key: Key) -> AwaitChange:
        service, held = self._services.get(key), self._endpoints.get(key)
        if service is None:
            self._triggers.forget(key)
            managed = held is not None and held.metadata.labels.get(MANAGED_BY) == MANAGER
            if managed or key in self._left:
                await self._delete(key, held)
        self._left.discard(key)
        if service is not None and rules.has_endpoints(service):
            await self._reconcile_service(key, service, held)
        return AwaitChange()

    async def _reconcile_service(self, key: Key, service: Service, held: Endpoints | None) -> None:
        pods = pods_with(self._pods, key.namespace, service.spec.selector)
        trigger = self._triggers.take(key, service, pods)
        wanted = _wanted(service, held)
        every = subsets_of(service, pods)
        fewer = truncated(every)
        annotations = {OVER_CAPACITY: "truncated"} if fewer is not None else {}
        metadata = structs.replace(
            wanted.metadata, annotations={**_without_capacity(wanted.metadata), **annotations}
        )
        wanted = structs.replace(wanted, metadata=metadata, subsets=every if fewer is None else fewer)
        if wanted == held:
            return
        wanted = structs.replace(wanted, metadata=triggered(metadata, trigger))
        try:
            await (self.client.create(wanted) if held is None else self.client.update(wanted))
        except ApiError as error:
            if is_namespace_terminating(error) or is_already_exists(error):
                return  # an object that is there already wakes us when it is seen
            self._report(key, wanted, error, is_new=held is None)
            raise

    def _report(self, key: Key, wanted: Endpoints, error: ApiError, *, is_new: bool) -> None:
        if is_new:
            reason, text = "FailedToCreateEndpoint", f"Failed to create endpoint for service {key}: {error}"
        else:
            reason, text = "FailedToUpdateEndpoint", f"Failed to update endpoint {key}: {error}"
        self._recorder.event(wanted, "Warning", reason, text)

    async def _delete(self, key: Key, held: Endpoints | None) -> None:
        uid = held.metadata.uid if held is not None else None
        with unless_gone():
            await self.client.delete(Endpoints, key.name, key.namespace, uid=uid or "")


def _wanted(service: Service, held: Endpoints | None) -> Endpoints:
    """Return the object with the labels that it should have."""
    labels = {**service.metadata.labels, MANAGED_BY: MANAGER}
    labels.pop(HEADLESS, None)
    if rules.is_headless(service):
        labels[HEADLESS] = ""
    if held is not None:
        return structs.replace(held, metadata=structs.replace(held.metadata, labels=labels))
    metadata = ObjectMeta(name=service.metadata.name, namespace=service.metadata.namespace, labels=labels)
    return Endpoints(metadata=metadata)


def _without_capacity(metadata: ObjectMeta) -> dict[str, str]:
    return {name: text for name, text in metadata.annotations.items() if name != OVER_CAPACITY}
