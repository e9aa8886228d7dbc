"""The table row of a pod in ``kubectl get pods``.

STATUS starts as the phase. More specific facts override it, in this order: the status' reason, a scheduling
gate, the first init container that is not done, the first regular container with a reason, and a deletion.

Upstream: ``printPod`` in ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from podling.api.core_v1 import ContainerStateTerminated, ContainerStatus, Pod
from podling.apiserver.kinds.common.base import RowCondition
from podling.apiserver.kinds.common.cells import AGE, NAME, NONE, age, age_since, value_or_none, wide_column
from podling.machinery.pods import condition, is_sidecar, is_terminal
from podling.machinery.tables import Column

COLUMNS = (
    NAME,
    Column("Ready", description="Containers that are ready, of those that should be"),
    Column("Status", description="What the states of the pod's containers come to"),
    Column("Restarts", description="How often containers were restarted, and when the last time"),
    AGE,
    wide_column("IP", "Address of the pod"),
    wide_column("Node", "Node the pod is bound to"),
    wide_column("Nominated Node", "Node that is being freed for the pod"),
    wide_column("Readiness Gates", "Readiness gates that are met, of those the pod has"),
)

NODE_LOST = "NodeLost"
"""The status reason of a pod whose node is unreachable."""


@dataclass(slots=True)
class _Tally:
    """Counts and the status word over all container statuses."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: datetime | None = None

    def count_restarts(self, status: ContainerStatus) -> None:
        self.restarts += status.restart_count
        last = status.last_state.terminated
        if last is not None and last.finished_at is not None:
            self.last_restart = max(filter(None, (self.last_restart, last.finished_at)))


def row(pod: Pod, now: datetime) -> tuple[Any, ...]:
    tally = _summary(pod)
    total = len(pod.spec.containers) + sum(map(is_sidecar, pod.spec.init_containers))
    restarts = str(tally.restarts)
    if tally.restarts and tally.last_restart is not None:
        restarts = f"{tally.restarts} ({age_since(tally.last_restart, now)} ago)"
    return (
        pod.metadata.name,
        f"{tally.ready}/{total}",
        tally.reason,
        restarts,
        age(pod, now),
        value_or_none(pod.status.pod_ips[0].ip if pod.status.pod_ips else None),
        value_or_none(pod.spec.node_name),
        value_or_none(pod.status.nominated_node_name),
        _readiness_gates(pod),
    )


def status_word(pod: Pod) -> str:
    """Return the STATUS cell."""
    return _summary(pod).reason


def row_conditions(pod: Pod) -> tuple[RowCondition, ...]:
    """Return the condition of finished pods' rows, which ``kubectl`` may hide or grey out."""
    texts = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
    phase = pod.status.phase or ""
    if phase not in texts:
        return ()
    return (RowCondition(type="Completed", status="True", reason=phase, message=texts[phase]),)


def _summary(pod: Pod) -> _Tally:
    tally = _Tally(pod.status.reason or pod.status.phase or "")
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.reason == "SchedulingGated":
        tally.reason = "SchedulingGated"
    initializing = _init_containers(pod, tally)
    initialized = condition(pod, "Initialized")
    if not initializing or (initialized is not None and initialized.status == "True"):
        _regular_containers(pod, tally)
    if pod.metadata.deletion_timestamp is not None:
        if pod.status.reason == NODE_LOST:
            tally.reason = "Unknown"
        elif not is_terminal(pod):
            tally.reason = "Terminating"
    return tally


def _sidecar_names(pod: Pod) -> set[str]:
    return {container.name for container in pod.spec.init_containers if is_sidecar(container)}


def _init_containers(pod: Pod, tally: _Tally) -> bool:
    """Count the init containers up to the first that is not done; return True if there is one."""
    sidecars = _sidecar_names(pod)
    for position, status in enumerate(pod.status.init_container_statuses):
        tally.count_restarts(status)
        terminated, waiting = status.state.terminated, status.state.waiting
        if terminated is not None and terminated.exit_code == 0:
            continue
        if status.name in sidecars and status.started:
            tally.ready += status.ready
            continue
        if terminated is not None:
            tally.reason = f"Init:{_ended_word(terminated)}"
        elif waiting is not None and waiting.reason and waiting.reason != "PodInitializing":
            tally.reason = f"Init:{waiting.reason}"
        else:
            tally.reason = f"Init:{position}/{len(pod.spec.init_containers)}"
        return True
    return False


def _regular_containers(pod: Pod, tally: _Tally) -> None:
    """Count the regular containers in reverse, so that the first one decides the status word."""
    tally.restarts, tally.last_restart = 0, None
    for status in _statuses_of(_sidecar_names(pod), pod.status.init_container_statuses):
        tally.count_restarts(status)
    running = False
    error = ""
    for status in reversed(pod.status.container_statuses):
        tally.count_restarts(status)
        terminated, waiting = status.state.terminated, status.state.waiting
        if waiting is not None and waiting.reason:
            tally.reason = waiting.reason
        elif terminated is not None:
            tally.reason = _ended_word(terminated)
            error = tally.reason if terminated.exit_code else error
        elif status.ready and status.state.running is not None:
            running = True
            tally.ready += 1
    if tally.reason == "Completed":
        tally.reason = _completed_word(pod, running, error)


def _completed_word(pod: Pod, running: bool, error: str) -> str:
    """Return the status word of a pod with a completed container, which depends on the others."""
    ready = condition(pod, "Ready")
    if running and ready is not None and ready.status == "True":
        return "Running"
    return error or ("NotReady" if running else "Completed")


def _ended_word(terminated: ContainerStateTerminated) -> str:
    if terminated.reason:
        return terminated.reason
    return f"Signal:{terminated.signal}" if terminated.signal else f"ExitCode:{terminated.exit_code}"


def _statuses_of(names: set[str], statuses: Iterable[ContainerStatus]) -> list[ContainerStatus]:
    return [status for status in statuses if status.name in names]


def _readiness_gates(pod: Pod) -> str:
    gates = pod.spec.readiness_gates
    if not gates:
        return NONE
    conditions = (condition(pod, gate.condition_type) for gate in gates)
    met = sum(found is not None and found.status == "True" for found in conditions)
    return f"{met}/{len(gates)}"
