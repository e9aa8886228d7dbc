"""Why a pod is not Running, or not Ready: the decision behind ``podling why``, pure.

The causes are asked in the order in which a pod meets them: was it placed, does its node live, is its
sandbox there, are its volumes, its images, its configuration, do its init containers end, do its
containers stay up, do they answer their probes, are its gates open. The first that holds is the answer;
everything after it is only a consequence.
"""

from __future__ import annotations

from collections.abc import Callable

from podling.apiserver.kinds.pod_table import status_word
from podling.cli import explain_containers, explain_placement, explain_runtime
from podling.cli.evidence import Evidence, Explanation, time_since
from podling.machinery.pods import condition

Question = Callable[[Evidence], Explanation | None]


def explain(evidence: Evidence) -> Explanation:
    """The one reason why the pod is as it is."""
    for question in QUESTIONS:
        answer = question(evidence)
        if answer is not None:
            return answer
    word = status_word(evidence.pod)
    return Explanation(
        area="none",
        reason=word,
        text=f"The pod is {word}, and nothing recorded says why it is not Ready yet. It may need a moment.",
        advice="Look again, or follow it: kubectl get pod --watch",
    )


def healthy(evidence: Evidence) -> Explanation | None:
    ready = condition(evidence.pod, "Ready")
    if ready is None or ready.status != "True":
        return None
    since = time_since(ready.last_transition_time, evidence.now)
    text = f"Nothing is wrong: the pod is Running, and it has been Ready for {since}."
    return Explanation(healthy=True, area="none", reason="Ready", text=text)


QUESTIONS: tuple[Question, ...] = (
    explain_containers.ended,
    explain_placement.deleting,
    explain_placement.unplaced,
    healthy,
    explain_placement.node_in_trouble,
    explain_runtime.hanging,
    explain_placement.no_sandbox,
    explain_containers.waiting,
    explain_containers.no_volumes,
    explain_containers.crashing,
    explain_containers.initializing,
    explain_containers.unready,
    explain_containers.gated,
)
