"""Recommendations within the bounds of resource policies, LimitRanges and limits. Pure.

Upstream: ``utils/vpa/capping.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from podling.api.core_v1 import Container, Pod
from podling.machinery.quantity import ZERO, Quantity
from podling_vpa.amounts import RequestsAndLimits, Resources, actual_resources, amounts, texts
from podling_vpa.limit_ranges import Limits, NamespaceLimits
from podling_vpa.names import REQUESTS_AND_LIMITS, REQUESTS_ONLY, RESOURCES
from podling_vpa.scaling import boundary_request, proportional_limit, scale
from podling_vpa.types import (
    ContainerPolicy,
    ContainerRecommendation,
    Recommendation,
    ResourcePolicy,
    VerticalPodAutoscaler,
    container_policy,
)

TO_MIN, TO_MAX = "capped to minAllowed", "capped to maxAllowed"
TO_LIMIT = "capped to container limit"
TO_RANGE_MAX = "capped to fit Max in container LimitRange"
TO_RANGE_MIN = "capped to fit Min in container LimitRange"
Notes = list[str]


class Processed(Struct, frozen=True):
    """A recommendation for one pod, and the notes for its containers, by name."""

    recommendation: Recommendation
    notes: Mapping[str, Sequence[str]]


def capped_to_policy(recommendation: Recommendation, policy: ResourcePolicy | None) -> Recommendation:
    """Return the recommendation within the policy's bounds; the uncapped target stays."""
    found = []
    for each in recommendation.container_recommendations:
        own = container_policy(policy, each.container_name)
        found.append(_each(each, partial(_to_policy, policy=own)))
    return Recommendation(container_recommendations=tuple(found))


def processed(autoscaler: VerticalPodAutoscaler, pod: Pod, limits: NamespaceLimits) -> Processed | None:
    """Return the recommendation of an autoscaler for a pod; None if there is neither one nor a policy."""
    policy = autoscaler.spec.resource_policy
    found = autoscaler.status.recommendation
    if found is None and policy is None:
        return None
    recommendations = found.container_recommendations if found is not None else ()
    if limits.pods is not None:
        recommendations = _within_pod_limits(recommendations, pod, limits.pods)
    containers = {each.name: each for each in pod.spec.containers}
    notes: dict[str, Sequence[str]] = {}
    made = []
    for each in recommendations:
        container = containers.get(each.container_name)
        if container is not None:
            capped, said = _for_container(each, pod, container, policy, limits.containers)
            made.append(capped)
            if said:
                notes[each.container_name] = said
    return Processed(Recommendation(container_recommendations=tuple(made)), notes)


def controlled_values(policy: ResourcePolicy | None, container: str) -> str:
    """Return whether requests alone, or limits with them, are controlled."""
    found = container_policy(policy, container)
    return (found.controlled_values if found is not None else None) or REQUESTS_AND_LIMITS


def _for_container(
    recommendation: ContainerRecommendation,
    pod: Pod,
    container: Container,
    policy: ResourcePolicy | None,
    limits: Limits | None,
) -> tuple[ContainerRecommendation, Notes]:
    own = actual_resources(pod, container)
    only_requests = controlled_values(policy, container.name) == REQUESTS_ONLY

    def within(given: Resources, notes: Notes) -> dict[str, Quantity]:
        found = _to_range(given, own, limits, notes) if limits is not None else dict(given)
        found = _to_policy(found, container_policy(policy, container.name), notes)
        return _to_limit(found, own.limits, notes) if only_requests else found

    notes: Notes = []
    target = within(amounts(recommendation.wanted), notes)
    capped = _each(recommendation, lambda given: within(given, []))
    return structs.replace(capped, target=texts(target)), notes


def _each(
    recommendation: ContainerRecommendation, change: Callable[[Resources], Resources]
) -> ContainerRecommendation:
    """Return the recommendation with target and bounds changed."""
    return structs.replace(
        recommendation,
        target=texts(change(amounts(recommendation.wanted))),
        lower_bound=texts(change(amounts(recommendation.lower_bound))),
        upper_bound=texts(change(amounts(recommendation.upper_bound))),
    )


