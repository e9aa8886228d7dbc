"""Pods that wait for the others of their pod group (gang scheduling). Pure.

A pod is not tried before its group exists and has enough pods; these get no condition. A pod for which there
is a node waits for enough others that have one: what keeps those is the cause.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.cli.evidence import (
    Evidence,
    Explanation,
    PodGang,
    Source,
    condition_source,
    pod_arguments,
    source_of_condition,
)
from podling.cli.explain_placement import placement_advice, said_of_nodes
from podling.machinery.pods import condition, is_terminal

UNSCHEDULABLE = "pod group is unschedulable"
WAITS_FOR_VICTIMS = "pod group is waiting for preemption to complete"
"""Parts of the scheduler's messages for pods of a group that have to wait for it."""


def waiting_for_gang(evidence: Evidence) -> Explanation | None:
    """A pod that has no node because of its pod group."""
    pod, gang = evidence.pod, evidence.gang
    if gang is None or pod.spec.node_name:
        return None
    scheduled = condition(pod, "PodScheduled")
    message = scheduled.message if scheduled is not None and scheduled.status != "True" else ""
    if not message:
        return _not_tried(pod, gang)
    if WAITS_FOR_VICTIMS in message:
        return _waits_for_victims(pod, gang)
    return _waits_for_others(evidence, gang) if message.startswith(UNSCHEDULABLE) else None


def _not_tried(pod: Pod, gang: PodGang) -> Explanation | None:
    """A pod that the scheduler holds back because the group does not exist, or has too few pods."""
    named = Source(kind="spec", name="spec.schedulingGroup", detail=gang.name)
    if gang.group is None:
        return Explanation(
            area="scheduler",
            reason="PodGroupNotFound",
            text=f"The pod waits for its pod group {gang.name}, which does not exist.",
            advice="Create the group, or create the pod anew with the name of one that exists in "
            f"spec.schedulingGroup.podGroupName: kubectl get podgroups -n {pod.metadata.namespace}",
            evidence=(named,),
        )
    wanted, there = min_count(gang), len(members(gang))
    if there >= wanted:
        return None
    return Explanation(
        area="scheduler",
        reason="PodGroupIncomplete",
        text=f"The pod waits for its pod group {gang.name}, which needs {wanted} pods before any of them "
        f"is placed, and has {there}.",
        advice=f"Create the missing {_pods(wanted - there)}, with spec.schedulingGroup.podGroupName: "
        f"{gang.name}",
        evidence=(named,),
    )


def _waits_for_victims(pod: Pod, gang: PodGang) -> Explanation:
    at = f" on node {pod.status.nominated_node_name}" if pod.status.nominated_node_name else ""
    return Explanation(
        area="scheduler",
        reason="Unschedulable",
        text=f"There is room for the pod{at}, but its pod group {gang.name} waits until pods of lower "
        "priority are ended, which makes room for its other pods.",
        advice="Look again once they have ended: kubectl get events -A --field-selector reason=Preempted",
        evidence=(*condition_source(pod, "PodScheduled"), *_condition_of(gang)),
    )


def _waits_for_others(evidence: Evidence, gang: PodGang) -> Explanation:
    """A pod that a node could take, but not enough others of its group."""
    pod = evidence.pod
    placed = sum(bool(each.spec.node_name) for each in members(gang))
    wanted = min_count(gang)
    text = (
        f"A node could take the pod, but its pod group {gang.name} gets nodes for {wanted} pods or for none"
    )
    text += f" ({placed} have one)." if placed else "."
    advice = f"See what keeps the others: kubectl get pods -n {pod.metadata.namespace}"
    kept = [each for each in members(gang) if said_of_nodes(each) and not _waits_only(each)]
    if kept:
        first, reason = kept[0], said_of_nodes(kept[0])
        text += f" No node can take {_names(kept)}: {reason}."
        steps = placement_advice(structs.replace(evidence, pod=first), reason)
        advice = f"{steps} More: podling why {pod_arguments(first)}"
    return Explanation(
        area="scheduler",
        reason="Unschedulable",
        text=text,
        advice=advice,
        evidence=(*condition_source(pod, "PodScheduled"), *_condition_of(gang)),
    )


def members(gang: PodGang) -> list[Pod]:
    """Return the pods of the group that have not ended, as the scheduler counts them."""
    return [each for each in gang.pods if not is_terminal(each)]


def min_count(gang: PodGang) -> int:
    """Return the number of pods that must get nodes together; 0 without the policy ``gang``."""
    policy = gang.group.spec.scheduling_policy.gang if gang.group is not None else None
    return policy.min_count if policy is not None else 0


def _waits_only(pod: Pod) -> bool:
    return said_of_nodes(pod).startswith(UNSCHEDULABLE)


def _condition_of(gang: PodGang) -> tuple[Source, ...]:
    conditions = gang.group.status.conditions if gang.group is not None else ()
    return tuple(source_of_condition(each) for each in conditions if each.type == "PodGroupScheduled")


def _names(pods: Sequence[Pod]) -> str:
    first = f"pod {pods[0].metadata.name}"
    return first if len(pods) == 1 else f"{first} (and {len(pods) - 1} more)"


def _pods(number: int) -> str:
    return "pod" if number == 1 else f"{number} pods"
