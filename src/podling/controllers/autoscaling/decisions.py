"""The decision about one autoscaler: the scale to write, its status, its events. Pure.

Reasons, messages and the order of steps are those of ``reconcileAutoscaler`` in
``pkg/controller/podautoscaler/horizontal.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from podling.api.autoscaling_v1 import Scale
from podling.api.autoscaling_v2 import (
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerBehavior,
    HorizontalPodAutoscalerCondition,
    HorizontalPodAutoscalerStatus,
    HPAScalingRules,
    MetricStatus,
)
from podling.clock import seconds_precision
from podling.controllers.autoscaling.metric_proposals import Proposal, Reading, Unproposed, propose
from podling.controllers.autoscaling.replica_calculator import Scaled, Tolerances
from podling.controllers.autoscaling.scaling_limits import Bounds, History, Verdict, limit, with_scale
from podling.controllers.autoscaling.settings import AutoscalerSettings
from podling.machinery.conditions import transition_time
from podling.machinery.quantity import NANO, parse

ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"
GOT_SCALE = Verdict(
    "True", "SucceededGetScale", "the HPA controller was able to get the target's current scale"
)
DISABLED = Verdict(
    "False", "ScalingDisabled", "scaling is disabled since the replica count of the target is zero"
)
NO_SELECTOR = Verdict("False", "InvalidSelector", "the HPA target's scale is missing a selector")
UNABLE = "the HPA was unable to compute the replica count: "
ABOVE = "Current number of replicas above Spec.MaxReplicas"
BELOW = "Current number of replicas below Spec.MinReplicas"
ALL_BELOW = "All metrics below target"


class Note(Struct, frozen=True):
    """An event about the autoscaler."""

    type: str
    reason: str
    message: str


def warning(reason: str, message: str) -> Note:
    return Note("Warning", reason, message)


class Decision(Struct, frozen=True):
    """The result of one look. ``rescale_to`` is None if the scale stays as it is."""

    hpa: HorizontalPodAutoscaler
    history: History
    events: tuple[Note, ...] = ()
    rescale_to: int | None = None
    reason: str = ""


class Seen(Struct, frozen=True, kw_only=True):
    """Everything that a decision depends on.

    ``scaled`` has the pods of the selector; ``unselected`` says why there is no usable selector, and
    ``readings`` belong to the metrics of the spec, in their order.
    """

    scale: Scale
    scaled: Scaled
    readings: Sequence[Reading]
    history: History
    unselected: Unselected | None = None


class Unselected(Struct, frozen=True):
    """A selector that cannot be used: the event, and the verdict for ``ScalingActive``."""

    event: Note
    verdict: Verdict


def tolerances_of(hpa: HorizontalPodAutoscaler, settings: AutoscalerSettings) -> Tolerances:
    """Return the tolerances of the autoscaler's behaviour, or of the settings."""

    def of(rules: HPAScalingRules | None) -> float:
        if rules is None or rules.tolerance is None:
            return settings.tolerance
        return parse(rules.tolerance).nano / NANO

    behavior = hpa.spec.behavior or HorizontalPodAutoscalerBehavior()
    return Tolerances(of(behavior.scale_down), of(behavior.scale_up))


def decide(hpa: HorizontalPodAutoscaler, seen: Seen) -> Decision:
    """Return what to do about an autoscaler whose scale was read."""
    now = seen.scaled.now
    hpa = with_verdict(hpa, ABLE, GOT_SCALE, now)
    current, spec = seen.scale.spec.replicas or 0, hpa.spec
    least = 1 if spec.min_replicas is None else spec.min_replicas
    if current == 0 and least != 0:
        hpa = with_verdict(hpa, ACTIVE, DISABLED, now)
        return Decision(with_replicas(hpa, current, current, ()), seen.history)
    if not least <= current <= spec.max_replicas:  # metrics do not count
        hpa = structs.replace(hpa, status=structs.replace(hpa.status, current_metrics=()))
    if current > spec.max_replicas:
        return Decision(hpa, seen.history, rescale_to=spec.max_replicas, reason=ABOVE)
    if current < least:
        return Decision(hpa, seen.history, rescale_to=least, reason=BELOW)
    return _by_metrics(hpa, seen, Bounds(current, least, spec.max_replicas))


def _by_metrics(hpa: HorizontalPodAutoscaler, seen: Seen, bounds: Bounds) -> Decision:
    now, current = seen.scaled.now, bounds.current
    found = _best(hpa, seen)
    hpa, events = found.hpa, found.events
    if found.best is None:
        events = (*events, warning("FailedComputeMetricsReplicas", found.error))
        desired = hpa.status.desired_replicas
        return Decision(with_replicas(hpa, current, desired, found.statuses), seen.history, events)
    desired = max(0, found.best.replicas)
    reason = f"{found.best.name if desired else ''} above target" if desired > current else ""
    if desired < current:
        reason = ALL_BELOW
    result = limit(desired, bounds, hpa.spec.behavior, seen.history, seen.scaled.settings, now)
    hpa = with_verdict(hpa, ABLE, result.able, now)
    hpa = with_verdict(hpa, LIMITED, result.limited, now)
    if result.replicas == current:
        return Decision(with_replicas(hpa, current, current, found.statuses), result.history, events)
    status = structs.replace(hpa.status, current_metrics=found.statuses)
    hpa = structs.replace(hpa, status=status)
    return Decision(hpa, result.history, events, result.replicas, reason)


