"""The reason why an autoscaler does not scale, or what limits it. Pure.

The causes are checked in the order of a look: the autoscaler is looked at, its target has a scale, its
selector and metrics are usable, the scale can be written; then what only limits it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from podling.api.autoscaling_v2 import HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition
from podling.api.core_v1 import Event
from podling.cli.evidence import Explanation, Source, event_source, one_line, source_of_condition

AREA = "autoscaler"
FIRST_LOOK = timedelta(minutes=1)
METRIC_ADVICE = (
    (
        r"missing request for (?P<resource>\S+) in container (?P<container>\S+)",
        "A utilization is a part of the request: give container {container} resources.requests.{resource}, "
        "or use a target of type AverageValue.",
    ),
    (
        r"\(get pods\.metrics\.k8s\.io\)",
        "See who serves the metrics: kubectl get apiservice v1beta1.metrics.k8s.io",
    ),
    (
        r"no metrics returned from resource metrics API|did not receive metrics for targeted pods",
        "Its pods do not run, are not ready yet, or began within the last seconds: podling why {target} -n "
        "{namespace}; kubectl top pod -n {namespace}",
    ),
    (
        r"no pods returned by selector",
        "Its target has no pods: podling why {target} -n {namespace}",
    ),
    (
        r"container \S+ not present in metrics",
        "The pods have no container of that name: correct spec.metrics of the autoscaler.",
    ),
    (
        r"custom metrics API",
        "Metrics of pods and objects come from an adapter behind an APIService: kubectl get apiservice | "
        "grep custom.metrics.k8s.io",
    ),
    (
        r"external metrics API",
        "External metrics come from an adapter behind an APIService: kubectl get apiservice "
        "v1beta1.external.metrics.k8s.io",
    ),
)
"""Why a metric is missing, by Kubernetes' words, and what to do."""


def explain_autoscaler(hpa: HorizontalPodAutoscaler, events: Sequence[Event], now: datetime) -> Explanation:
    """Return why the autoscaler does not scale, or that it does."""
    return (
        _not_seen(hpa, now)
        or _without_scale(hpa)
        or _inactive(hpa)
        or _not_written(hpa, events)
        or _limited(hpa)
        or _well(hpa)
    )


def _target(hpa: HorizontalPodAutoscaler) -> str:
    target = hpa.spec.scale_target_ref
    return f"{target.kind.lower()}/{target.name}"


def _condition(hpa: HorizontalPodAutoscaler, type_: str) -> HorizontalPodAutoscalerCondition | None:
    return next((each for each in hpa.status.conditions if each.type == type_), None)


def _answer(
    found: HorizontalPodAutoscalerCondition, text: str, advice: str = "", *, healthy: bool = False
) -> Explanation:
    return Explanation(
        healthy=healthy,
        area="none" if healthy else AREA,
        reason=found.reason,
        text=text,
        advice=advice,
        evidence=(source_of_condition(found),),
    )


def _not_seen(hpa: HorizontalPodAutoscaler, now: datetime) -> Explanation | None:
    if hpa.status.conditions:
        return None
    created = hpa.metadata.creation_timestamp or now
    late = now - created > FIRST_LOOK
    text = f"Autoscaler {hpa.metadata.name} has not been looked at yet; the first look comes after a period."
    advice = (
        "See whether the horizontal-pod-autoscaler-controller runs: podling status; podling up --controllers."
    )
    return Explanation(
        area=AREA,
        reason="NotObserved",
        text=text,
        advice=advice if late else "Look again in a moment.",
        evidence=(Source(kind="status", name="status.conditions", detail="none"),),
    )


def _without_scale(hpa: HorizontalPodAutoscaler) -> Explanation | None:
    found = _condition(hpa, "AbleToScale")
    if found is None or found.reason != "FailedGetScale":
        return None
    why = found.message.rpartition("current scale: ")[2]
    text = f"Autoscaler {hpa.metadata.name} cannot read the scale of {_target(hpa)}: {one_line(why)}."
    if "could not find the requested resource" in why or "no matches for kind" in why:
        advice = "Its kind has no scale: correct spec.scaleTargetRef (kind and apiVersion)."
    else:
        advice = (
            f"Create {_target(hpa)} in namespace {hpa.metadata.namespace}, or correct spec.scaleTargetRef."
        )
    return _answer(found, text, advice)


