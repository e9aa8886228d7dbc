"""Troubles before a pod's containers: leaving, placement, node, sandbox."""

from __future__ import annotations

import re
from datetime import timedelta

from podling.api.core_v1 import Node
from podling.cli.evidence import Evidence, Explanation
from podling.machinery.pods import condition
from podling.machinery.tables import human_duration


def deleting(evidence: Evidence) -> Explanation | None:
    metadata = evidence.pod.metadata
    if metadata.deletion_timestamp is None:
        return None
    if metadata.finalizers and metadata.deletion_timestamp < evidence.now:
        names = ", ".join(metadata.finalizers)
        return Explanation(
            area="deletion",
            reason="Terminating",
            text="The pod has been deleted, but it may not go before somebody removes its finalizers: "
            f"{names}.",
            advice="Find out why their owner does not act; remove them by hand only if it never will.",
        )
    failed = evidence.last_event("FailedKillPod")
    if failed is not None:
        text = f"The pod has been deleted, but its containers do not end: {failed.message}."
        return Explanation(
            area="deletion", reason="FailedKillPod", text=text, advice="Look at the node's kubelet log."
        )
    if _node_is_lost(evidence.node):
        return Explanation(
            area="deletion",
            reason="Terminating",
            text=f"The pod has been deleted, but its node {evidence.pod.spec.node_name} does not answer, so "
            "nobody can say that its containers have ended.",
            advice="Bring the node back, or delete it; only then force the pod's deletion.",
        )
    left = (metadata.deletion_timestamp - evidence.now).total_seconds()
    when = f"at most {human_duration(timedelta(seconds=left))} from now" if left > 0 else "any moment"
    text = f"The pod has been deleted and is being stopped; its containers are killed {when}."
    return Explanation(area="deletion", reason="Terminating", text=text)


def unplaced(evidence: Evidence) -> Explanation | None:
    pod = evidence.pod
    if pod.spec.node_name:
        return None
    gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    if gates:
        return Explanation(
            area="scheduler",
            reason="SchedulingGated",
            text=f"The scheduler does not look at the pod while it has scheduling gates: {gates}.",
            advice="Whoever set them removes them when the pod may start.",
        )
    scheduled = condition(pod, "PodScheduled")
    if scheduled is None or scheduled.status == "True":
        name = pod.spec.scheduler_name
        text = f"The pod waits for the scheduler {name}, which has not looked at it yet."
        advice = "" if name == "default-scheduler" else f"See whether a scheduler called {name} runs."
        return Explanation(area="scheduler", reason="Pending", text=text, advice=advice)
    message = (scheduled.message or "").strip().rstrip(".")
    return Explanation(
        area="scheduler",
        reason=scheduled.reason or "Unschedulable",
        text=f"No node can take the pod: {message}.",
        advice=_placement_advice(message),
    )


PLACEMENT = (
    (r"Insufficient (\S+)", r"Lower the pod's requests for \1, free some, or add a node."),
    ("untolerated taint", "Add a toleration, or remove the taint: kubectl describe nodes"),
    (
        "node affinity/selector",
        "Compare spec.nodeSelector and affinity with the labels: kubectl get nodes --show-labels",
    ),
    ("were unschedulable", "Let the node take pods again: kubectl uncordon NODE"),
    ("free ports", "Another pod has the host port; drop hostPort or choose another."),
    ("Too many pods", "The nodes hold as many pods as they may; add a node."),
    (
        "topology spread|affinity rules",
        "Relax the pod's spread or affinity rules, or add nodes where they can hold.",
    ),
    ("no nodes available", "Start a node: podling up"),
)


def _placement_advice(message: str) -> str:
    found = ((re.search(pattern, message), advice) for pattern, advice in PLACEMENT)
    return next((match.expand(advice) for match, advice in found if match), "kubectl describe nodes")


def _node_is_lost(node: Node | None) -> bool:
    ready = next((item for item in node.status.conditions if item.type == "Ready"), None) if node else None
    return ready is not None and ready.status == "Unknown"


def node_in_trouble(evidence: Evidence) -> Explanation | None:
    name = evidence.pod.spec.node_name or ""
    if evidence.node is None:
        return Explanation(
            area="node",
            reason="NodeNotFound",
            text=f"The pod belongs to node {name}, which does not exist.",
            advice="Start a node of that name, or delete the pod: "
            f"kubectl delete pod {evidence.pod.metadata.name}",
        )
    ready = next((item for item in evidence.node.status.conditions if item.type == "Ready"), None)
    if ready is None or ready.status == "True":
        return None
    text = f"Its node {name} is not ready: {ready.reason}: {(ready.message or '').rstrip('.')}."
    return Explanation(
        area="node", reason=ready.reason or "NodeNotReady", text=text, advice=f"kubectl describe node {name}"
    )


def no_sandbox(evidence: Evidence) -> Explanation | None:
    started = condition(evidence.pod, "PodReadyToStartContainers")
    failed = evidence.last_event("FailedCreatePodSandBox", "NetworkNotReady")
    if failed is None or (started is not None and started.status == "True"):
        return None
    text = f"The node cannot make the pod's sandbox: {(failed.message or '').rstrip('.')}."
    return Explanation(area="sandbox", reason=failed.reason or "", text=text, advice="podling doctor")
