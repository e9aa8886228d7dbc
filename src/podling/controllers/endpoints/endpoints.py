"""The Endpoints object of every service that selects pods, for clients that do not know slices.

One object per service, named after it: ready and not ready addresses by the ports they share. Upstream:
``pkg/controller/endpoint``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import structs

from podling.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    ObjectReference,
    Pod,
    Service,
)
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.base import ControllerContext
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.service_pods import ServicePodsController
from podling.controllers.pod_index import pods_with
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling.machinery.pods import is_ready

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
MANAGER = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
ADDRESSES_MAX = 1000


def subsets_of(service: Service, pods: Iterable[Pod]) -> tuple[EndpointSubset, ...]:
    """Return the service's addresses, those with the same ports together."""
    everyone = bool(service.spec.publish_not_ready_addresses)
    groups: dict[tuple[EndpointPort, ...], tuple[list[EndpointAddress], list[EndpointAddress]]] = {}
    for pod in pods:
        if not rules.may_serve(pod) or (pod.metadata.deletion_timestamp is not None and not everyone):
            continue
        address = _address(service, pod)
        ports = tuple(
            EndpointPort(
                name=each.name or "",
                port=each.port or 0,
                protocol=each.protocol or "",
                app_protocol=each.app_protocol,
            )
            for each in rules.ports_of(service, pod)
        )
        if address is None or (not ports and not rules.is_headless(service)):
            continue
        ready, waiting = groups.setdefault(ports, ([], []))
        (ready if everyone or is_ready(pod) else waiting).append(address)
    return tuple(
        EndpointSubset(
            addresses=tuple(sorted(ready, key=_by_ip)),
            not_ready_addresses=tuple(sorted(waiting, key=_by_ip)),
            ports=tuple(sorted(ports, key=lambda port: (port.name or "", port.port))),
        )
        for ports, (ready, waiting) in sorted(groups.items(), key=lambda item: repr(item[0]))
    )


def _address(service: Service, pod: Pod) -> EndpointAddress | None:
    family = rules.address_types(service)[0]
    own = rules.addresses_of(pod, family)
    if not own:
        return None
    in_subdomain = pod.spec.hostname and pod.spec.subdomain == service.metadata.name
    return EndpointAddress(
        ip=own[0],
        hostname=pod.spec.hostname if in_subdomain else "",
        node_name=pod.spec.node_name or None,
        target_ref=ObjectReference(
            kind="Pod", namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.metadata.uid
        ),
    )


def _by_ip(address: EndpointAddress) -> tuple[str, str]:
    return address.ip, (address.target_ref.uid or "") if address.target_ref else ""


def shortened(subsets: tuple[EndpointSubset, ...]) -> tuple[EndpointSubset, ...]:
    """At most a thousand addresses, ready ones before others; the very same if there are no more."""
    if sum(len(each.addresses) + len(each.not_ready_addresses) for each in subsets) <= ADDRESSES_MAX:
        return subsets
    room, kept = ADDRESSES_MAX, []
    for each in subsets:
        kept.append(structs.replace(each, addresses=each.addresses[:room], not_ready_addresses=()))
        room -= len(kept[-1].addresses)
    for number, each in enumerate(subsets):
        waiting = each.not_ready_addresses[:room]
        kept[number] = structs.replace(kept[number], not_ready_addresses=waiting)
        room -= len(waiting)
    return tuple(each for each in kept if each.addresses or each.not_ready_addresses)


class EndpointsController(ServicePodsController):
    """The keys are services."""

    name: ClassVar[str] = "endpoints-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("endpoint-controller")
        self._endpoints = context.informers.informer(Endpoints)
        self._services.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._endpoints.add_handler(self._left_over, self.enqueue_new, self.enqueue)

    def _left_over(self, endpoints: Endpoints) -> None:
        """Enqueue, at the start, objects whose service was deleted while the controller was not running."""
        if endpoints.metadata.labels.get(MANAGED_BY) == MANAGER:
            self.enqueue(endpoints)

    async def reconcile(self, key: Key) -> AwaitChange:
        service, held = self._services.get(key), self._endpoints.get(key)
        if service is None:
            if held is not None and held.metadata.labels.get(MANAGED_BY) == MANAGER:
                await self._delete(held)
            return AwaitChange()
        if not rules.has_endpoints(service) or service.metadata.deletion_timestamp is not None:
            return AwaitChange()
        every = subsets_of(service, pods_with(self._pods, key.namespace, service.spec.selector))
        subsets = shortened(every)
        try:
            await self._write(service, held, subsets, truncated=subsets is not every)
        except ApiError as error:
            if is_namespace_terminating(error) or is_already_exists(error):
                return AwaitChange()  # an object that is there already wakes us when it is seen
            verb = "create" if held is None else "update"
            text = f"Failed to {verb} endpoint {key}: {error}"
            self._recorder.event(service, "Warning", f"FailedTo{verb.title()}Endpoint", text)
            raise
        return AwaitChange()

    async def _write(
        self,
        service: Service,
        held: Endpoints | None,
        subsets: tuple[EndpointSubset, ...],
        *,
        truncated: bool,
    ) -> None:
        labels = {**service.metadata.labels, MANAGED_BY: MANAGER}
        labels.pop(rules.HEADLESS, None)
        if rules.is_headless(service):
            labels[rules.HEADLESS] = ""
        if held is None:
            metadata = ObjectMeta(
                name=service.metadata.name,
                namespace=service.metadata.namespace,
                labels=labels,
                annotations={OVER_CAPACITY: "truncated"} if truncated else {},
            )
            await self.client.create(Endpoints(metadata=metadata, subsets=subsets))
            return
        annotations = {
            name: text for name, text in held.metadata.annotations.items() if name != OVER_CAPACITY
        }
        if truncated:
            annotations[OVER_CAPACITY] = "truncated"
        metadata = structs.replace(held.metadata, labels=labels, annotations=annotations)
        wanted = structs.replace(held, metadata=metadata, subsets=subsets)
        if wanted != held:
            await self.client.update(wanted)

    async def _delete(self, held: Endpoints) -> None:
        metadata = held.metadata
        with unless_gone():
            await self.client.delete(
                Endpoints, metadata.name or "", metadata.namespace, uid=metadata.uid or ""
            )
