"""The numbers of PodUnavailableBudgets. Cases of upstream's ``pub_controller_test.go``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from podling_kruise.podunavailablebudget.status_rules import desired_available, records, status_of
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from tests.support.budgets import READY, budget

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEAVING, NOT_READY = "leaving", "not ready"
Number = int | str


def pod(number: int, state: str = "") -> Pod:
    metadata: dict[str, Any] = {"name": f"web-{number}"}
    if state == LEAVING:
        metadata["deletionTimestamp"] = "2026-01-01T11:59:00Z"
    status = {"phase": "Running"} if state == NOT_READY else READY
    containers = [{"name": "main", "image": "web:1"}]
    return codec.from_plain({"metadata": metadata, "spec": {"containers": containers}, "status": status}, Pod)


def typed(status: Mapping[str, Any] | None = None, **spec: Any) -> PodUnavailableBudget:
    plain = {**budget(**spec), "status": dict(status or {})}
    return codec.from_plain(plain, PodUnavailableBudget)


@pytest.mark.parametrize(
    ("field", "amount", "total", "desired"),
    [
        ("maxUnavailable", "10%", 15, 13),
        ("maxUnavailable", "30%", 0, 0),
        ("maxUnavailable", "30%", 1, 0),
        ("maxUnavailable", "30%", 10, 7),
        ("maxUnavailable", "30%", 15, 10),
        ("maxUnavailable", "0%", 10, 10),
        ("maxUnavailable", "100%", 10, 0),
        ("maxUnavailable", 100, 10, 0),
        ("minAvailable", 100, 10, 100),
        ("minAvailable", "50%", 10, 5),
        ("minAvailable", "80%", 10, 8),
    ],
)
def test_desired_number_follows_from_the_amount(field: str, amount: Number, total: int, desired: int) -> None:
    amounts: dict[str, Any] = {"maxUnavailable": None, "minAvailable": None, field: amount}
    assert desired_available(typed(**amounts), total) == desired


@pytest.mark.parametrize(
    ("spec", "states", "total", "numbers"),
    [
        ({"maxUnavailable": "30%"}, [""] * 10, 0, (10, 10, 0)),
        ({"maxUnavailable": "30%"}, [""] * 10, 15, (0, 10, 10)),
        ({"maxUnavailable": "30%"}, [""] * 12 + [NOT_READY], 10, (5, 12, 7)),
        ({"maxUnavailable": "30%"}, [""] * 9 + [LEAVING] + [NOT_READY] * 3, 10, (2, 9, 7)),
        ({"maxUnavailable": "30%"}, [""] * 7 + [LEAVING] * 3, 10, (0, 7, 7)),
        ({"maxUnavailable": "30%"}, [], 0, (0, 0, 0)),
        ({"maxUnavailable": None, "minAvailable": 100}, [""] * 5, 10, (0, 5, 100)),
        ({"maxUnavailable": None, "minAvailable": "50%"}, [""] * 5, 10, (0, 5, 5)),
        ({"maxUnavailable": None, "minAvailable": "80%"}, [""] * 10, 10, (2, 10, 8)),
    ],
)
def test_ready_pods_beyond_the_desired_ones_may_go(
    spec: dict[str, Any], states: list[str], total: int, numbers: tuple[int, int, int]
) -> None:
    owner, pods = typed(**spec), [pod(number, state) for number, state in enumerate(states)]
    found = status_of(owner, pods, total, records(owner.status, pods, NOW))
    assert (found.unavailable_allowed, found.current_available, found.desired_available) == numbers
    assert found.total_replicas == total


def times(*groups: tuple[range, int]) -> dict[str, str]:
    """Return records of pods: those of each range since so many seconds."""
    return {
        f"web-{number}": (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
        for numbers, seconds in groups
        for number in numbers
    }


FRESH = {
    "unavailablePods": times((range(10), 0)),
    "disruptedPods": times((range(10, 20), 0)),
}
PARTLY_LATE = {
    "unavailablePods": times((range(5), 11), (range(5, 10), 0)),
    "disruptedPods": times((range(10, 15), 125), (range(15, 20), 0)),
}
SEEN = {
    "unavailablePods": times((range(5), 11), (range(5, 10), 0)),
    "disruptedPods": times((range(10, 20), 0)),
}


@pytest.mark.parametrize(
    ("status", "special", "state", "current", "kept"),
    [
        (FRESH, range(0), "", 80, (10, 10)),
        (FRESH, range(20, 25), NOT_READY, 75, (10, 10)),
        (FRESH, range(20, 25), LEAVING, 75, (10, 10)),
        (SEEN, range(10, 15), LEAVING, 85, (5, 5)),
        (PARTLY_LATE, range(20, 25), LEAVING, 85, (5, 5)),
    ],
)
def test_recorded_pods_count_as_unavailable_until_they_are_seen_or_late(
    status: dict[str, Any], special: range, state: str, current: int, kept: tuple[int, int]
) -> None:
    owner = typed(status, maxUnavailable="30%")
    pods = [pod(number, state if number in special else "") for number in range(100)]
    found = status_of(owner, pods, 100, records(owner.status, pods, NOW))
    assert (found.current_available, found.desired_available) == (current, 70)
    assert found.unavailable_allowed == current - 70
    assert (len(found.unavailable_pods), len(found.disrupted_pods)) == kept


def test_records_that_are_late_are_named_and_the_next_is_waited_for() -> None:
    owner = typed({"disruptedPods": times((range(1), 21), (range(1, 2), 15)), "unavailablePods": times()})
    found = records(owner.status, [pod(0), pod(1)], NOW)
    assert [each.metadata.name for each in found.broken] == ["web-0"]
    assert found.seconds == 5
    assert list(found.disrupted) == ["web-1"]


def test_record_is_kept_to_its_last_second() -> None:
    owner = typed({"disruptedPods": times((range(1), 20)), "unavailablePods": times((range(1, 2), 10))})
    found = records(owner.status, [pod(0), pod(1)], NOW)
    assert (list(found.disrupted), list(found.unavailable), found.seconds) == (["web-0"], ["web-1"], 0)
