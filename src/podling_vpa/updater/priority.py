"""The pods that need an update, the most urgent first. Pure.

Upstream: ``updater/priority``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling_vpa.amounts import actual_resources, amounts
from podling_vpa.names import HIGHER, IN_PLACE, LOWER, OFF, RESOURCES
from podling_vpa.pod_changes import observed_containers
from podling_vpa.types import EvictionRequirement, Recommendation, VerticalPodAutoscaler
from podling_vpa.updater.settings import UpdaterSettings


class Priority(Struct, frozen=True):
    is_outside: bool
    """A request of some container is outside of the recommended bounds."""
    scales_up: bool
    """Some container is to get more."""
    difference: float
    """The sum of the relative changes of each resource."""

    @property
    def rank(self) -> tuple[bool, float]:
        """The order of updates, the largest first."""
        return self.scales_up, self.difference


class Candidate(Struct, frozen=True):
    """A pod that needs an update, and its recommendation within all bounds."""

    pod: Pod
    priority: Priority
    recommendation: Recommendation


def priority_of(pod: Pod, recommendation: Recommendation) -> Priority:
    """Return the urgency of an update of a pod."""
    is_outside, scales_up = False, False
    requested: dict[str, int] = {}
    wanted: dict[str, int] = {}
    observed = observed_containers(pod)
    for container in pod.spec.containers:
        found = recommendation.of(container.name)
        if found is None or (observed is not None and container.name not in observed):
            continue
        low, high = amounts(found.lower_bound), amounts(found.upper_bound)
        requests = actual_resources(pod, container).requests
        for name, target in amounts(found.wanted).items():
            wanted[name] = wanted.get(name, 0) + target.milli_value
            request = requests.get(name)
            if request is None:
                is_outside = scales_up = True
                continue
            requested[name] = requested.get(name, 0) + request.milli_value
            scales_up = scales_up or target.milli_value > request.milli_value
            is_below = name in low and request < low[name]
            is_outside = is_outside or is_below or (name in high and request > high[name])
    difference = 0.0
    for name, total in wanted.items():
        held = max(requested.get(name, 0), 1)
        difference += abs(held - total) / held
    return Priority(is_outside, scales_up, difference)


def ran_out_quickly(pod: Pod, autoscaler: VerticalPodAutoscaler, threshold: timedelta) -> bool:
    """Return whether a scaled container last ended, soon after its start, for want of memory."""
    observed = observed_containers(pod)
    for status in pod.status.container_statuses:
        if observed is not None and status.name not in observed:
            continue
        policy = autoscaler.policy_of(status.name)
        ended = status.last_state.terminated
        if (policy is not None and policy.mode == OFF) or ended is None or ended.reason != "OOMKilled":
            continue
        if ended.started_at is None or ended.finished_at is None:
            continue
        if ended.finished_at - ended.started_at < threshold:
            return True
    return False


def candidate(
    pod: Pod,
    autoscaler: VerticalPodAutoscaler,
    recommendation: Recommendation,
    settings: UpdaterSettings,
    now: datetime,
) -> Candidate | None:
    """Return the pod with its priority, or None if it can stay as it is.

    A pod is updated if a request is outside of the recommended bounds, if a container ran out of memory
    quickly, or if it is old enough and the change large enough.
    """
    found = priority_of(pod, recommendation)
    is_quick = ran_out_quickly(pod, autoscaler, settings.oom_threshold)
    if is_quick and not found.difference:
        return None
    if not found.is_outside and not is_quick:
        started = pod.status.start_time
        if started is None or now < started + settings.lifetime:
            return None
        if found.difference < settings.threshold:
            return None
    return Candidate(pod, found, recommendation)


def is_tried(
    autoscaler: VerticalPodAutoscaler, new: Recommendation | None, tried: Recommendation | None
) -> bool:
    """Return whether a resize to a recommendation like this one was infeasible; mode ``InPlace`` only."""
    if autoscaler.update_mode != IN_PLACE or tried is None:
        return False
    return not has_lower(new, tried)


def has_lower(new: Recommendation | None, old: Recommendation) -> bool:
    """Return whether some target is lower than in an older recommendation."""
    for each in new.container_recommendations if new is not None else ():
        held = old.of(each.container_name)
        before = amounts(held.wanted) if held is not None else {}
        if any(name in before and value < before[name] for name, value in amounts(each.wanted).items()):
            return True
    return False


def ordered(candidates: Sequence[Candidate], requirements: Sequence[EvictionRequirement]) -> list[Candidate]:
    """Return the candidates that meet the requirements, the most urgent first."""
    chosen = [each for each in candidates if meets(each.pod, each.recommendation, requirements)]
    return sorted(chosen, key=lambda each: each.priority.rank, reverse=True)


def meets(pod: Pod, recommendation: Recommendation, requirements: Sequence[EvictionRequirement]) -> bool:
    """Return whether the change of some container meets all requirements, or it has not all requests."""
    for container in pod.spec.containers:
        found = recommendation.of(container.name)
        if found is None:
            continue
        requests = actual_resources(pod, container).requests
        if any(name not in requests for name in RESOURCES):
            return True
        held = {name: value.milli_value for name, value in requests.items()}
        wanted = {name: value.milli_value for name, value in amounts(found.wanted).items()}
        if all(_meets(held, wanted, each) for each in requirements):
            return True
    return False


def _meets(held: Mapping[str, int], wanted: Mapping[str, int], requirement: EvictionRequirement) -> bool:
    changes = [wanted.get(name, 0) - held.get(name, 0) for name in requirement.resources]
    if requirement.change_requirement == HIGHER:
        return any(change > 0 for change in changes)
    return requirement.change_requirement == LOWER and any(change < 0 for change in changes)
