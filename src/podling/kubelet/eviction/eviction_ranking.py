"""The order in which pods are evicted from a node that is short of a resource, and what is said of them.

Pure: pods and their use are arguments (``pkg/kubelet/eviction/helpers.go``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

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


class Explanation(Struct, frozen=True):
    """The message of an evicted pod, and the annotations of its event, for machines."""

    message: str
    annotations: Mapping[str, str] = field(default_factory=dict)


def explain(use: PodUse, threshold: Threshold, observation: Observation) -> Explanation:
    """Explain an eviction (``evictionMessage``).

    It lists regular containers and init containers of any kind; ephemeral containers request nothing, so
    they would always be listed. A pod with a request for memory as a whole comes before them in any case.
    """
    resource = RESOURCE_OF[threshold.signal]
    text = (
        f"The node was low on resource: {resource}. "
        f"Threshold quantity: {threshold.quantity(observation.capacity)}, "
        f"available: {_amount(observation.available, resource)}. "
    )
    if not use.containers:
        return Explanation(text)
    annotations = {}
    own = use.pod.spec.resources
    if resource == "memory" and own is not None and resource in own.requests:
        used = _amount(use.total(resource), resource)
        text += _larger(f"Pod {use.pod.metadata.name}", used, parse(own.requests[resource]), resource)
        annotations = {"offending_pod": use.pod.metadata.name or "", "offending_pod_usage": str(used)}
    offending = _offending(use, resource)
    for name, used, request in offending:
        text += _larger(f"Container {name}", used, request, resource)
    annotations |= {
        "offending_containers": ",".join(name for name, _, _ in offending),
        "offending_containers_usage": ",".join(str(used) for _, used, _ in offending),
        "starved_resource": resource,
    }
    return Explanation(text, annotations)


def _larger(what: str, used: Quantity, request: Quantity, resource: str) -> str:
    return f"{what} was using {used}, request is {request}, has larger consumption of {resource}. "


def _offending(use: PodUse, resource: str) -> list[tuple[str, Quantity, Quantity]]:
    """Return the containers that use more than their requests: name, use, request."""
    containers = {container.name: container for container in regular_and_init(use.pod.spec)}
    found = []
    for each in use.containers:
        container = containers.get(each.name)
        if container is None or resource not in MEASURED:
            continue
        used = _amount(each.memory if resource == "memory" else each.disk, resource)
        request = _request(use.pod, container, resource)
        if used > request:
            found.append((each.name, used, request))
    return found


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
