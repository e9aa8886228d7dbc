"""The limits of a namespace: all its LimitRanges of one type as a single one. Pure.

Upstream: ``utils/limitrange/limit_range_calculator.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from podling.api.core_v1 import LimitRange
from podling.machinery.quantity import Quantity
from podling_vpa.amounts import amounts
from podling_vpa.names import RESOURCES


class Limits(Struct, frozen=True):
    """The bounds of containers, or of pods."""

    least: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    default: dict[str, Quantity] = {}


class NamespaceLimits(Struct, frozen=True):
    """The bounds in one namespace; None where there are none."""

    containers: Limits | None = None
    pods: Limits | None = None


def namespace_limits(ranges: Iterable[LimitRange]) -> NamespaceLimits:
    """Return the bounds that the LimitRanges of one namespace set."""
    found = tuple(ranges)
    return NamespaceLimits(limits_of(found, "Container"), limits_of(found, "Pod"))


def limits_of(ranges: Iterable[LimitRange], kind: str) -> Limits | None:
    """Return the narrowest bounds for ``Container`` or ``Pod``; the last default counts."""
    least: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    default: dict[str, Quantity] = {}
    for item in (item for each in ranges for item in each.spec.limits if item.type == kind):
        if item.default:
            default = amounts(item.default)
        _narrow(most, amounts(item.max), min)
        _narrow(least, amounts(item.min), max)
    return Limits(least, most, default) if least or most or default else None


def _narrow(
    held: dict[str, Quantity],
    given: Mapping[str, Quantity],
    narrower: Callable[[Quantity, Quantity], Quantity],
) -> None:
    if not held:
        held.update(given)
    for name in RESOURCES:
        if name in given:
            held[name] = narrower(held[name], given[name]) if name in held else given[name]
