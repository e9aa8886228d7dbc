"""Priorities of containers, and the keys of a pod's barrier. Pure.

Upstream: ``container_launch_priority_initialization.go``, ``container_launch_priority_controller.go``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from podling.api.core_v1 import ConfigMapKeySelector, Container, EnvVar, EnvVarSource, Pod
from podling.machinery.conditions import is_true
from podling_kruise.inplace.pod_plan import PRIORITY_PREFIX, launch_priority
from podling_kruise.names import LAUNCH_BARRIER, LAUNCH_COMPLETED, LAUNCH_PRIORITY, LAUNCH_VARIABLE

ORDERED = "Ordered"
PRESENT = "true"
"""The value of a key of the barrier, and of the annotation of a pod that needs it no more."""

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LIMIT = 2**63


class NoPriority(Exception):
    """A value of ``KRUISE_CONTAINER_PRIORITY`` that is no number."""


def barrier_name(pod_name: str) -> str:
    return f"{pod_name}-barrier"


def barrier_key(priority: int) -> str:
    return f"{PRIORITY_PREFIX}{priority}"


def priorities_of(pod: Pod) -> Sequence[int]:
    """Return the priorities of the pod's containers; empty if they start together. Raises ``NoPriority``."""
    containers = pod.spec.containers
    if len(containers) == 1:
        return ()
    if pod.metadata.annotations.get(LAUNCH_PRIORITY) == ORDERED:
        return [-number for number in range(len(containers))]
    found = [_stated(each) for each in containers]
    return found if len(set(found)) > 1 else ()


def _stated(container: Container) -> int:
    """Return the priority that the container's variable states, the last one of several; 0 without one."""
    priority = 0
    for variable in container.env:
        if variable.name == LAUNCH_VARIABLE:
            text = variable.value or ""
            if not _INTEGER.fullmatch(text):
                raise NoPriority(f'strconv.Atoi: parsing "{text}": invalid syntax')
            priority = int(text)
            if not -_LIMIT <= priority < _LIMIT:
                raise NoPriority(f'strconv.Atoi: parsing "{text}": value out of range')
    return priority


def with_barrier(pod: Pod, priorities: Sequence[int]) -> Pod:
    """Return the pod whose containers wait for the keys of these priorities. The pod has a name."""
    containers = tuple(
        structs.replace(each, env=(*each.env, _variable(pod.metadata.name or "", priority)))
        for each, priority in zip(pod.spec.containers, priorities, strict=True)
    )
    return structs.replace(pod, spec=structs.replace(pod.spec, containers=containers))


def _variable(pod_name: str, priority: int) -> EnvVar:
    selector = ConfigMapKeySelector(name=barrier_name(pod_name), key=barrier_key(priority))
    return EnvVar(name=LAUNCH_BARRIER, value_from=EnvVarSource(config_map_key_ref=selector))


def waiting_priorities(pod: Pod) -> list[int]:
    """Return the priorities of the containers that are not ready, the lowest first."""
    ready = {each.name for each in pod.status.container_statuses if each.ready}
    found = [launch_priority(each) for each in pod.spec.containers if each.name not in ready]
    return sorted(each for each in found if each is not None)


def needs_barrier(pod: Pod) -> bool:
    """Return whether containers of the pod may wait for a key of its barrier."""
    if pod.metadata.annotations.get(LAUNCH_COMPLETED) == PRESENT:
        return False
    return not is_true(pod.status.conditions, "ContainersReady") and bool(waiting_priorities(pod))


class BarrierStep(Struct, frozen=True):
    """The next change: the key to add, empty for none, and whether no key is missing after that."""

    key: str = ""
    is_last: bool = False


def next_step(pod: Pod, keys: Collection[str]) -> BarrierStep:
    """Return the step for a pod whose barrier has these keys.

    The keys of the highest priority come first; the next one when all containers of it are ready.
    """
    waiting = waiting_priorities(pod)
    if not waiting or barrier_key(waiting[0]) in keys:
        return BarrierStep(is_last=True)
    key = barrier_key(waiting[-1])
    return BarrierStep("" if key in keys else key, waiting[-1] == waiting[0])
