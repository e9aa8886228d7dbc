"""The order in which pods are evicted from a node that is short of a resource, and their message.

Pure: pods and their use are arguments (``pkg/kubelet/eviction/helpers.go``).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Container, Pod
from podling.kubelet.node.node_pressure import RESOURCE_OF, Observation, Threshold
from podling.machinery.pods import (
    container_requests_total,
    has_pod_level_resources,
    is_critical,
    is_pod_level_resource,
    regular_and_init,
)
from podling.machinery.quantity import ZERO, Format, Quantity, of, parse

MEASURED = ("memory", "ephemeral-storage")
"""The resources whose use the message lists by container."""


class ContainerUse(Struct, frozen=True):
    """The use of one container: bytes of memory, bytes and inodes on disk (layer and logs), processes."""

    name: str
    memory: int = 0
    disk: int = 0
    processes: int = 0
    inodes: int = 0


class PodUse(Struct, frozen=True):
    """A pod with the use of its containers and of its local volumes.

    Without ``containers`` nothing of the pod was measured.
    """

    pod: Pod
    containers: tuple[ContainerUse, ...] = ()
    volumes_disk: int = 0
    volumes_inodes: int = 0

    def total(self, resource: str) -> int:
        if resource == "memory":
            return sum(container.memory for container in self.containers)
        if resource == "pids":
            return sum(container.processes for container in self.containers)
        if resource == "inodes":
            return sum(container.inodes for container in self.containers) + self.volumes_inodes
        return sum(container.disk for container in self.containers) + self.volumes_disk


def rank(uses: Sequence[PodUse], signal: str) -> tuple[PodUse, ...]:
    """Return the pods in the order of their eviction; critical pods are never evicted.

    Pods without measurements go first, then those above their request, then those of lower priority, then
    those furthest above their request. Processes have no requests. Names decide among equals, whose order
    Kubernetes leaves open.
    """
    resource = RESOURCE_OF[signal]

    def key(use: PodUse) -> tuple[float | str, ...]:
        priority, metadata = use.pod.spec.priority or 0, use.pod.metadata
        name = (metadata.namespace or "", metadata.name or "")
        if resource == "pids":
            return priority, bool(use.containers), -use.total(resource), *name
        above = use.total(resource) - pod_request(use.pod, resource).value
        return bool(use.containers), above <= 0, priority, -above, *name

    return tuple(sorted((use for use in uses if not is_critical(use.pod)), key=key))


def pod_request(pod: Pod, resource: str) -> Quantity:
    """Return the request that the ranking compares with a pod's use (``GetResourceRequestQuantity``).

    Requests of the pod as a whole replace those of all its containers; resources that cannot be requested
    for a pod as a whole then count as not requested.
    """
    own = pod.spec.resources
    if own is not None and has_pod_level_resources(pod.spec):
        stated = own.requests.get(resource) if is_pod_level_resource(resource) else None
        request = parse(stated) if stated is not None else ZERO
    else:
        request = container_requests_total(pod.spec).get(resource, ZERO)
    overhead = pod.spec.overhead.get(resource)
    return request + parse(overhead) if overhead is not None and request > ZERO else request


def message(use: PodUse, threshold: Threshold, observation: Observation) -> str:
    """Return the message of an evicted pod.

    It lists regular containers and init containers of any kind; ephemeral containers request nothing, so
    they would always be listed (``evictionMessage``).
    """
    resource = RESOURCE_OF[threshold.signal]
    limit = threshold.limit(observation.capacity)
    text = (
        f"The node was low on resource: {resource}. Threshold quantity: {_amount(limit, resource)}, "
        f"available: {_amount(observation.available, resource)}. "
    )
    containers = {container.name: container for container in regular_and_init(use.pod.spec)}
    for used in use.containers:
        container = containers.get(used.name)
        if container is None or resource not in MEASURED:
            continue
        amount = used.memory if resource == "memory" else used.disk
        request = _request(use.pod, container, resource)
        if amount > request.value:
            text += (
                f"Container {used.name} was using {_amount(amount, resource)}, request is {request}, "
                f"has larger consumption of {resource}. "
            )
    return text


def _request(pod: Pod, container: Container, resource: str) -> Quantity:
    """Return a container's request: of memory the allocated amount, even if its spec has changed."""
    requests = container.resources.requests
    if resource == "memory":
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            if status.name == container.name and status.allocated_resources:
                requests = status.allocated_resources
    return parse(requests[resource]) if resource in requests else ZERO


def _amount(number: int, resource: str) -> Quantity:
    return of(number, Format.BINARY_SI if resource in MEASURED else Format.DECIMAL_SI)
