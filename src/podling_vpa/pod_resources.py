"""The resources that a pod of an autoscaler is to have. Pure.

Upstream: ``admission-controller/resource/pod/recommendation/recommendation_provider.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.machinery.quantity import Quantity
from podling_vpa.amounts import RequestsAndLimits, actual_resources, amounts
from podling_vpa.capping import Processed, controlled_values, processed
from podling_vpa.limit_ranges import NamespaceLimits
from podling_vpa.names import REQUESTS_AND_LIMITS
from podling_vpa.scaling import proportional_limits
from podling_vpa.types import VerticalPodAutoscaler


class PodResources(Struct, frozen=True):
    """The resources of each container, in their order, and notes for people, by container.

    A container without a recommendation has no resources here: it stays as it is.
    """

    containers: Sequence[RequestsAndLimits]
    notes: Mapping[str, Sequence[str]]


def pod_resources(autoscaler: VerticalPodAutoscaler, pod: Pod, limits: NamespaceLimits) -> PodResources:
    """Return the resources that the recommendation gives the pod, limits in proportion to requests."""
    empty = RequestsAndLimits()
    if autoscaler.status.recommendation is None:
        return PodResources([empty for _ in pod.spec.containers], {})
    found = processed(autoscaler, pod, limits)
    assert found is not None, "there is a recommendation"
    return _resources_of(autoscaler, pod, limits, found)


def _resources_of(
    autoscaler: VerticalPodAutoscaler, pod: Pod, limits: NamespaceLimits, found: Processed
) -> PodResources:
    notes = {name: list(said) for name, said in found.notes.items()}
    default = limits.containers.default if limits.containers is not None else {}
    made = []
    for container in pod.spec.containers:
        recommendation = found.recommendation.of(container.name)
        if recommendation is None:
            made.append(RequestsAndLimits())
            continue
        requests = amounts(recommendation.wanted)
        new: dict[str, Quantity] = {}
        if controlled_values(autoscaler.spec.resource_policy, container.name) == REQUESTS_AND_LIMITS:
            own = actual_resources(pod, container)
            new, said = proportional_limits(own.limits, own.requests, requests, default)
            if said:
                notes.setdefault(container.name, []).extend(said)
        made.append(RequestsAndLimits(requests, new))
    return PodResources(made, notes)
