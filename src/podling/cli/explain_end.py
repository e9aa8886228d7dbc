"""Pods that are going or gone: deletion under way, and how a life ended. Pure."""

from __future__ import annotations

from datetime import timedelta

from podling.api.core_v1 import Container, ContainerStatus, Node
from podling.cli.evidence import (
    Evidence,
    Explanation,
    Source,
    all_statuses,
    condition_source,
    container_named,
    container_source,
    event_source,
    how_it_ended,
    logs_command,
    one_line,
    pod_arguments,
)
from podling.machinery.pods import condition
from podling.machinery.tables import human_duration


def deleting(evidence: Evidence) -> Explanation | None:
    """A pod that has been deleted and is still there."""
    pod = evidence.pod
    deleted = pod.metadata.deletion_timestamp
    if deleted is None:
        return None
    running = [status.name for status in all_statuses(pod) if status.state.running is not None]
    asked = Source(kind="status", name="metadata.deletionTimestamp", detail=deleted.isoformat(), last=deleted)
    sources = (asked, *condition_source(pod, "DisruptionTarget"))
    found = (
        _held(evidence, running)
        or _not_killed(evidence)
        or _unheard(evidence, running)
        or _stopping(evidence, running)
    )
    reason, text, advice, more = found
    return Explanation(
        area="deletion",
        reason=reason,
        text=f"The pod has been deleted{_why_deleted(evidence)}{text}",
        advice=advice,
        evidence=(*sources, *more),
    )


_Answer = tuple[str, str, str, tuple[Source, ...]]
"""Reason, the rest of the text, advice, further sources."""


def _why_deleted(evidence: Evidence) -> str:
    disruption = condition(evidence.pod, "DisruptionTarget")
    if disruption is None or disruption.status != "True":
        return ""
    return f" ({disruption.reason}: {one_line(disruption.message)})"


def _held(evidence: Evidence, running: list[str]) -> _Answer | None:
    metadata = evidence.pod.metadata
    if not metadata.finalizers or running:
        return None
    names = ", ".join(metadata.finalizers)
    patch = """-p '{"metadata":{"finalizers":null}}'"""
    return (
        "FinalizersRemain",
        f", and its containers have ended, but it may not go before its finalizers are removed: {names}.",
        "Find out why their owner does not act; only if it never will, remove them by hand: "
        f"kubectl patch pod {pod_arguments(evidence.pod)} {patch}",
        (Source(kind="spec", name="metadata.finalizers", detail=names),),
    )


def _not_killed(evidence: Evidence) -> _Answer | None:
    failed = evidence.last_event("FailedKillPod")
    if failed is None:
        return None
    text = f", but its containers cannot be ended: {one_line(failed.message)}."
    advice = f"Look at what node {evidence.pod.spec.node_name} logs; the kubelet tries again by itself."
    return "FailedKillPod", text, advice, (event_source(failed),)


def _unheard(evidence: Evidence, running: list[str]) -> _Answer | None:
    """The node that has to end the pod does not answer, or does not exist."""
    name = evidence.pod.spec.node_name
    if not name or not (evidence.node is None or _is_lost(evidence.node)):
        return None
    what = "does not exist" if evidence.node is None else "does not answer"
    still = f" {', '.join(running)}" if running else ""
    text = f", but its node {name} {what}, so nobody can say that its containers{still} have ended."
    advice = (
        "Bring the node back; or, once you are sure that nothing of it runs any more: "
        f"kubectl delete pod {pod_arguments(evidence.pod)} --force"
    )
    return "NodeLost", text, advice, (Source(kind="status", name="spec.nodeName", detail=f"{name} {what}"),)


def _stopping(evidence: Evidence, running: list[str]) -> _Answer:
    pod = evidence.pod
    until = pod.metadata.deletion_timestamp or evidence.now
    left = (until - evidence.now).total_seconds()
    if not running:
        return "Terminating", " and nothing of it runs any more; it goes any moment.", "", ()
    hooks = [name for name in running if _has_pre_stop(container_named(pod, name))]
    text = f" and {_containers(running)} still {'runs' if len(running) == 1 else 'run'}"
    if hooks:
        text += f", the preStop hook of {', '.join(hooks)} first, if it has not ended"
    when = f"in {human_duration(timedelta(seconds=left))}" if left > 0 else "by now"
    text += f"; what has not ended by itself when the grace period is over, {when}, is killed (SIGKILL)."
    advice = f"Wait; or shorten its grace period: kubectl delete pod {pod_arguments(pod)} --grace-period=1"
    sources = tuple(container_source(status) for status in all_statuses(pod) if status.name in running)
    return "Terminating", text, advice, sources


