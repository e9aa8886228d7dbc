"""The readiness gate ``KruisePodReady``, which several writers may close. Pure.

Each writer that holds a pod not ready has an entry in the condition's message: a JSON list of agents and
keys. Upstream: ``pkg/util/podreadiness``, ``pkg/controller/podreadiness``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import structs

from podling.api.core_v1 import Pod, PodCondition, PodReadinessGate
from podling.machinery.conditions import find
from podling_kruise.inplace.completion import with_gate
from podling_kruise.inplace.pod_plan import has_readiness_gate
from podling_kruise.names import KRUISE_POD_READY

Entry = tuple[str, str]
"""An agent and its key."""


def has_gate(pod: Pod) -> bool:
    return has_readiness_gate(pod, KRUISE_POD_READY)


def with_readiness_gate(pod: Pod) -> Pod:
    """Return the pod with the gate."""
    if has_gate(pod):
        return pod
    gates = (*pod.spec.readiness_gates, PodReadinessGate(condition_type=KRUISE_POD_READY))
    return structs.replace(pod, spec=structs.replace(pod.spec, readiness_gates=gates))


def needs_condition(pod: Pod) -> bool:
    """Return whether the gate waits for its first condition, which opens it."""
    waits = has_gate(pod) and find(pod.status.conditions, KRUISE_POD_READY) is None
    return waits and pod.metadata.deletion_timestamp is None


def entries_of(pod: Pod) -> list[Entry]:
    """Return the entries of those that hold the pod not ready, sorted."""
    condition = find(pod.status.conditions, KRUISE_POD_READY)
    try:
        found = msgspec.json.decode(condition.message or "[]") if condition is not None else []
        return sorted((each["userAgent"], each["key"]) for each in found)
    except (msgspec.DecodeError, TypeError, KeyError):
        return []


def with_entry(pod: Pod, entry: Entry, now: datetime) -> Pod:
    """Return the pod, held not ready by this writer, too."""
    return with_entries(pod, sorted({*entries_of(pod), entry}), now)


def without_entry(pod: Pod, entry: Entry, now: datetime) -> Pod:
    """Return the pod, no longer held not ready by this writer."""
    return with_entries(pod, [each for each in entries_of(pod) if each != entry], now)


def with_entries(pod: Pod, wanted: Sequence[Entry], now: datetime) -> Pod:
    """Return the pod, held not ready by these writers alone; the same one if they hold it already.

    A pod without the gate stays as it is.
    """
    if not has_gate(pod) or list(wanted) == entries_of(pod):
        return pod
    text = msgspec.json.encode([{"userAgent": agent, "key": key} for agent, key in wanted]).decode()
    status = "False" if wanted else "True"
    return with_gate(pod, PodCondition(type=KRUISE_POD_READY, status=status, message=text), now)


def with_open_gate(pod: Pod, now: datetime) -> Pod:
    """Return the pod with the first condition of the gate, which opens it."""
    return with_gate(pod, PodCondition(type=KRUISE_POD_READY, status="True"), now)