class _Found(Struct, frozen=True):
    """The highest proposal, unless too few metrics are valid; ``error`` is the first failure."""

    hpa: HorizontalPodAutoscaler
    best: Proposal | None
    statuses: tuple[MetricStatus, ...] = ()
    events: tuple[Note, ...] = ()
    error: str = ""


def _best(hpa: HorizontalPodAutoscaler, seen: Seen) -> _Found:
    """Return the highest proposal of all metrics.

    While a metric fails, the others may scale up but not down: the failed one might need more replicas.
    """
    now, wrong = seen.scaled.now, seen.unselected
    if wrong is not None:
        hpa = with_verdict(hpa, ACTIVE, wrong.verdict, now)
        return _Found(hpa, None, events=(wrong.event,), error=wrong.event.message)
    best: Proposal | None = None
    failures: list[Unproposed] = []
    statuses = []
    for spec, reading in zip(hpa.spec.metrics, seen.readings, strict=True):
        try:
            proposal = propose(spec, reading, seen.scaled)
        except Unproposed as failure:
            failures.append(failure)
            statuses.append(MetricStatus())
            continue
        statuses.append(proposal.status)
        if best is None or best.replicas == 0 or proposal.replicas > best.replicas:
            best = proposal
    events = tuple(warning(each.reason, each.why) for each in failures)
    error = ""
    if failures:
        count = f"{len(failures)} invalid out of {len(hpa.spec.metrics)}"
        error = f"invalid metrics ({count}), first error is: {failures[0]}"
    if best is None or (failures and best.replicas < seen.scaled.replicas):
        first = failures[0]
        hpa = with_verdict(hpa, ACTIVE, Verdict("False", first.reason, UNABLE + first.why), now)
        return _Found(hpa, None, tuple(statuses), events, error)
    text = f"the HPA was able to successfully calculate a replica count from {best.name}"
    hpa = with_verdict(hpa, ACTIVE, Verdict("True", "ValidMetricFound", text), now)
    return _Found(hpa, best, tuple(statuses), events, error)


def rescaled(decision: Decision, current: int, now: datetime) -> Decision:
    """Return the decision after its scale was written."""
    desired = decision.rescale_to or 0
    text = f"the HPA controller was able to update the target scale to {desired}"
    hpa = with_verdict(decision.hpa, ABLE, Verdict("True", "SucceededRescale", text), now)
    hpa = with_replicas(hpa, current, desired, hpa.status.current_metrics)
    hpa = structs.replace(hpa, status=structs.replace(hpa.status, last_scale_time=seconds_precision(now)))
    event = Note("Normal", "SuccessfulRescale", f"New size: {desired}; reason: {decision.reason}")
    history = with_scale(decision.history, hpa.spec.behavior, current, desired, now)
    return Decision(hpa, history, (*decision.events, event))


def not_rescaled(decision: Decision, current: int, error: str, now: datetime) -> Decision:
    """Return the decision after the write of its scale failed."""
    text = f"the HPA controller was unable to update the target scale: {error}"
    hpa = with_verdict(decision.hpa, ABLE, Verdict("False", "FailedUpdateScale", text), now)
    hpa = with_replicas(hpa, current, hpa.status.desired_replicas, hpa.status.current_metrics)
    message = f"New size: {decision.rescale_to}; reason: {decision.reason}; error: {error}"
    return Decision(hpa, decision.history, (*decision.events, warning("FailedRescale", message)))


def without_scale(hpa: HorizontalPodAutoscaler, history: History, error: str, now: datetime) -> Decision:
    """Return the decision about an autoscaler whose scale cannot be read."""
    text = f"the HPA controller was unable to get the target's current scale: {error}"
    hpa = with_verdict(hpa, ABLE, Verdict("False", "FailedGetScale", text), now)
    return Decision(hpa, history, (warning("FailedGetScale", error),))


def with_verdict(
    hpa: HorizontalPodAutoscaler, type_: str, verdict: Verdict, now: datetime
) -> HorizontalPodAutoscaler:
    """Return the autoscaler with a condition in place of the one of its type, or at the end."""
    conditions = list(hpa.status.conditions)
    place = next((at for at, each in enumerate(conditions) if each.type == type_), None)
    old = conditions[place] if place is not None else None
    new = HorizontalPodAutoscalerCondition(
        type=type_,
        status=verdict.status,
        reason=verdict.reason,
        message=verdict.message,
        last_transition_time=transition_time(old, verdict.status, now),
    )
    if place is None:
        conditions.append(new)
    else:
        conditions[place] = new
    return structs.replace(hpa, status=structs.replace(hpa.status, conditions=tuple(conditions)))


def with_replicas(
    hpa: HorizontalPodAutoscaler, current: int, desired: int, metrics: Sequence[MetricStatus]
) -> HorizontalPodAutoscaler:
    """Return the autoscaler with these numbers and metrics in its status."""
    old = hpa.status
    status = HorizontalPodAutoscalerStatus(
        conditions=old.conditions,
        current_metrics=tuple(metrics),
        current_replicas=current,
        desired_replicas=desired,
        last_scale_time=old.last_scale_time,
        observed_generation=old.observed_generation,
    )
    return structs.replace(hpa, status=status)