def _has_pre_stop(container: Container | None) -> bool:
    lifecycle = container.lifecycle if container is not None else None
    return lifecycle is not None and lifecycle.pre_stop is not None


def _containers(names: list[str]) -> str:
    return f"container{'' if len(names) == 1 else 's'} {', '.join(names)}"


def _is_lost(node: Node) -> bool:
    ready = next((item for item in node.status.conditions if item.type == "Ready"), None)
    return ready is not None and ready.status == "Unknown"


ADVICE = {
    "DeadlineExceeded": "Raise spec.activeDeadlineSeconds if the work needs longer.",
    "Evicted": "Give the node room, or let the pod request what it really uses.",
    "NodeAffinity": "Its nodeName or a changed label put it on a node that it does not want: compare "
    "spec.nodeSelector and affinity with: kubectl get nodes --show-labels",
    "PodOSNotSupported": "Remove spec.os, or set it to linux.",
    "Preempting": "It made room for a pod of higher priority.",
    "NodeShutdown": "Its node was shut down.",
}
"""The advice for each reason with which the kubelet or the control plane ended a pod."""


def ended(evidence: Evidence) -> Explanation | None:
    """A pod that is over, well or not."""
    pod, status = evidence.pod, evidence.pod.status
    if status.phase == "Succeeded":
        done = "The pod has done its work: every container ended with exit code 0, and none is to run again."
        source = Source(kind="status", name="status.phase", detail="Succeeded")
        return Explanation(healthy=True, area="end", reason="Completed", text=done, evidence=(source,))
    if status.phase != "Failed":
        return None
    disruption = condition_source(pod, "DisruptionTarget")
    if status.reason:
        return _given_up(evidence, disruption)
    for container in all_statuses(pod):
        if container.state.terminated is not None and container.state.terminated.exit_code != 0:
            return _failed(evidence, container, disruption)
    return Explanation(
        area="end",
        reason="Failed",
        text="The pod failed for good, and its status does not say why.",
        advice=f"kubectl describe pod {pod_arguments(pod)}",
        evidence=(Source(kind="status", name="status.phase", detail="Failed"), *disruption),
    )


def _given_up(evidence: Evidence, disruption: tuple[Source, ...]) -> Explanation:
    pod, reason = evidence.pod, evidence.pod.status.reason or ""
    message = one_line(pod.status.message).removeprefix("Pod was rejected: ")
    refused = not pod.status.container_statuses
    what = f"Node {pod.spec.node_name} refused the pod" if refused else "The pod was ended"
    again = f"It never runs again: kubectl delete pod {pod_arguments(pod)}, and create it anew."
    if any(owner.controller for owner in pod.metadata.owner_references):
        again = "It never runs again; the workload that it belongs to makes another in its place."
    return Explanation(
        area="end",
        reason=reason,
        text=f"{what} for good: {reason}: {message}.",
        advice=f"{again} {ADVICE.get(reason, '')}".strip(),
        evidence=(Source(kind="status", name="status.reason", detail=f"{reason}: {message}"), *disruption),
    )


def _failed(evidence: Evidence, status: ContainerStatus, disruption: tuple[Source, ...]) -> Explanation:
    from podling.cli.explain_crash import crash_advice

    pod, last = evidence.pod, status.state.terminated
    assert last is not None
    container = container_named(pod, status.name)
    policy = (container.restart_policy if container is not None else None) or pod.spec.restart_policy
    kind = "init container" if status in pod.status.init_container_statuses else "container"
    return Explanation(
        area="end",
        reason=last.reason or "Error",
        container=status.name,
        text=f"The pod failed for good {evidence.ago(last.finished_at)} ago: {kind} {status.name} "
        f"{how_it_ended(last)}, and its restart policy, {policy}, lets it be.",
        advice=crash_advice(evidence, status) or f"See its log: {logs_command(pod, status.name)}",
        evidence=(container_source(status), *disruption),
    )
