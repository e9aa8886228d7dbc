"""Preemption by a critical pod: which of the node's pods have to end. Pure.

Only pods that are not critical themselves are candidates: lower priority first, then lower QoS class, then
larger requests. A pod is not chosen if the others suffice (``pkg/kubelet/preemption``).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Node, Pod, PodCondition
from podling.kubelet.pods.admission import Occupant, shortage
from podling.kubelet.status.conditions import DISRUPTION_TARGET
from podling.kubelet.status.status import Verdict
from podling.machinery.pods import BEST_EFFORT, BURSTABLE, GUARANTEED, is_critical, qos_class
from podling.machinery.quantity import value

REASON = "Preempting"
MESSAGE = "Preempted in order to admit critical pod"
_PROMISES = (BEST_EFFORT, BURSTABLE, GUARANTEED)

PREEMPTED = Verdict(
    REASON,
    MESSAGE,
    condition=PodCondition(
        type=DISRUPTION_TARGET,
        status="True",
        reason="TerminationByKubelet",
        message="Pod was preempted by Kubelet to accommodate a critical pod.",
    ),
)
"""The verdict on a preempted pod."""


class Candidate(Struct, frozen=True):
    """One of the node's pods, with its claim on the node."""

    pod: Pod
    occupant: Occupant


def victims(own: Occupant, node: Node, others: Sequence[Candidate]) -> tuple[Pod, ...]:
    """Return the pods to preempt for ``own``; none if that cannot help, or is not needed."""
    candidates = sorted((each for each in others if not is_critical(each.pod)), key=_order)
    chosen: list[Candidate] = []
    for candidate in candidates:
        if _fits(own, node, others, chosen):
            break
        chosen.append(candidate)
    if not _fits(own, node, others, chosen):
        return ()
    for candidate in list(chosen):
        without = [each for each in chosen if each is not candidate]
        if _fits(own, node, others, without):
            chosen = without
    return tuple(candidate.pod for candidate in chosen)


def _fits(own: Occupant, node: Node, others: Sequence[Candidate], gone: Sequence[Candidate]) -> bool:
    left = [each.occupant for each in others if not any(each is one for one in gone)]
    if len(left) + 1 > value(node.status.allocatable.get("pods", "110")):
        return False
    return shortage(own.requests, node, left) is None


def _order(candidate: Candidate) -> tuple[int, int, int]:
    requests = candidate.occupant.requests
    size = sum(requests[name].milli_value for name in ("cpu",) if name in requests)
    priority = candidate.pod.spec.priority or 0
    return (priority, _PROMISES.index(qos_class(candidate.pod.spec)), -size)
