"""Slices for Endpoints that users write by hand: for services without a selector.

The service proxy and DNS read slices only; this controller copies the addresses of Endpoints objects for
them. Endpoints with the label ``skip-mirror``, or that a controller keeps, are left alone. Upstream:
``pkg/controller/endpointslicemirroring``.
"""

from __future__ import annotations

from typing import ClassVar

from podling.api.core_v1 import EndpointAddress, Endpoints, EndpointSubset, Service
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children
from podling.controllers.endpoints.endpoint_rules import MANAGED_BY, SERVICE_NAME
from podling.controllers.endpoints.slice_changes import carry_out
from podling.controllers.endpoints.slice_rules import Changes, Desired, Owner, arrange, identity
from podling.controllers.owner_references import controller_reference
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError

MANAGER = "endpointslicemirroring-controller.k8s.io"
SKIP = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"
ADDRESSES_MAX = 1000
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def should_mirror(endpoints: Endpoints, service: Service | None) -> bool:
    metadata = endpoints.metadata
    if metadata.labels.get(SKIP) == "true" or LEADER in metadata.annotations:
        return False
    return service is not None and not service.spec.selector and service.spec.type != "ExternalName"


def desired(endpoints: Endpoints) -> Desired:
    """The slices' contents: by address family and ports; the first thousand addresses of each subset."""
    groups: Desired = {}
    for subset in endpoints.subsets:
        ports = _ports(subset)
        ready = [(each, True) for each in subset.addresses]
        for address, is_ready in (*ready, *((each, False) for each in subset.not_ready_addresses)):
            type_ = "IPv6" if ":" in address.ip else "IPv4"
            group = groups.setdefault((type_, ports), {})
            endpoint = _endpoint(address, ready=is_ready)
            if len(group) < ADDRESSES_MAX:
                group[identity(endpoint)] = endpoint
    return groups


def _ports(subset: EndpointSubset) -> tuple[EndpointPort, ...]:
    return tuple(
        EndpointPort(
            name=each.name or "",
            port=each.port,
            protocol=each.protocol or "TCP",
            app_protocol=each.app_protocol,
        )
        for each in subset.ports
    )


def _endpoint(address: EndpointAddress, *, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=(address.ip,),
        conditions=EndpointConditions(ready=ready),
        hostname=address.hostname or None,
        node_name=address.node_name or None,
        target_ref=address.target_ref,
    )


def _owner(endpoints: Endpoints) -> Owner:
    metadata = endpoints.metadata
    name = metadata.name or ""
    kept = {key: text for key, text in metadata.annotations.items() if key != LAST_APPLIED}
    labels = {**metadata.labels, SERVICE_NAME: name, MANAGED_BY: MANAGER}
    return Owner(name, metadata.namespace or "", controller_reference(endpoints), labels, kept)


class EndpointSliceMirroringController(Controller):
    """The keys are Endpoints, which are named as their services are."""

    name: ClassVar[str] = "endpointslice-mirroring-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._endpoints = context.informers.informer(Endpoints)
        self._services = context.informers.informer(Service)
        slices = context.informers.informer(EndpointSlice)
        self._endpoints.add_handler(self.enqueue, self.enqueue_new)
        self._services.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._children = Children(context.client, self._endpoints, slices, self.queue, lambda owner: None)

    async def reconcile(self, key: Key) -> AwaitChange:
        endpoints = self._endpoints.get(key)
        if endpoints is None or endpoints.metadata.deletion_timestamp is not None:
            return AwaitChange()
        if not self._children.settled(key):
            return AwaitChange()
        owned = self._children.owned(endpoints)
        mine = [each for each in owned if each.metadata.labels.get(MANAGED_BY) == MANAGER]
        if should_mirror(endpoints, self._services.get(key)):
            changes = arrange(_owner(endpoints), mine, desired(endpoints))
        else:
            changes = Changes(delete=mine)
        try:
            await carry_out(self.client, key_of(endpoints), self._children, changes)
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise
        return AwaitChange()
