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
from msgspec.structs import replace

from podling.api.core_v1 import Pod, Taint
from podling.machinery.pods import BEST_EFFORT, is_critical, qos_class_of
from podling.machinery.quantity import ZERO, Format, Quantity, of, parse, value
from podling.machinery.tolerations import tolerates

MEMORY_PRESSURE = "MemoryPressure"
DISK_PRESSURE = "DiskPressure"
PID_PRESSURE = "PIDPressure"

ALLOCATABLE_MEMORY = "allocatableMemory.available"

CONDITION_OF = {
    "memory.available": MEMORY_PRESSURE,
    ALLOCATABLE_MEMORY: MEMORY_PRESSURE,
    "nodefs.available": DISK_PRESSURE,
    "nodefs.inodesFree": DISK_PRESSURE,
    "imagefs.available": DISK_PRESSURE,
    "imagefs.inodesFree": DISK_PRESSURE,
    "pid.available": PID_PRESSURE,
}
"""Every supported signal with its node condition, in the order of urgency."""

MEMORY_TAINT = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")

CONTAINER_FS = ("containerfs.available", "containerfs.inodesFree")
"""Signals of writable layers. These are on the file system of the images or of the volumes, so thresholds for
them have no meaning of their own (``UpdateContainerFsThresholds``)."""

RESOURCE_OF = {
    "memory.available": "memory",
    ALLOCATABLE_MEMORY: "memory",
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
    """``amount`` is a quantity or a percentage; ``grace`` is None for a hard threshold, as it is without one.

    ``reclaim``, of the same kind, is the amount beyond the threshold that an eviction is to free.
    """

    signal: str
    amount: str
    grace: timedelta | None = None
    reclaim: str = "0"

    def limit(self, capacity: int) -> int:
        """Return the amount below which the threshold is met."""
        return _absolute(self.amount, capacity)

    def quantity(self, capacity: int) -> Quantity:
        """Return that amount for messages: in its own format, or of a part of the capacity the binary one."""
        if self.amount.endswith("%"):
            return of(self.limit(capacity), Format.BINARY_SI)
        return parse(self.amount)

    def is_met(self, observation: Observation, *, until_reclaimed: bool = False) -> bool:
        """Return whether too little is available, or, ``until_reclaimed``, not yet enough."""
        limit = self.limit(observation.capacity)
        if until_reclaimed:
            limit += _absolute(self.reclaim, observation.capacity)
        return observation.available < limit


def _absolute(amount: str, capacity: int) -> int:
    if amount.endswith("%"):
        return int(capacity * _single(_single(float(amount[:-1])) / 100))
    return value(amount)


def _single(number: float) -> float:
    """Return ``number`` in single precision, in which Kubernetes keeps percentages."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def thresholds(
    hard: Mapping[str, str],
    soft: Mapping[str, str],
    soft_grace: Mapping[str, float],
    reclaim: Mapping[str, str] | None = None,
) -> tuple[Threshold, ...]:
    """Return the configured thresholds; 0, 0% and 100% disable a signal. Raises ``ValueError``.

    A hard threshold for the node's memory also holds for the memory that pods may request.
    """
    wanted = reclaim or {}
    for signal in sorted({*hard, *soft, *soft_grace, *wanted}):
        if signal not in CONDITION_OF and signal not in CONTAINER_FS:
            raise ValueError(f"unsupported eviction signal {signal}")
        for given in (hard, soft, wanted):
            _check_amount(signal, given.get(signal, "0"))
        if soft_grace.get(signal, 0) < 0:
            text = f"{soft_grace[signal]}, must be a positive value"
            raise ValueError(f"invalid eviction grace period specified: {text}")
        if signal in soft and signal not in soft_grace:
            raise ValueError(f"grace period must be specified for the soft eviction threshold {signal}")
    hard_ones = [Threshold(signal, amount, None, wanted.get(signal, "0")) for signal, amount in hard.items()]
    found = hard_ones + [
        Threshold(signal, amount, timedelta(seconds=soft_grace[signal]) or None, wanted.get(signal, "0"))
        for signal, amount in soft.items()
    ]
    found += [
        replace(each, signal=ALLOCATABLE_MEMORY)
        for each in found
        if each.signal == "memory.available" and each.grace is None
    ]
    disabled = ("0", "0%", "100%")
    return tuple(each for each in found if each.amount not in disabled and each.signal not in CONTAINER_FS)


def _check_amount(signal: str, amount: str) -> None:
    """Raise ``ValueError`` for an amount that is neither a quantity nor a percentage, or negative."""
    if amount.endswith("%"):
        part = float(amount[:-1])
        if not 0 <= part <= 100:
            bound = ">= 0%" if part < 0 else "<= 100%"
            raise ValueError(f"eviction percentage threshold {signal} must be {bound}: {amount}")
    elif parse(amount) < ZERO:
        raise ValueError(f"eviction threshold {signal} must be positive: {amount}")


class Pressure(Struct, frozen=True):
    """The state that one observation of the node passes to the next.

    ``met_since`` holds the time since when each threshold is met without a break, ``last_seen`` the last time
    at which a threshold was met for each condition, ``reclaiming`` the thresholds that called for evictions.
    """

    met_since: Mapping[Threshold, datetime] = field(default_factory=dict)
    last_seen: Mapping[str, datetime] = field(default_factory=dict)
    reclaiming: tuple[Threshold, ...] = ()

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
    """Return the pressure after one more observation.

    A threshold that called for an eviction stays met until the minimum reclaim is free as well. Conditions do
    not wait for grace periods: those only delay evictions.
    """
    met = [
        threshold
        for threshold in configured
        if threshold.signal in observed
        and threshold.is_met(observed[threshold.signal], until_reclaimed=threshold in before.reclaiming)
    ]
    since = {threshold: before.met_since.get(threshold, now) for threshold in met}
    seen = {**before.last_seen, **{CONDITION_OF[threshold.signal]: now for threshold in met}}
    return Pressure(since, seen, Pressure(since).due(now))


def needs_no_eviction(configured: Sequence[Threshold], observed: Observations) -> bool:
    """Return whether freeing unused files was enough: no threshold is met, minimum reclaim included."""
    return not any(
        threshold.signal in observed and threshold.is_met(observed[threshold.signal], until_reclaimed=True)
        for threshold in configured
    )


def pressure_refusal(pod: Pod, conditions: frozenset[str]) -> str:
    """Return why a node under pressure does not admit ``pod``, empty if it does."""
    if not conditions or is_critical(pod):
        return ""
    if conditions == {MEMORY_PRESSURE}:
        tolerated = any(tolerates(toleration, MEMORY_TAINT) for toleration in pod.spec.tolerations)
        if tolerated or qos_class_of(pod) != BEST_EFFORT:
            return ""
    return f"The node had condition: [{' '.join(sorted(conditions))}]. "
