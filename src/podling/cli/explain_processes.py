"""Problems with the processes of the control plane and of a pod's node. Pure."""

from __future__ import annotations

from msgspec import structs

from podling.cli.evidence import Evidence, Explanation, PartProblems, Source
from podling.cluster.processes.parts import API, CONTROL
from podling.cluster.processes.states import Snapshot

ADVICE = "See its log, podling.log in the data directory, and: podling status"
DEFAULT_SCHEDULER = "default-scheduler"


def part_problems(snapshot: Snapshot | None, problems: dict[str, str]) -> PartProblems:
    """Return what is wrong with the parts of a cluster; ``problems`` are those of each, by its name."""
    parts = snapshot.parts if snapshot is not None else ()
    return PartProblems(
        api=next((problems[each.part.name] for each in parts if each.part.kind == API), ""),
        control=next((problems[each.part.name] for each in parts if each.part.kind == CONTROL), ""),
        nodes={node: problems[each.part.name] for each in parts for node in each.part.nodes},
    )


def without_scheduler(evidence: Evidence) -> Explanation | None:
    """A pod waits for a scheduler whose process does not run."""
    spec, problem = evidence.pod.spec, evidence.parts.control
    if not problem or spec.node_name or spec.scheduling_gates:
        return None
    if (spec.scheduler_name or DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
        return None
    return Explanation(
        area="scheduler",
        reason="Pending",
        text=f"The pod waits for the scheduler, whose process has a problem: {problem}.",
        advice=ADVICE,
        evidence=(Source(kind="status", name="process of the control plane", detail=problem),),
    )


def without_kubelet(evidence: Evidence) -> Explanation | None:
    """A pod waits for its kubelet, whose process does not run."""
    node = evidence.pod.spec.node_name or ""
    problem = evidence.parts.nodes.get(node, "")
    if not problem:
        return None
    return Explanation(
        area="node",
        reason=evidence.pod.status.phase or "Pending",
        text=f"The pod waits for node {node}, whose process has a problem: {problem}.",
        advice=ADVICE,
        evidence=(Source(kind="status", name=f"process of node {node}", detail=problem),),
    )


def with_control_plane(answer: Explanation, parts: PartProblems) -> Explanation:
    """Return the answer about a workload; what its controllers lack comes first."""
    if answer.healthy or not parts.control:
        return answer
    text = f"The controllers' process has a problem: {parts.control}. {answer.text}"
    source = Source(kind="status", name="process of the control plane", detail=parts.control)
    return structs.replace(answer, text=text, advice=ADVICE, evidence=(source, *answer.evidence))
