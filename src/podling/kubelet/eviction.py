"""Node-pressure eviction: when the node runs short, which pod has to go, and what it is told.

Pure: thresholds, what the node and its pods use, and the time go in. A threshold is an amount or a part
of the capacity; hard ones count at once, soft ones after their grace period. Pressure shows as a node
condition, which stays for a while after the pressure has gone, so that it does not flicker
(``pkg/kubelet/eviction``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from podling.api.core_v1 import Container, Pod
from podling.machinery.pods import is_critical
from podling.machinery.quantity import Format, of, value

MEMORY_PRESSURE = "MemoryPressure"
DISK_PRESSURE = "DiskPressure"
PID_PRESSURE = "PIDPressure"

CONDITION_OF = {
    "memory.available": MEMORY_PRESSURE,
    "nodefs.available": DISK_PRESSURE,
    "nodefs.inodesFree": DISK_PRESSURE,
    "imagefs.available": DISK_PRESSURE,
    "imagefs.inodesFree": DISK_PRESSURE,
    "pid.available": PID_PRESSURE,
}
"""Every signal that is watched, with the condition that it shows as; in the order of urgency."""

RESOURCE_OF = {
    "memory.available": "memory",
    "nodefs.available": "ephemeral-storage",
    "nodefs.inodesFree": "inodes",
    "imagefs.available": "ephemeral-storage",
    "imagefs.inodesFree": "inodes",
    "pid.available": "pids",
}


@dataclass(frozen=True, slots=True)
class Observation:
    """One signal: how much is left, and of how much."""

    available: int
    capacity: int


Observations = Mapping[str, Observation]


@dataclass(frozen=True, slots=True)
class Threshold:
    """``amount`` is a quantity or a percentage; ``grace`` is None for a hard threshold."""

    signal: str
    amount: str
    grace: timedelta | None = None

    def limit(self, capacity: int) -> int:
        """The amount below which the threshold is met."""
        if self.amount.endswith("%"):
            return int(capacity * float(self.amount[:-1]) / 100)
        return value(self.amount)


def thresholds(
    hard: Mapping[str, str], soft: Mapping[str, str], soft_grace: Mapping[str, float]
) -> tuple[Threshold, ...]:
    """The configured thresholds; amounts of nothing switch a signal off. Raises ``ValueError``."""
    unknown = sorted({*hard, *soft} - set(CONDITION_OF))
    if unknown:
        raise ValueError(f"unknown eviction signals: {', '.join(unknown)}")
    missing = sorted(set(soft) - set(soft_grace))
    if missing:
        raise ValueError(f"soft eviction thresholds without a grace period: {', '.join(missing)}")
    found = [Threshold(signal, amount) for signal, amount in hard.items()]
    found += [
        Threshold(signal, amount, timedelta(seconds=soft_grace[signal])) for signal, amount in soft.items()
    ]
    return tuple(threshold for threshold in found if threshold.amount not in ("0", "0%"))


@dataclass(frozen=True, slots=True)
class Pressure:
    """What is remembered from one look at the node to the next.

    ``met_since`` says since when each threshold is met without a break, ``last_seen`` when each condition
    was last called for.
    """

    met_since: Mapping[Threshold, datetime] = field(default_factory=dict)
    last_seen: Mapping[str, datetime] = field(default_factory=dict)

    def conditions(self, now: datetime, transition: timedelta) -> frozenset[str]:
        """The conditions that hold: called for now, or less than ``transition`` ago."""
        return frozenset(
            name for name, seen in self.last_seen.items() if now - seen < transition or seen == now
        )

    def due(self, now: datetime) -> tuple[Threshold, ...]:
        """The thresholds that call for an eviction, the most urgent first."""
        order = list(CONDITION_OF)
        met = [t for t, since in self.met_since.items() if t.grace is None or now - since >= t.grace]
        return tuple(sorted(met, key=lambda t: (order.index(t.signal), t.grace is not None)))


def look(
    before: Pressure, configured: Sequence[Threshold], observed: Observations, now: datetime
) -> Pressure:
    """The pressure after one more look."""
    met = [t for t in configured if t.signal in observed and _met(t, observed[t.signal])]
    since = {threshold: before.met_since.get(threshold, now) for threshold in met}
    due = Pressure(since).due(now)
    seen = {**before.last_seen, **{CONDITION_OF[threshold.signal]: now for threshold in due}}
    return Pressure(since, seen)


def _met(threshold: Threshold, observation: Observation) -> bool:
    return observation.available < threshold.limit(observation.capacity)


@dataclass(frozen=True, slots=True)
class ContainerUse:
    """What one container uses: bytes of memory, bytes of disk, processes."""

    name: str
    memory: int = 0
    disk: int = 0
    processes: int = 0


@dataclass(frozen=True, slots=True)
class PodUse:
    """A pod with what its containers use; ``volumes_disk`` is what its own volumes and logs take."""

    pod: Pod
    containers: tuple[ContainerUse, ...] = ()
    volumes_disk: int = 0

    def total(self, resource: str) -> int:
        if resource == "memory":
            return sum(container.memory for container in self.containers)
        if resource == "pids":
            return sum(container.processes for container in self.containers)
        return sum(container.disk for container in self.containers) + self.volumes_disk


def rank(uses: Sequence[PodUse], signal: str) -> tuple[PodUse, ...]:
    """The pods in the order in which they have to go; critical ones never do.

    Those above their request go first, then the less important, then those furthest above.
    """
    resource = RESOURCE_OF[signal]
    candidates = [use for use in uses if not is_critical(use.pod)]
    key: Callable[[PodUse], tuple[float, ...]]
    if resource == "pids":

        def key(use: PodUse) -> tuple[float, ...]:
            return (use.pod.spec.priority or 0, -use.total("pids"))
    else:

        def key(use: PodUse) -> tuple[float, ...]:
            above = use.total(resource) - pod_request(use.pod, resource)
            return (0 if above > 0 else 1, use.pod.spec.priority or 0, -above)

    return tuple(sorted(candidates, key=key))


def pod_request(pod: Pod, resource: str) -> int:
    return sum(_request(container, resource) for container in pod.spec.containers)


def _request(container: Container, resource: str) -> int:
    requests = container.resources.requests
    return value(requests[resource]) if resource in requests else 0


def message(use: PodUse, threshold: Threshold, observation: Observation) -> str:
    """What the evicted pod is told."""
    resource = RESOURCE_OF[threshold.signal]
    limit, available = threshold.limit(observation.capacity), observation.available
    text = (
        f"The node was low on resource: {resource}. Threshold quantity: {_amount(limit, resource)}, "
        f"available: {_available(available, resource)}. "
    )
    for container in use.pod.spec.containers:
        used = next((found for found in use.containers if found.name == container.name), None)
        if used is None or resource not in ("memory", "ephemeral-storage"):
            continue
        amount = used.memory if resource == "memory" else used.disk
        request = _request(container, resource)
        if amount > request:
            text += (
                f"Container {container.name} was using {_available(amount, resource)}, request is "
                f"{_amount(request, resource)}, has larger consumption of {resource}. "
            )
    return text


def _amount(number: int, resource: str) -> str:
    return str(
        of(number, Format.BINARY_SI if resource in ("memory", "ephemeral-storage") else Format.DECIMAL_SI)
    )


def _available(number: int, resource: str) -> str:
    """Measured bytes, which Kubernetes shows in Ki."""
    return f"{number // 1024}Ki" if resource in ("memory", "ephemeral-storage") else str(number)


def refuses(pod: Pod, conditions: frozenset[str]) -> str:
    """Why a node under pressure does not take ``pod`` in; empty if it does."""
    if not conditions or is_critical(pod):
        return ""
    if conditions == {MEMORY_PRESSURE} and (_asks_for_anything(pod) or _tolerates_memory_pressure(pod)):
        return ""
    return f"The node had condition: [{', '.join(sorted(conditions))}]. "


def _asks_for_anything(pod: Pod) -> bool:
    return any(c.resources.requests or c.resources.limits for c in pod.spec.containers)


def _tolerates_memory_pressure(pod: Pod) -> bool:
    return any(
        toleration.key in (None, "", "node.kubernetes.io/memory-pressure")
        and toleration.effect in (None, "", "NoSchedule")
        and (toleration.operator == "Exists" or bool(toleration.key))
        for toleration in pod.spec.tolerations
    )
