"""The limits of scaling over time: stabilisation windows, policies, and the bounds of the spec. Pure.

Upstream: ``pkg/controller/podautoscaler/horizontal.go``, from ``stabilizeRecommendation`` on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct, structs

from podling.api.autoscaling_v2 import HorizontalPodAutoscalerBehavior, HPAScalingRules
from podling.controllers.autoscaling.settings import AutoscalerSettings

UP_FACTOR, UP_LEAST = 2, 4
"""Without behaviour an object at most doubles, or grows to four replicas."""


class Recommendation(Struct, frozen=True):
    """A number of replicas that the metrics alone recommended."""

    replicas: int
    at: datetime


class ScaleEvent(Struct, frozen=True):
    """A change of replicas, as a positive number."""

    change: int
    at: datetime


class History(Struct, frozen=True):
    """Recommendations and changes of an autoscaler; they live as long as the controller."""

    recommendations: tuple[Recommendation, ...] = ()
    ups: tuple[ScaleEvent, ...] = ()
    downs: tuple[ScaleEvent, ...] = ()


class Verdict(Struct, frozen=True):
    """Status, reason and message of a condition."""

    status: str
    reason: str
    message: str


class Bounds(Struct, frozen=True):
    """The replicas now, and those that the spec allows."""

    current: int
    least: int
    most: int


class Limited(Struct, frozen=True):
    """The replicas within all limits, with the verdicts for ``AbleToScale`` and ``ScalingLimited``."""

    replicas: int
    able: Verdict
    limited: Verdict
    history: History


READY = Verdict("True", "ReadyForNewScale", "recommended size matches current size")
WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
UP_STABILIZED = Verdict(
    "True",
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
DOWN_STABILIZED = Verdict(
    "True",
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_RATE = "the desired replica count is {} faster than the maximum scale rate"
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")


def limit(
    desired: int,
    bounds: Bounds,
    behavior: HorizontalPodAutoscalerBehavior | None,
    history: History,
    settings: AutoscalerSettings,
    now: datetime,
) -> Limited:
    """Return the replicas nearest to ``desired`` that the limits allow now."""
    if behavior is None:
        stable, history = _without_behavior(
            desired, history, timedelta(seconds=settings.downscale_stabilization), now
        )
        able = READY if stable == desired else DOWN_STABILIZED
        count, why = _within_default_rate(stable, bounds)
    else:
        up, down = _rules(behavior, settings)
        stable, history = _stabilized(desired, bounds.current, (up, down), history, now)
        able = READY
        if stable != desired:
            able = UP_STABILIZED if desired >= bounds.current else DOWN_STABILIZED
        count, why = _within_policies(stable, bounds, (up, down), history, now)
    limited = Verdict("False" if count == stable else "True", *why)
    return Limited(count, able, limited, history)


def with_scale(
    history: History,
    behavior: HorizontalPodAutoscalerBehavior | None,
    before: int,
    after: int,
    now: datetime,
) -> History:
    """Return the history after a change of replicas; policies alone need it."""
    if behavior is None:
        return history
    event = ScaleEvent(abs(after - before), now)
    if after > before:
        kept = _recent(history.ups, behavior.scale_up, now)
        return structs.replace(history, ups=(*kept, event))
    kept = _recent(history.downs, behavior.scale_down, now)
    return structs.replace(history, downs=(*kept, event))


def begun(history: History | None, replicas: int, now: datetime) -> History:
    """Return the history of an autoscaler at its first look: scaling down waits for a whole window."""
    return history if history is not None else History((Recommendation(replicas, now),))


def _recent(events: Iterable[ScaleEvent], rules: HPAScalingRules | None, now: datetime) -> list[ScaleEvent]:
    periods = [policy.period_seconds for policy in rules.policies] if rules is not None else []
    cutoff = now - timedelta(seconds=max(periods, default=0))
    return [event for event in events if event.at >= cutoff]


def _without_behavior(
    desired: int, history: History, window: timedelta, now: datetime
) -> tuple[int, History]:
    """Return the highest recommendation of the window."""
    recent = tuple(each for each in history.recommendations if each.at >= now - window)
    highest = max((each.replicas for each in recent), default=desired)
    kept = (*recent, Recommendation(desired, now))
    return max(desired, highest), structs.replace(history, recommendations=kept)


def _within_default_rate(desired: int, bounds: Bounds) -> tuple[int, tuple[str, str]]:
    fastest = max(UP_FACTOR * bounds.current, UP_LEAST)
    if desired < bounds.least:
        return bounds.least, _TOO_FEW
    if desired > min(fastest, bounds.most):
        if bounds.most > fastest:
            return fastest, ("ScaleUpLimit", _RATE.format("increasing"))
        return bounds.most, _TOO_MANY
    return desired, WITHIN


def _rules(
    behavior: HorizontalPodAutoscalerBehavior, settings: AutoscalerSettings
) -> tuple[HPAScalingRules, HPAScalingRules]:
    """Return the rules of both directions; the API server has filled in all but one default."""
    up, down = behavior.scale_up or HPAScalingRules(), behavior.scale_down or HPAScalingRules()
    if down.stabilization_window_seconds is None:
        window = int(settings.downscale_stabilization)
        down = structs.replace(down, stabilization_window_seconds=window)
    return up, down


def _stabilized(
    desired: int,
    current: int,
    rules: tuple[HPAScalingRules, HPAScalingRules],
    history: History,
    now: datetime,
) -> tuple[int, History]:
    """Return the replicas nearest to now that no recommendation of either window exceeds."""
    up_cutoff, down_cutoff = (
        now - timedelta(seconds=each.stabilization_window_seconds or 0) for each in rules
    )
    recommendations = history.recommendations
    lowest = min((each.replicas for each in recommendations if each.at > up_cutoff), default=desired)
    highest = max((each.replicas for each in recommendations if each.at > down_cutoff), default=desired)
    count = min(max(current, min(desired, lowest)), max(desired, highest))
    oldest = min(up_cutoff, down_cutoff)
    kept = (*(each for each in recommendations if each.at >= oldest), Recommendation(desired, now))
    return count, structs.replace(history, recommendations=kept)


def _within_policies(
    desired: int,
    bounds: Bounds,
    rules: tuple[HPAScalingRules, HPAScalingRules],
    history: History,
    now: datetime,
) -> tuple[int, tuple[str, str]]:
    current = bounds.current
    if desired > current:
        fastest = max(current, _limit(current, rules[0], history, now, sign=1))
        if desired > min(fastest, bounds.most):
            if bounds.most > fastest:
                return fastest, ("ScaleUpLimit", _RATE.format("increasing"))
            return bounds.most, _TOO_MANY
    elif desired < current:
        lowest = min(current, _limit(current, rules[1], history, now, sign=-1))
        if desired < max(lowest, bounds.least):
            if bounds.least < lowest:
                return lowest, ("ScaleDownLimit", _RATE.format("decreasing"))
            return bounds.least, _TOO_FEW
    return desired, WITHIN


def _limit(current: int, rules: HPAScalingRules, history: History, now: datetime, *, sign: int) -> int:
    """Return the most replicas that the policies allow; with ``sign`` -1 the fewest."""
    if rules.select_policy == "Disabled" or not rules.policies:
        return current
    rounded = math.ceil if sign > 0 else math.trunc  # a small percentage of few pods is to have an effect
    proposals = []
    for policy in rules.policies:
        start, change = _at_start(current, history, policy.period_seconds, now), sign * policy.value
        in_pods = policy.type == "Pods"
        proposals.append(start + change if in_pods else rounded(start * (1 + change / 100)))
    takes_most = (rules.select_policy == "Min") != (sign > 0)
    return max(proposals) if takes_most else min(proposals)


def _at_start(current: int, history: History, seconds: int, now: datetime) -> int:
    """Return the replicas at the start of a policy's period."""
    cutoff = now - timedelta(seconds=seconds)
    added = sum(event.change for event in history.ups if event.at > cutoff)
    removed = sum(event.change for event in history.downs if event.at > cutoff)
    return current - added + removed
