"""The conditions of an autoscaler."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from podling.sim.loop import EPOCH
from podling_vpa.recommender.conditions import conditions_of
from podling_vpa.types import AutoscalerCondition

LATER = EPOCH + timedelta(hours=1)


def kinds(found: tuple[AutoscalerCondition, ...]) -> dict[str, str]:
    return {each.type: each.status for each in found}


def found(held: tuple[AutoscalerCondition, ...] = (), **facts: Any) -> tuple[AutoscalerCondition, ...]:
    facts = {"unsupported": "", "has_pods": True, "has_recommendation": True, "now": EPOCH, **facts}
    return conditions_of(held, **facts)


def test_conditions_are_sorted_and_go_when_they_do_not_hold() -> None:
    bad = found(unsupported="no", has_pods=False, has_recommendation=False)
    expected = {"ConfigUnsupported": "True", "NoPodsMatched": "True", "RecommendationProvided": "False"}
    assert kinds(bad) == expected
    assert list(kinds(bad)) == sorted(expected)
    assert kinds(found(bad)) == {"RecommendationProvided": "True"}


def test_transition_time_moves_with_the_status_only() -> None:
    first = found()
    assert found(first, now=LATER) == first
    (changed,) = found(first, now=LATER, has_recommendation=False)
    assert changed.last_transition_time == LATER


def test_other_conditions_stay_but_deprecated_ones() -> None:
    held = tuple(AutoscalerCondition(type=kind, status="True") for kind in ("ConfigDeprecated", "Own"))
    assert set(kinds(found(held))) == {"Own", "RecommendationProvided"}
