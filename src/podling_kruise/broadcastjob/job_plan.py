"""The nodes that get a pod of a BroadcastJob, the numbers of its pods, and its end. Pure.

Upstream: ``pkg/controller/broadcastjob``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from podling.api.core_v1 import Node, Pod, PodSpec, Taint
from podling.controllers.pod_state import is_active
from podling.controllers.workloads.daemonset_rules import node_of, placed_on, selects, tolerates
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.pod_control import pod_from_template
from podling.machinery import quantity
from podling.machinery.numbers import INT32_MAX
from podling.machinery.pods import pod_requests
from podling_kruise.broadcastjob.types import NEVER, BroadcastJob

JOB_LABELS = NAME_LABEL, UID_LABEL = "broadcastjob-name", "broadcastjob-controller-uid"
_EFFECTS = ("NoSchedule", "NoExecute")
_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Census(Struct, frozen=True):
    """The pods of a job by what became of them."""

    active: list[Pod]
    succeeded: list[Pod]
    failed: list[Pod]


class Placement(Struct, frozen=True):
    """The pods that nodes have (None: none yet), nodes that need one, and pods on nodes that fit no more."""

    desired: Mapping[str, Pod | None]
    missing: Sequence[str]
    unfit: Sequence[Pod]


def labels_of(job: BroadcastJob) -> dict[str, str]:
    return {NAME_LABEL: job.metadata.name or "", UID_LABEL: job.metadata.uid or ""}


def new_pod(job: BroadcastJob, node: str) -> Pod:
    """Return the job's pod for one node: only its name decides where the scheduler puts it."""
    pod = pod_from_template(job.spec.template, job)
    metadata = structs.replace(pod.metadata, labels={**pod.metadata.labels, **labels_of(job)})
    return structs.replace(pod, metadata=metadata, spec=placed_on(pod.spec, node))


def census(job: BroadcastJob, pods: Iterable[Pod]) -> Census:
    found = Census([], [], [])
    for pod in pods:
        if pod.status.phase == "Succeeded":
            found.succeeded.append(pod)
        elif pod.status.phase == "Failed":
            found.failed.append(pod)
        elif pod.metadata.deletion_timestamp is None:
            is_failed = _restarts_too_often(pod, job.spec.failure_policy.restart_limit)
            (found.failed if is_failed else found.active).append(pod)
    return found


def _restarts_too_often(pod: Pod, limit: int) -> bool:
    if pod.spec.restart_policy != "OnFailure":
        return False
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return sum(each.restart_count for each in statuses) > limit


def placement(job: BroadcastJob, nodes: Iterable[Node], pods: Iterable[Pod]) -> Placement:
    """Return where pods are, should be, and should not be."""
    present = {node_of(pod): pod for pod in pods}
    desired: dict[str, Pod | None] = {}
    missing, unfit = [], []
    for node in nodes:
        name = node.metadata.name or ""
        pod = present.get(name)
        if pod is None:
            if fits(job.spec.template.spec, node):
                missing.append(name)
                desired[name] = None
        elif not fits(pod.spec, node) and pod.metadata.deletion_timestamp is None:
            unfit.append(pod)
        else:
            desired[name] = pod
    return Placement(desired, missing, unfit)


def fits(spec: PodSpec, node: Node) -> bool:
    """Return whether a pod could run on a node that had no other pods."""
    if spec.node_name and spec.node_name != node.metadata.name:
        return False
    if not selects(spec, node) or not tolerates(spec, node.spec.taints, _EFFECTS):
        return False
    if node.spec.unschedulable and not tolerates(spec, (_UNSCHEDULABLE,), _EFFECTS):
        return False
    allocatable = node.status.allocatable
    if not quantity.parse(allocatable.get("pods", "0")):
        return False
    zero = quantity.parse("0")
    return all(
        not wanted or wanted <= (quantity.parse(allocatable[name]) if name in allocatable else zero)
        for name, wanted in pod_requests(spec).items()
    )


def number_to_create(job: BroadcastJob, placed: Placement, active: int) -> int:
    """Return how many pods may be created now; negative if more are active than may be.

    Raises ``ValueError``.
    """
    wanted = INT32_MAX if job.spec.parallelism is None else job.spec.parallelism
    most = scaled(wanted, len(placed.desired), round_up=True)
    return min(most - active, len(placed.missing))


def is_complete(job: BroadcastJob, placed: Placement) -> bool:
    """Return whether the pods of all nodes have ended, or are being deleted."""
    if job.spec.completion_policy.type == NEVER or not placed.desired:
        return False
    return not any(pod is None or is_active(pod) for pod in placed.desired.values())


def is_finished(job: BroadcastJob) -> bool:
    if job.spec.completion_policy.type == NEVER:
        return False
    return any(
        each.type in ("Complete", "Failed") and each.status == "True" for each in job.status.conditions
    )


def seconds_to_deadline(job: BroadcastJob, now: datetime) -> float | None:
    """Return the time until the job fails; None without a deadline."""
    policy, start = job.spec.completion_policy, job.status.start_time
    if policy.type == NEVER or policy.active_deadline_seconds is None or start is None:
        return None
    return _left(start, policy.active_deadline_seconds, now)


def seconds_to_deletion(job: BroadcastJob, now: datetime) -> float | None:
    """Return the time until a finished job is deleted; None if it stays."""
    seconds, end = job.spec.completion_policy.ttl_seconds_after_finished, job.status.completion_time
    return None if seconds is None or end is None else _left(end, seconds, now)


def _left(since: datetime, seconds: int, now: datetime) -> float:
    return (since + timedelta(seconds=seconds) - now) / timedelta(seconds=1)