def _to_policy(
    given: Resources, policy: ContainerPolicy | None, notes: Notes | None = None
) -> dict[str, Quantity]:
    if policy is None:
        return dict(given)
    least, most = amounts(policy.min_allowed), amounts(policy.max_allowed)
    return _between(given, least, most, (TO_MIN, TO_MAX), notes)


def _between(
    given: Resources, least: Resources, most: Resources, words: tuple[str, str], notes: Notes | None
) -> dict[str, Quantity]:
    """Return the amounts within bounds; a bound of zero is none."""
    found = dict(given)
    for name in found:
        low, high = least.get(name, ZERO), most.get(name, ZERO)
        if low and found[name] < low:
            found[name] = low
            if notes is not None:
                notes.append(f"{name} {words[0]}")
        if high and found[name] > high:
            found[name] = high
            if notes is not None:
                notes.append(f"{name} {words[1]}")
    return found


def _to_limit(given: Resources, limits: Resources, notes: Notes) -> dict[str, Quantity]:
    """Return the amounts, none above the container's limit."""
    found = dict(given)
    for name, limit in limits.items():
        if name in found and found[name].milli_value > limit.milli_value:
            found[name] = limit
            notes.append(f"{name} {TO_LIMIT}")
    return found


def _to_range(given: Resources, own: RequestsAndLimits, limits: Limits, notes: Notes) -> dict[str, Quantity]:
    """Return the amounts whose proportional limits are within those of the namespace's containers."""
    most = _boundary(own, limits.most, limits.default)
    least = _boundary(own, limits.least, limits.default)
    for name in RESOURCES:  # both limit and request must be at least the minimum
        if name in limits.least and limits.least[name] > least.get(name, ZERO):
            least[name] = limits.least[name]
    return _between(given, least, most, (TO_RANGE_MIN, TO_RANGE_MAX), notes)


def _boundary(own: RequestsAndLimits, bounds: Resources, default: Resources) -> dict[str, Quantity]:
    if not bounds:
        return {}
    return {
        name: boundary_request(
            name, own.requests.get(name), own.limits.get(name), bounds.get(name, ZERO), default.get(name)
        )
        for name in RESOURCES
    }


def _within_pod_limits(
    recommendations: Sequence[ContainerRecommendation], pod: Pod, limits: Limits
) -> tuple[ContainerRecommendation, ...]:
    """Return the recommendations, scaled so that the pod's sums are within the namespace's bounds of pods."""
    known = {each.container_name for each in recommendations}
    found = list(recommendations)
    for container in pod.spec.containers:
        requests = actual_resources(pod, container).requests
        if container.name not in known and requests:
            found.append(ContainerRecommendation(container_name=container.name, target=texts(requests)))
    for field in ("upper_bound", "target", "lower_bound"):
        for name in RESOURCES:
            found = _scaled_to_pod(found, pod, limits, name, field)
    return tuple(found)


def _scaled_to_pod(
    recommendations: Sequence[ContainerRecommendation], pod: Pod, limits: Limits, name: str, field: str
) -> list[ContainerRecommendation]:
    """Return the recommendations with one resource of one bound scaled where its sum is outside."""
    least, most = limits.least.get(name, ZERO), limits.most.get(name, ZERO)
    given = {each.container_name: amounts(getattr(each, field) or {}) for each in recommendations}
    sum_limit, sum_wanted = ZERO, ZERO
    for container in pod.spec.containers:
        own = actual_resources(pod, container)
        request = own.requests.get(name, ZERO)
        wanted = given[container.name].get(name, ZERO) if container.name in given else request
        default = limits.default.get(name)
        limit, _ = proportional_limit(name, own.limits.get(name), request, wanted, default)
        sum_limit, sum_wanted = sum_limit + (limit or ZERO), sum_wanted + wanted
    if least <= sum_limit and least <= sum_wanted and (not most or most >= sum_limit):
        return list(recommendations)
    if not sum_limit:
        return list(recommendations)
    base, result, up = sum_limit, most if most and most < sum_limit else least, False
    if least > sum_wanted:
        base, result, up = sum_wanted, least, True
    made = []
    for each in recommendations:
        changed = given[each.container_name]
        if name in changed:
            changed = {**changed, name: scale(name, changed[name], base, result, up=up)[0]}
            each = structs.replace(each, **{field: texts(changed)})
        made.append(each)
    return made
