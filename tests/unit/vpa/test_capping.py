"""Recommendations within policies, LimitRanges and limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.quantity import parse
from podling_vpa.capping import capped_to_policy, processed
from podling_vpa.limit_ranges import Limits, NamespaceLimits
from tests.support.vertical_autoscalers import (
    amounts,
    autoscaler,
    container,
    pod,
    recommendation,
    recommended,
)

FREE = NamespaceLimits()


def bounds(least: Any = None, most: Any = None, default: Any = None) -> Limits:
    return Limits(
        *({name: parse(text) for name, text in (each or {}).items()} for each in (least, most, default))
    )


def target_and_notes(
    found: dict[str, str], made: dict[str, Any], limits: NamespaceLimits = FREE, **policy: Any
) -> tuple[dict[str, str], list[str]]:
    """Return the target within all bounds, and the notes, for a pod of one container."""
    policies = [{"containerName": "app", **policy}] if policy else []
    each = recommendation(recommended(target=found, lower=found, upper=found))
    result = processed(autoscaler(each, *policies), pod(made), limits)
    assert result is not None
    (only,) = result.recommendation.container_recommendations
    assert only.lower_bound == only.upper_bound == only.target
    return only.wanted, list(result.notes.get("app", ()))


def test_policy_bounds_the_target() -> None:
    given_: dict[str, Any] = {"minAllowed": amounts("40m", "1M"), "maxAllowed": amounts("45m", "7000")}
    found, notes = target_and_notes(amounts("30m", "7k"), container(), **given_)
    assert found == amounts("40m", "7k")
    assert notes == ["cpu capped to minAllowed", "memory capped to minAllowed", "memory capped to maxAllowed"]


def test_policy_of_every_container_yields_to_the_own_one() -> None:
    policies = (
        {"containerName": "*", "maxAllowed": amounts("1")},
        {"containerName": "app", "maxAllowed": amounts("2")},
    )
    each = recommendation(recommended(target=amounts("5")), recommended("beside", amounts("5")))
    found = capped_to_policy(each, autoscaler(each, *policies).spec.resource_policy)
    assert [each.target for each in found.container_recommendations] == [amounts("2"), amounts("1")]
    assert found.container_recommendations[0].uncapped_target == amounts("5")


def test_requests_alone_stay_below_the_limit() -> None:
    made = container(limits=amounts("3", "30"))
    found, notes = target_and_notes(amounts("5", "10"), made, controlledValues="RequestsOnly")
    assert found == amounts("3", "10")
    assert notes == ["cpu capped to container limit"]
    assert target_and_notes(amounts("5", "10"), made) == (amounts("5", "10"), [])


@pytest.mark.parametrize(
    ("limits", "expected", "notes"),
    [
        (bounds(most=amounts("4")), amounts("2"), ["cpu capped to fit Max in container LimitRange"]),
        (bounds(least=amounts("8")), amounts("8"), ["cpu capped to fit Min in container LimitRange"]),
        (bounds(most=amounts("20")), amounts("3"), []),
    ],
    ids=["limit too high", "request too low", "within"],
)
def test_limit_range_bounds_the_proportional_limit(
    limits: Limits, expected: dict[str, str], notes: list[str]
) -> None:
    made = container(requests=amounts("1"), limits=amounts("2"))
    assert target_and_notes(amounts("3"), made, NamespaceLimits(containers=limits)) == (expected, notes)


def test_limit_range_of_pods_scales_all_containers() -> None:
    each = recommendation(recommended(target=amounts("2")), recommended("beside", amounts("4")))
    made = [container(name, amounts("1"), amounts("1")) for name in ("app", "beside")]
    limits = NamespaceLimits(pods=bounds(most=amounts("3")))
    found = processed(autoscaler(each), pod(*made), limits)
    assert found is not None
    assert [one.target for one in found.recommendation.container_recommendations] == [
        amounts("1"),
        amounts("2"),
    ]


def test_containers_that_the_pod_does_not_have_are_left_out() -> None:
    each = recommendation(recommended("gone", amounts("2")))
    found = processed(autoscaler(each), pod(), FREE)
    assert found is not None
    assert found.recommendation.container_recommendations == ()
    assert processed(autoscaler(None), pod(), FREE) is None


MILLI = st.integers(1, 10**6)


@given(MILLI, MILLI, st.integers(0, 10**6))
def test_caps_are_respected(wanted: int, least: int, more: int) -> None:
    policy: dict[str, Any] = {"minAllowed": amounts(f"{least}m"), "maxAllowed": amounts(f"{least + more}m")}
    found, notes = target_and_notes(amounts(f"{wanted}m"), container(), **policy)
    assert parse(f"{least}m") <= parse(found["cpu"]) <= parse(f"{least + more}m")
    assert bool(notes) is not (least <= wanted <= least + more)
