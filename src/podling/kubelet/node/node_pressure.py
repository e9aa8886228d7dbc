"""Thresholds of node-pressure eviction, the resulting node conditions, and the pods refused under pressure.

Pure: thresholds, observations of the node, and the time are arguments. A threshold is an amount or a part
of the capacity; hard ones count at once, soft ones after their grace period. Pressure shows as a node
condition, which stays for a while after the pressure has ended, so that it does not flicker
(``pkg/kubelet/eviction``).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field

from podling.api.core_v1 import Pod, Taint
from podling.machinery.pods import BEST_EFFORT, is_critical, qos_class_of
from podling.machinery.quantity import value
from podling.machinery.tolerations import tolerates

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
"""Every supported signal with its node condition, in the order of urgency."""

MEMORY_TAINT = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")

RESOURCE_OF = {
    "memory.available": "memory",
    "nodefs.available": "ephemeral-storage",
    "nodefs.inodesFree": "inodes",
    "imagefs.available": "ephemeral-storage",
    "imagefs.inodesFree": "inodes",
    "pid.available": "pids",
}


class Observation(Struct, frozen=True):
    """One signal: the available amount, and the capacity."""

    available: int
    capacity: int


Observations = Mapping[str, Observation]


class Threshold(Struct, frozen=True):
    """``amount`` is a quantity or a percentage; ``grace`` is None for a hard threshold."""

    signal: str
    amount: str
    grace: timedelta | None = None

    def limit(self, capacity: int) -> int:
        """Return the amount below which the threshold is met."""
        if self.amount.endswith("%"):
            return int(capacity * _single(_single(float(self.amount[:-1])) / 100))
        return value(self.amount)


def _single(number: float) -> float:
    """Return ``number`` in single precision, in which Kubernetes keeps percentages."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def thresholds(
    hard: Mapping[str, str], soft: Mapping[str, str], soft_grace: Mapping[str, float]
) -> tuple[Threshold, ...]:
    """Return the configured thresholds; 0, 0% and 100% disable a signal. Raises ``ValueError``."""
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
    return tuple(threshold for threshold in found if threshold.amount not in ("0", "0%", "100%"))


class Pressure(Struct, frozen=True):
    """The state that one observation of the node passes to the next.

    ``met_since`` holds the time since when each threshold is met without a break, ``last_seen`` the last time
    at which a threshold called for each condition.
    """

    met_since: Mapping[Threshold, datetime] = field(default_factory=dict)
    last_seen: Mapping[str, datetime] = field(default_factory=dict)

    def conditions(self, now: datetime, transition: timedelta) -> frozenset[str]:
        """Return the conditions that hold: called for now, or less than ``transition`` ago."""
        return frozenset(
            name for name, seen in self.last_seen.items() if now - seen < transition or seen == now
        )

    def due(self, now: datetime) -> tuple[Threshold, ...]:
        """Return the thresholds that call for an eviction, the most urgent first."""
        order = list(CONDITION_OF)
        met = [t for t, since in self.met_since.items() if t.grace is None or now - since >= t.grace]
        return tuple(sorted(met, key=lambda t: (order.index(t.signal), t.grace is not None)))


def observe_pressure(
    before: Pressure, configured: Sequence[Threshold], observed: Observations, now: datetime
) -> Pressure:
    """Return the pressure after one more observation."""
    met = [t for t in configured if t.signal in observed and _met(t, observed[t.signal])]
    since = {threshold: before.met_since.get(threshold, now) for threshold in met}
    due = Pressure(since).due(now)
    seen = {**before.last_seen, **{CONDITION_OF[threshold.signal]: now for threshold in due}}
    return Pressure(since, seen)


def _met(threshold: Threshold, observation: Observation) -> bool:
    return observation.available < threshold.limit(observation.capacity)


def pressure_refusal(pod: Pod, conditions: frozenset[str]) -> str:
    """Return why a node under pressure does not admit ``pod``, empty if it does."""
    if not conditions or is_critical(pod):
        return ""
    if conditions == {MEMORY_PRESSURE}:
        tolerated = any(tolerates(toleration, MEMORY_TAINT) for toleration in pod.spec.tolerations)
        if tolerated or qos_class_of(pod) != BEST_EFFORT:
            return ""
    return f"The node had condition: [{' '.join(sorted(conditions))}]. "
