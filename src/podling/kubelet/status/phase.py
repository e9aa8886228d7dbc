"""A pod's phase, computed from its spec and its containers' statuses alone. Pure.

Containers are counted by their statuses, first the init containers, then the regular ones; the first test
that the counts pass gives the phase (``kubelet_pods.go`` getPhase). Ephemeral containers never count. A pod
whose containers have all ended is not over while one of them may start again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from podling.api.core_v1 import Container, ContainerStateTerminated, ContainerStatus, PodSpec
from podling.kubelet.restart_policy import restarts_after
from podling.machinery.pods import is_sidecar

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TERMINAL_PHASES = (SUCCEEDED, FAILED)

RESTARTING_ALL_CONTAINERS = "RestartingAllContainers"


@dataclass(slots=True)
class _Counts:
    pending_init: int = 0
    pending_sidecars: int = 0
    failed_for_good: int = 0
    unknown: int = 0
    running: int = 0
    waiting: int = 0
    stopped: int = 0
    succeeded: int = 0
    stopped_for_good: int = 0


def pod_phase(
    spec: PodSpec,
    statuses: Mapping[str, ContainerStatus],
    *,
    initialized: bool,
    terminal: bool = False,
    static: bool = False,
) -> str:
    """Return the phase of a pod.

    Args:
        statuses: of init and regular containers, by name.
        initialized: any regular container was started in the current sandbox.
        terminal: the kubelet has ended the pod: nothing will be started again.
        static: the pod is static, and therefore never over.
    """
    counts = _Counts()
    for container in spec.init_containers:
        if is_sidecar(container):
            _count_sidecar(statuses.get(container.name), counts)
        else:
            _count_init(container, spec, statuses.get(container.name), counts)
    for container in spec.containers:
        _count_regular(container, spec, statuses.get(container.name), counts)
    return _decide(counts, initialized=initialized, over=terminal and not static)


def _decide(counts: _Counts, *, initialized: bool, over: bool) -> str:
    if counts.failed_for_good:
        return FAILED
    if counts.pending_init or (counts.pending_sidecars and not initialized) or counts.waiting:
        return PENDING
    if counts.unknown:
        return PENDING
    if counts.running:
        return RUNNING
    if not counts.stopped:
        return PENDING
    if not over and counts.stopped != counts.stopped_for_good:
        return RUNNING
    return SUCCEEDED if counts.stopped == counts.succeeded else FAILED


def _count_init(container: Container, spec: PodSpec, status: ContainerStatus | None, counts: _Counts) -> None:
    ended = _last_end(status)
    if ended is None:
        counts.pending_init += 1
    elif ended.exit_code != 0 and not _may_restart(container, spec, ended):
        counts.failed_for_good += 1


def _count_sidecar(status: ContainerStatus | None, counts: _Counts) -> None:
    if status is None:
        counts.unknown += 1
    elif status.state.running is not None:
        counts.running += 1
        if not status.started:
            counts.pending_sidecars += 1
    elif _last_end(status) is None:
        counts.pending_sidecars += 1
        counts.waiting += 1


def _count_regular(
    container: Container, spec: PodSpec, status: ContainerStatus | None, counts: _Counts
) -> None:
    if status is None:
        counts.unknown += 1
        return
    if status.state.running is not None:
        counts.running += 1
        return
    ended = _last_end(status)
    if ended is None:
        counts.waiting += 1
        return
    counts.stopped += 1
    if status.state.terminated is not None and ended.exit_code == 0:
        counts.succeeded += 1
    if not _may_restart(container, spec, ended):
        counts.stopped_for_good += 1


def _last_end(status: ContainerStatus | None) -> ContainerStateTerminated | None:
    """Return how the container ended, if it has ended and does not run again yet."""
    if status is None or status.state.running is not None:
        return None
    return status.state.terminated or status.last_state.terminated


def _may_restart(container: Container, spec: PodSpec, ended: ContainerStateTerminated) -> bool:
    return ended.reason == RESTARTING_ALL_CONTAINERS or restarts_after(container, spec, ended.exit_code)
