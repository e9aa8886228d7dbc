"""Why a pod is not Running, or not Ready: the decision behind ``podling why``. Pure.

Causes are checked in the order in which a pod meets them: deletion, end, scheduling, its node, its sandbox,
its volumes, images and configuration, its init containers, crashes of its containers, probes, readiness
gates. The first that holds is the answer; later ones are only consequences. Several containers may fail side
by side: the first one's failure is the answer, and the others are added to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.pod.pod_table import status_word
from podling.cli import (
    explain_crash,
    explain_end,
    explain_placement,
    explain_processes,
    explain_readiness,
    explain_runtime,
    explain_start,
)
from podling.cli.evidence import Evidence, Explanation, pod_arguments
from podling.cli.workloads.gangs import waiting_for_gang
from podling.machinery.pods import is_static

Question = Callable[[Evidence], Explanation | None]
Troubles = Callable[[Evidence], Iterator[Explanation]]


def explain(evidence: Evidence) -> Explanation:
    """Return the reason why the pod is as it is."""
    answer = next((answer for ask in QUESTIONS if (answer := ask(evidence)) is not None), None)
    return _static(evidence.pod, answer or _unknown(evidence))


def _containers(evidence: Evidence) -> Explanation | None:
    """Return the problems of the containers: one finding for all, each container once."""
    found: dict[str, Explanation] = {}
    for troubles in TROUBLES:
        for trouble in troubles(evidence):
            found.setdefault(trouble.container, trouble)
    if not found:
        return None
    first, *others = found.values()
    if not others:
        return first
    text = " ".join([first.text, "Beside that:", *(other.text for other in others)])
    sources = tuple(source for answer in found.values() for source in answer.evidence)
    return structs.replace(first, text=text, evidence=sources)


def _unknown(evidence: Evidence) -> Explanation:
    word = status_word(evidence.pod)
    return Explanation(
        area="none",
        reason=word,
        text=f"The pod is {word}, and nothing that was recorded says why it is not Ready.",
        advice=f"Look again, or follow it: kubectl get pod {pod_arguments(evidence.pod)} --watch",
    )


def _static(pod: Pod, answer: Explanation) -> Explanation:
    if answer.healthy or not is_static(pod):
        return answer
    advice = f"It is a static pod: what you change, change in its file on node {pod.spec.node_name}."
    return structs.replace(answer, advice=f"{advice} {answer.advice}".strip())


TROUBLES: tuple[Troubles, ...] = (
    explain_start.waiting,
    explain_crash.crashing,
    explain_readiness.initializing,
    explain_readiness.unready,
    explain_start.starting,
)

QUESTIONS: tuple[Question, ...] = (
    explain_end.deleting,
    explain_end.ended,
    explain_processes.without_scheduler,
    waiting_for_gang,
    explain_placement.unplaced,
    explain_readiness.healthy,
    explain_processes.without_kubelet,
    explain_placement.node_in_trouble,
    explain_runtime.hanging,
    explain_runtime.no_directories,
    explain_start.no_sandbox,
    explain_start.no_volumes,
    _containers,
    explain_readiness.gated,
    explain_start.not_begun,
)
