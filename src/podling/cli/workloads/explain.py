"""Problems of a workload whose pods are missing, not ready or of an earlier template. Pure.

The causes are checked in the order in which a workload meets them: it is held back, its pods are not let in,
a Job has ended, a pod has a problem of its own, the roll-out stands still.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from podling.api.core_v1 import Event, Pod
from podling.cli.evidence import Explanation, Source, event_source, one_line, plural
from podling.cli.workloads.jobs import explain_job, is_complete, wanted_by_job
from podling.cli.workloads.rollouts import blocked_advice, explain_rollout, with_deadline
from podling.machinery.pods import is_ready, is_terminal

REFUSED = (
    (r"exceeded quota", "Raise the quota or ask for less: kubectl describe quota -n {namespace}"),
    (
        r"must specify",
        "Say what the quota asks for in every container's resources, or set defaults in a LimitRange.",
    ),
    (r"(?:minimum|maximum) .* usage per", "Keep within: kubectl describe limitrange -n {namespace}"),
    (r'serviceaccount "(?P<name>[^"]+)" not found', "kubectl create serviceaccount {name} -n {namespace}"),
    (
        r"violates PodSecurity",
        "Let the pods keep to the namespace's pod security level, or change its labels.",
    ),
)
"""Why the API server refuses pods, by its own words, and what to do."""

Explained = tuple[Pod, Explanation]


def explain_workload(obj: Any, pods: Sequence[Explained], events: Sequence[Event]) -> Explanation:
    """The reason why ``obj`` has not got its pods; ``events`` are its own and those of what it owns."""
    name = f"{obj.kind} {obj.metadata.name}"
    if obj.kind == "Job" and is_complete(obj):
        return _healthy(f"{name} is complete.")
    return (
        _held_back(obj, name)
        or _refused(obj, name, pods, events)
        or (explain_job(obj, name, pods) if obj.kind == "Job" else None)
        or _troubled(obj, name, pods)
        or explain_rollout(obj, name, wanted(obj))
        or _well(obj, name, pods)
    )


def wanted(obj: Any) -> int:
    """Return the desired number of pods that have not ended."""
    if obj.kind == "DaemonSet":
        return obj.status.desired_number_scheduled or 0
    if obj.kind == "Job":
        return wanted_by_job(obj)
    replicas = getattr(obj.spec, "replicas", None)
    return 1 if replicas is None else replicas


def _count(pods: Sequence[Explained]) -> int:
    """Count the pods that have not ended: controllers count no others."""
    return sum(not is_terminal(pod) for pod, _ in pods)


def _held_back(obj: Any, name: str) -> Explanation | None:
    """It is paused or suspended."""
    kind, own = obj.kind.lower(), f"{obj.metadata.name} -n {obj.metadata.namespace}"
    if getattr(obj.spec, "suspend", None):
        advice = f"""Let it go on: kubectl patch {kind} {own} -p '{{"spec":{{"suspend":false}}}}'"""
        return _answer("Suspended", f"{name} is suspended, so it has no pods.", advice, "spec.suspend")
    if getattr(obj.spec, "paused", None) and (obj.status.updated_replicas or 0) < wanted(obj):
        text = (
            f"{name} is paused: {obj.status.updated_replicas or 0} of {wanted(obj)} pods are of its newest "
        )
        text += "template, and no more are made."
        return _answer("Paused", text, f"Let it go on: kubectl rollout resume {kind} {own}", "spec.paused")
    return None


def _answer(reason: str, text: str, advice: str, field: str) -> Explanation:
    source = Source(kind="spec", name=field, detail="true")
    return Explanation(area="workload", reason=reason, text=text, advice=advice, evidence=(source,))


def _refused(obj: Any, name: str, pods: Sequence[Explained], events: Sequence[Event]) -> Explanation | None:
    """Pods that the API server did not let in."""
    failed = next((event for event in reversed(events) if event.reason == "FailedCreate"), None)
    if failed is None or _count(pods) >= wanted(obj):
        return None
    message = one_line(failed.message)
    maker = failed.involved_object
    by = "" if maker.kind == obj.kind else f" by {maker.kind} {maker.name}"
    text = f"{name} has {_count(pods)} of {wanted(obj)} pods; the next could not be created{by}: {message}."
    answer = Explanation(
        area="workload",
        reason="FailedCreate",
        text=text,
        advice=_refusal_advice(obj.metadata.namespace, message),
        evidence=(event_source(failed),),
    )
    return with_deadline(obj, answer)


def _refusal_advice(namespace: str, message: str) -> str:
    for pattern, advice in REFUSED:
        match = re.search(pattern, message)
        if match is not None:
            return advice.format(namespace=namespace, **match.groupdict())
    return "Change the pod template so that the API server takes it; the message says what it does not like."


def _troubled(obj: Any, name: str, pods: Sequence[Explained]) -> Explanation | None:
    """A pod has a problem; one that has ended only counts if a workload still lacks pods."""
    full = sum(is_ready(pod) and not is_terminal(pod) for pod, _ in pods) >= wanted(obj)
    ill = [(pod, answer) for pod, answer in pods if not answer.healthy and not (full and is_terminal(pod))]
    if not ill:
        return None
    ready = sum(1 for pod, _ in pods if is_ready(pod))
    others = f" ({len(ill)} are not)" if len(ill) > 1 else ""
    pod, answer = ill[0]
    text = f"{name} has {ready} of {wanted(obj)} pods Ready. One that is not{others} is {pod.metadata.name}: "
    advice = " ".join(filter(None, (answer.advice, blocked_advice(obj, pod))))
    return with_deadline(obj, structs.replace(answer, text=text + answer.text, advice=advice))


def _well(obj: Any, name: str, pods: Sequence[Explained]) -> Explanation:
    count, needed = _count(pods), wanted(obj)
    if count < needed:
        text = (
            f"{name} has {count} of {needed} pods, and nothing that was recorded says why there are not more."
        )
        advice = f"Look again in a moment, or: kubectl describe {obj.kind.lower()} {obj.metadata.name}"
        return Explanation(area="workload", reason="PodsMissing", text=text, advice=advice)
    if needed:
        return _healthy(f"{name} has the {plural(needed, 'pod')} that it is to have.")
    return _healthy(f"{name} is to have no pods now.")


def _healthy(text: str) -> Explanation:
    return Explanation(healthy=True, area="none", reason="Ready", text=f"Nothing is wrong: {text}")