def _inactive(hpa: HorizontalPodAutoscaler) -> Explanation | None:
    found = _condition(hpa, "ScalingActive")
    if found is None or found.status != "False":
        return None
    name, namespace, target = hpa.metadata.name, hpa.metadata.namespace, _target(hpa)
    why = one_line(found.message.removeprefix("the HPA was unable to compute the replica count: "))
    if found.reason == "ScalingDisabled":
        text = f"Autoscaler {name} does nothing: {target} has been scaled to zero."
        advice = f"Begin again with one replica: kubectl scale {target} --replicas=1 -n {namespace}"
        return _answer(found, text, advice)
    if found.reason == "AmbiguousSelector":
        text = f"Autoscaler {name} does nothing, because another one scales the same pods: {why}."
        return _answer(found, text, f"Delete all but one of them: kubectl get hpa -n {namespace}")
    if found.reason == "InvalidSelector":
        text = f"Autoscaler {name} does not know the pods of {target}: {why}."
        return _answer(found, text, f"The status of {target} has to name its selector.")
    text = f"Autoscaler {name} has no replica count, because a metric is missing: {why}."
    return _answer(found, text, _metric_advice(why, target, namespace or ""))


def _metric_advice(why: str, target: str, namespace: str) -> str:
    for pattern, advice in METRIC_ADVICE:
        match = re.search(pattern, why)
        if match is not None:
            return advice.format(target=target, namespace=namespace, **match.groupdict())
    return "Correct spec.metrics of the autoscaler."


def _not_written(hpa: HorizontalPodAutoscaler, events: Sequence[Event]) -> Explanation | None:
    found = _condition(hpa, "AbleToScale")
    if found is None or found.reason != "FailedUpdateScale":
        return None
    why = one_line(found.message.partition("target scale: ")[2])
    text = f"Autoscaler {hpa.metadata.name} could not change the scale of {_target(hpa)}: {why}."
    failed = [event_source(event) for event in events if event.reason == "FailedRescale"][-1:]
    return Explanation(
        area=AREA,
        reason=found.reason,
        text=text,
        advice=f"See what refuses it: kubectl scale {_target(hpa)} --replicas={hpa.spec.max_replicas} "
        f"-n {hpa.metadata.namespace} --dry-run=server",
        evidence=(source_of_condition(found), *failed),
    )


def _limited(hpa: HorizontalPodAutoscaler) -> Explanation | None:
    """Return what keeps an autoscaler that works from the replicas that its metrics want."""
    limited, able = _condition(hpa, "ScalingLimited"), _condition(hpa, "AbleToScale")
    name, replicas = hpa.metadata.name, hpa.status.desired_replicas
    if limited is not None and limited.reason == "TooManyReplicas":
        text = f"Autoscaler {name} would like more than {replicas} replicas, the most that it may set."
        own = f"{name} -n {hpa.metadata.namespace}"
        return _answer(
            limited, text, f"Raise spec.maxReplicas if the cluster has room: kubectl edit hpa {own}"
        )
    if able is not None and able.reason in ("ScaleDownStabilized", "ScaleUpStabilized"):
        down = able.reason == "ScaleDownStabilized"
        rules = hpa.spec.behavior and (hpa.spec.behavior.scale_down if down else hpa.spec.behavior.scale_up)
        seconds = rules.stabilization_window_seconds if rules else None
        window = f"the last {seconds} s" if seconds is not None else "the window of the cluster"
        kind = "highest" if down else "lowest"
        text = f"Autoscaler {name} keeps {replicas} replicas for now: the {kind} recommendation of {window} "
        text += "counts."
        return _answer(able, text, healthy=True)
    if limited is not None and limited.reason in ("ScaleUpLimit", "ScaleDownLimit"):
        text = f"Autoscaler {name} is on its way to the replicas that it wants, at the rate that is allowed: "
        return _answer(limited, text + f"now {replicas}.", healthy=True)
    return None


def _well(hpa: HorizontalPodAutoscaler) -> Explanation:
    found = _condition(hpa, "ScalingActive")
    least = 1 if hpa.spec.min_replicas is None else hpa.spec.min_replicas
    text = f"Nothing is wrong: autoscaler {hpa.metadata.name} keeps {_target(hpa)} at "
    text += f"{hpa.status.desired_replicas} replicas, between {least} and {hpa.spec.max_replicas}."
    evidence = (source_of_condition(found),) if found is not None else ()
    return Explanation(healthy=True, area="none", reason="Active", text=text, evidence=evidence)
