"""Selectors of Services that match no pod: labels that nearly match, other namespaces, workloads. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.cli.evidence import Explanation, Source, plural
from podling.cli.services.evidence import ServiceEvidence, labels_text
from podling.cli.workloads.explain import wanted

NEAR_RATIO = 0.6
"""The similarity from which on another value counts as a slip of the pen, as ``difflib`` measures it."""
COMMON_VALUES = ("", "true", "false")
"""Values of labels that say nothing without the label's name."""


def nothing_selected(evidence: ServiceEvidence) -> Explanation | None:
    """The selector matches no pod of the Service's namespace."""
    selector = evidence.service.spec.selector
    if not selector or evidence.selected:
        return None
    source = Source(kind="spec", name="spec.selector", detail=labels_text(selector))
    begun = (
        f"{evidence.name} has no endpoints: its selector {labels_text(selector)} matches no pod in namespace "
    )
    begun += f"{evidence.namespace}."
    answer = Explanation(
        area="service",
        reason="NoPods",
        text=begun,
        advice=f"Compare the labels: kubectl get pods -n {evidence.namespace} --show-labels",
        evidence=(source,),
    )
    return (
        _workload(evidence, answer) or _near_pods(evidence, answer) or _elsewhere(evidence, answer) or answer
    )


def _workload(evidence: ServiceEvidence, answer: Explanation) -> Explanation | None:
    """A workload makes such pods, and has none now."""
    if not evidence.makers:
        return None
    maker, why = evidence.makers[0]
    name = f"{maker.kind} {maker.metadata.name}"
    if not wanted(maker):
        text = f"{answer.text} {name} makes such pods, and is to have none now."
        advice = f"Let it have some: kubectl scale {maker.kind.lower()} {maker.metadata.name}"
        return structs.replace(answer, text=text, advice=f"{advice} -n {evidence.namespace} --replicas=1")
    text = f"{answer.text} {name} makes such pods: {why.text}"
    sources = (*answer.evidence, *why.evidence)
    return structs.replace(answer, text=text, advice=why.advice or answer.advice, evidence=sources)


def _near_pods(evidence: ServiceEvidence, answer: Explanation) -> Explanation | None:
    """Pods whose labels differ from the selector in little."""
    selector = evidence.service.spec.selector
    here = [pod for pod in evidence.pods if pod.metadata.namespace == evidence.namespace]
    rated = [(near_match(selector, pod.metadata.labels), pod) for pod in here]
    best = max((rating for rating, _ in rated), default=0.0)
    near = [pod for rating, pod in rated if rating == best]
    if not best:
        return None
    pod = near[0]
    others = f" (and {plural(len(near) - 1, 'other')} alike)" if len(near) > 1 else ""
    text = f"{answer.text} The nearest is pod {pod.metadata.name}{others}: {_difference(selector, pod)}."
    advice = f"Correct the selector (kubectl edit service {evidence.arguments}), or the labels of the pods, "
    advice += "which a workload has in its template."
    source = Source(
        kind="spec", name=f"labels of {pod.metadata.name}", detail=labels_text(pod.metadata.labels)
    )
    return structs.replace(answer, text=text, advice=advice, evidence=(*answer.evidence, source))


def near_match(selector: Mapping[str, str], labels: Mapping[str, str]) -> float:
    """Return how nearly labels meet a selector, from 0 (nothing in common) to 1.

    Each pair of the selector counts fully when met, less for a similar value, or for its value
    under another name.
    """
    return sum(_pair_match(name, text, labels) for name, text in selector.items()) / max(1, len(selector))


def _pair_match(name: str, text: str, labels: Mapping[str, str]) -> float:
    if name in labels:
        ratio = difflib.SequenceMatcher(None, labels[name], text).ratio()
        return 1.0 if ratio == 1 else ratio * 0.9 if ratio >= NEAR_RATIO else 0.0
    return 0.5 if _renamed_label(text, labels) else 0.0


def _renamed_label(text: str, labels: Mapping[str, str]) -> str:
    """Return the name of another label with this value, as ``app`` for ``app.kubernetes.io/name``."""
    return next((other for other, value in labels.items() if value == text and text not in COMMON_VALUES), "")


def _difference(selector: Mapping[str, str], pod: Pod) -> str:
    labels = pod.metadata.labels
    found = []
    for name, text in sorted(selector.items()):
        if labels.get(name) == text:
            continue
        if name in labels:
            found.append(f"it has {name}={labels[name]}, not {name}={text}")
        elif other := _renamed_label(text, labels):
            found.append(f"it has {other}={text}, not {name}={text}")
        else:
            found.append(f"it has no label {name}")
    return ", and ".join(found)


def _elsewhere(evidence: ServiceEvidence, answer: Explanation) -> Explanation | None:
    """Pods of other namespaces that the selector matches."""
    selector = evidence.service.spec.selector
    found = {
        pod.metadata.namespace or ""
        for pod in evidence.pods
        if selector.items() <= pod.metadata.labels.items()
    } - {evidence.namespace}
    if not found:
        return None
    text = (
        f"{answer.text} Pods in namespace {', '.join(sorted(found))} match it, but a Service selects pods of "
    )
    text += "its own namespace only."
    return structs.replace(answer, text=text, advice="Create the Service in the namespace of its pods.")
