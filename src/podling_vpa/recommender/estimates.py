"""Recommendations from histories: percentiles, a margin, confidence, and the least of a pod. Pure.

Upstream: ``recommender/logic/estimator.go``, ``recommender.go``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from podling.machinery.quantity import NANO, Format, Quantity
from podling_vpa.amounts import texts
from podling_vpa.names import CPU, MEMORY, RESOURCES
from podling_vpa.recommender.aggregates import Aggregate
from podling_vpa.recommender.settings import RecommenderSettings
from podling_vpa.types import ContainerRecommendation, Recommendation

AMOUNT_MAX = 10**14
"""The largest recommendation, in millicores or bytes."""
LOWER, UPPER = (0.001, -2.0), (1.0, 1.0)
"""Multiplier and exponent of the confidence.

Without history the lower bound is 0 and the upper one infinite; after 12 hours the upper one is three
times the percentile, after a week 1.14 times.
"""
Amounts = Mapping[str, int]
"""Millicores of CPU, bytes of memory."""


def amount(number: float) -> int:
    """Return a whole amount between 0 and ``AMOUNT_MAX``, rounded down."""
    if math.isnan(number):
        return 0
    return AMOUNT_MAX if number > AMOUNT_MAX else int(max(number, 0))


def confidence(first: datetime | None, last: datetime | None, count: int, interval: timedelta) -> float:
    """Return the length of a history in intervals: of its time, or of its samples at one a minute."""
    lifespan = (last - first) / interval if first is not None and last is not None else 0.0
    return min(lifespan, count / (interval / timedelta(minutes=1)))


def multiplied(base: int, found: float, multiplier: float, exponent: float) -> int:
    """Return ``base * (1 + multiplier / confidence) ** exponent``."""
    widened = 1 + multiplier / found if found else math.inf
    if not base and math.isinf(widened):
        return 0
    return amount(base * widened**exponent)


def with_margin(base: int, margin: float) -> int:
    return base + amount(base * margin)


def percentile_amounts(history: Aggregate, share: float, margin: float) -> dict[str, int]:
    """Return a percentile of a history with the margin."""
    found = history.estimates(share)
    units = {CPU: found[CPU] * 1000, MEMORY: found[MEMORY]}
    return {name: with_margin(amount(units[name]), margin) for name in RESOURCES}


def container_recommendation(
    name: str, history: Aggregate, least: Amounts, settings: RecommenderSettings
) -> ContainerRecommendation:
    """Return the recommendation for the containers of a history.

    Args:
        least: the least of every amount.
    """
    found = confidence(history.first, history.last, history.count, settings.confidence_interval)

    def bound(share: float, kind: tuple[float, float] | None = None) -> dict[str, str]:
        amounts = percentile_amounts(history, share, settings.margin)
        if kind is not None:
            amounts = {each: multiplied(base, found, *kind) for each, base in amounts.items()}
        chosen = {each: max(amounts[each], least[each]) for each in history.resources}
        return texts({each: _quantity(each, value) for each, value in chosen.items()})

    target = bound(settings.target_percentile)
    return ContainerRecommendation(
        container_name=name,
        target=target,
        lower_bound=bound(settings.lower_percentile, LOWER),
        upper_bound=bound(settings.upper_percentile, UPPER),
        uncapped_target=target,
    )


def recommendation(histories: Mapping[str, Aggregate], settings: RecommenderSettings) -> Recommendation:
    """Return the recommendation for pods whose containers have these histories, by name."""
    share = 1.0 / max(len(histories), 1)
    least = {
        CPU: amount(amount(settings.pod_min_cpu_millicores) * share),
        MEMORY: amount(amount(settings.pod_min_memory_mb * 1024 * 1024) * share),
    }
    found = (container_recommendation(name, histories[name], least, settings) for name in sorted(histories))
    return Recommendation(container_recommendations=tuple(found))


def _quantity(resource: str, value: int) -> Quantity:
    if resource == CPU:
        return Quantity(value * (NANO // 1000))
    return Quantity(value * NANO, Format.BINARY_SI)
