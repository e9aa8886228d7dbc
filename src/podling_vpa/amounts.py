"""Amounts of resources: those of a pod's containers, and conversions. Pure.

Upstream: ``utils/resources/resourcehelpers.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from podling.api.core_v1 import Container, Pod, ResourceRequirements
from podling.machinery.quantity import Quantity, parse

Resources = Mapping[str, Quantity]


class RequestsAndLimits(Struct, frozen=True):
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}

    @property
    def is_empty(self) -> bool:
        return not self.requests and not self.limits


def amounts(texts: Mapping[str, int | str]) -> dict[str, Quantity]:
    """Return quantities of their texts or plain numbers. Raises ValueError."""
    return {name: parse(str(text)) for name, text in texts.items()}


def texts(resources: Resources) -> dict[str, str]:
    """Return the canonical texts of quantities."""
    return {name: str(amount) for name, amount in resources.items()}


def is_positive(amount: Quantity | None) -> bool:
    """Return whether there is an amount that is not zero."""
    return amount is not None and bool(amount)


def actual_resources(pod: Pod, container: Container) -> RequestsAndLimits:
    """Return the resources that a container has now: those of its status, else those of its spec.

    A resize changes the spec first, and the status when the node has carried it out.
    """
    status = next((each for each in pod.status.container_statuses if each.name == container.name), None)
    found: ResourceRequirements | None = status.resources if status is not None else None
    if found is None:
        found = container.resources
    return RequestsAndLimits(amounts(found.requests), amounts(found.limits))
