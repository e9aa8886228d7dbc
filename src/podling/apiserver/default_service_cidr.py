"""The ServiceCIDR ``kubernetes``: the ranges of the options, as an object.

It is created when it is missing, and gets a second range when the options gain one. It is never changed
otherwise: a difference is reported as an event. Upstream: ``pkg/controlplane/controller/defaultservicecidr``.
"""

from __future__ import annotations

from msgspec import structs

from podling import clock
from podling.api.meta_v1 import Condition, ObjectMeta
from podling.api.networking_v1 import ServiceCIDR, ServiceCIDRSpec
from podling.apiserver.background_tasks import keep_at
from podling.apiserver.registry.service_numbers import DEFAULT_SERVICE_CIDR
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.machinery import conditions, errors
from podling.machinery.errors import ApiError
from podling.machinery.network_ranges import NetworkRanges

COMPONENT = "kubernetes-service-cidr-controller"
KEEP_SECONDS = 10.0
_READY = Condition(type="Ready", status="True", message="Kubernetes default Service CIDR is ready")


class DefaultServiceCIDR:
    """Keeps the default ServiceCIDR."""

    def __init__(self, client: Client, recorder: EventRecorder, ranges: NetworkRanges) -> None:
        self._client = client
        self._recorder = recorder
        self._cidrs = tuple(map(str, ranges.services))
        self._reported = False

    async def run(self) -> None:
        """Bring it back when it is deleted, until cancelled or the store closes."""
        late = 0.0

        async def look() -> None:
            nonlocal late
            late = await clock.sleep_until_round(KEEP_SECONDS, late=late)
            await self.sync()

        await keep_at(look, "the default ServiceCIDR", seconds=KEEP_SECONDS)

    async def sync(self) -> None:
        """Create the object, or compare it with the options. Raises ``ApiError``."""
        try:
            found = await self._client.get(ServiceCIDR, DEFAULT_SERVICE_CIDR)
        except ApiError as error:
            if not errors.is_not_found(error):
                raise
            wanted = ServiceCIDR(
                metadata=ObjectMeta(name=DEFAULT_SERVICE_CIDR), spec=ServiceCIDRSpec(cidrs=self._cidrs)
            )
            found = await self._client.create(wanted)
        if found.spec.cidrs == self._cidrs[:1] != self._cidrs:
            found = await self._client.update(structs.replace(found, spec=ServiceCIDRSpec(cidrs=self._cidrs)))
        await self._sync_status(found)

    async def _sync_status(self, found: ServiceCIDR) -> None:
        """Set the condition where there is none. A deletion, and a condition that another component has set,
        stay."""
        if found.metadata.deletion_timestamp is not None:
            return
        ready = conditions.find(found.status.conditions, "Ready")
        if found.spec.cidrs != self._cidrs:
            self._report(
                found,
                "KubernetesDefaultServiceCIDRInconsistent",
                f"The default ServiceCIDR {_go_list(found.spec.cidrs)} does not match the controller flag "
                f"configurations {_go_list(self._cidrs)}",
            )
        elif ready is not None and ready.status == "False":
            self._report(found, ready.reason, f"Configuration matches, but {ready.message}")
        elif ready is None or ready.status == "Unknown":
            new = conditions.with_condition(found.status.conditions, _READY, clock.now())
            status = structs.replace(found.status, conditions=new)
            await self._client.update(structs.replace(found, status=status), subresource="status")

    def _report(self, found: ServiceCIDR, reason: str, message: str) -> None:
        if not self._reported:
            self._recorder.event(found, "Warning", reason, message)
        self._reported = True


def _go_list(texts: tuple[str, ...]) -> str:
    return f"[{' '.join(texts)}]"
