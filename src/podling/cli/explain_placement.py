"""Problems with nodes: a pod without a feasible node, and a pod on a failed node. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podling.api.core_v1 import Node, Pod
from podling.cli.evidence import (
    Evidence,
    Explanation,
    Source,
    condition_source,
    event_source,
    one_line,
    pod_arguments,
)
from podling.machinery.pods import condition, pod_requests


def unplaced(evidence: Evidence) -> Explanation | None:
    """A pod that has no node yet."""
    pod = evidence.pod
    if pod.spec.node_name:
        return None
    sources = condition_source(pod, "PodScheduled")
    gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    if gates:
        return Explanation(
            area="scheduler",
            reason="SchedulingGated",
            text=f"The scheduler does not look at the pod while it has scheduling gates: {gates}.",
            advice="Whoever set them removes them when the pod may start; by hand: "
            f"kubectl edit pod {pod_arguments(pod)}",
            evidence=(*sources, Source(kind="spec", name="spec.schedulingGates", detail=gates)),
        )
    scheduled = condition(pod, "PodScheduled")
    if scheduled is None or scheduled.status == "True":
        return _not_looked_at(evidence)
    message = said_of_nodes(pod)
    text = f"No node can take the pod: {message}{_requests(evidence, message)}."
    if pod.status.nominated_node_name:
        node = pod.status.nominated_node_name
        text += f" Pods of lower priority are being ended on node {node} to make room for it."
    failed = evidence.last_event("FailedScheduling")
    return Explanation(
        area="scheduler",
        reason=scheduled.reason or "Unschedulable",
        text=text,
        advice=placement_advice(evidence, message),
        evidence=(*sources, *((event_source(failed),) if failed is not None else ())),
    )


def said_of_nodes(pod: Pod) -> str:
    """Return the scheduler's reason why no node can take a pod; empty without one."""
    scheduled = condition(pod, "PodScheduled")
    if scheduled is None or scheduled.status == "True":
        return ""
    return one_line(scheduled.message).partition(" preemption:")[0].rstrip(".")


def _not_looked_at(evidence: Evidence) -> Explanation:
    name = evidence.pod.spec.scheduler_name
    text = f"The pod waits for the scheduler {name}, which has not looked at it yet."
    advice = "A moment later it will have; look again."
    if name != "default-scheduler":
        advice = (
            f"Give the scheduler a profile of the name {name}, start another one that calls itself so, or "
            "create the pod anew without spec.schedulerName."
        )
    source = Source(kind="spec", name="spec.schedulerName", detail=name or "")
    return Explanation(area="scheduler", reason="Pending", text=text, advice=advice, evidence=(source,))


def _requests(evidence: Evidence, message: str) -> str:
    """Return the pod's requests of the scarce resources."""
    short = re.findall(r"Insufficient ([^\s,]+)", message)
    asked = pod_requests(evidence.pod.spec)
    amounts = [f"{name} {asked[name]}" for name in dict.fromkeys(short) if name in asked]
    return f" (it requests {', '.join(amounts)})" if amounts else ""


def placement_advice(evidence: Evidence, message: str) -> str:
    """Return a step for each cause that the message names, the clauses being the scheduler's own."""
    short = list(dict.fromkeys(re.findall(r"Insufficient ([^\s,]+)", message)))
    steps = (
        [f"Lower the pod's requests for {' and '.join(short)}, free some, or add a node."] if short else []
    )
    steps += [advice for pattern, advice in PLACEMENT if re.search(pattern, message)]
    if "taint" in message:
        taints = ", ".join(_taints(evidence.nodes)) or "kubectl describe nodes"
        steps.append(f"Add a toleration to the pod, or remove the taint: {taints}.")
    if "were unschedulable" in message:
        cordoned = [node.metadata.name or "" for node in evidence.nodes if node.spec.unschedulable]
        steps.append(f"Let the node take pods again: kubectl uncordon {' '.join(cordoned) or 'NODE'}")
    return " ".join(steps) or "Compare what it asks for with: kubectl describe nodes"


def _taints(nodes: Sequence[Node]) -> list[str]:
    return [
        f"{node.metadata.name} has {taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
        for node in nodes
        for taint in node.spec.taints
    ]


PLACEMENT = (
    (
        "node affinity/selector",
        "Compare spec.nodeSelector and spec.affinity with the nodes' labels: kubectl get nodes --show-labels",
    ),
    ("free ports", "Another pod has the host port: drop hostPort, choose another, or add a node."),
    ("Too many pods", "The nodes hold as many pods as they may: delete some, or add a node."),
    (
        "missing required label",
        "Label the nodes with the topologyKey of the spread constraint: kubectl label node NODE KEY=VALUE",
    ),
    (
        r"topology spread constraints(?! \(missing)",
        "Relax the pod's topologySpreadConstraints, or add nodes where they can hold.",
    ),
    (
        "match pod affinity rules",
        "Start a pod with the labels that its podAffinity asks for, or relax the rule.",
    ),
    (
        "anti-affinity rules",
        "Relax the anti-affinity rule, its own or that of the pods there, or add a node.",
    ),
    ("persistentvolumeclaim", "Create the claim, or correct its name: kubectl get pvc"),
    ("no nodes available", "Start a node: podling up"),
)
"""Clauses of the scheduler's messages, and what to do about each."""


def node_in_trouble(evidence: Evidence) -> Explanation | None:
    """The pod's node is gone, or not ready."""
    name = evidence.pod.spec.node_name or ""
    if evidence.node is None:
        return Explanation(
            area="node",
            reason="NodeNotFound",
            text=f"The pod belongs to node {name}, which does not exist.",
            advice=f"Start a node of that name, or: kubectl delete pod {pod_arguments(evidence.pod)} --force",
            evidence=(Source(kind="spec", name="spec.nodeName", detail=name),),
        )
    ready = next((item for item in evidence.node.status.conditions if item.type == "Ready"), None)
    if ready is None or ready.status == "True":
        return None
    said = f"{ready.reason}: {one_line(ready.message)}"
    return Explanation(
        area="node",
        reason=ready.reason or "NodeNotReady",
        text=f"Its node {name} has not been ready for {evidence.ago(ready.last_transition_time)}: {said}.",
        advice=f"See what it lacks: kubectl describe node {name}",
        evidence=(
            Source(
                kind="condition",
                name=f"Ready of node {name}",
                detail=f"{ready.status} ({said})",
                last=ready.last_transition_time,
            ),
        ),
    )
