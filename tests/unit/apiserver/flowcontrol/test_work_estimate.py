"""Estimates of the work of requests, by the table of upstream's tests (``width_test.go``)."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.flowcontrol.work_estimate import (
    BODY_BYTES_PER_SEAT,
    FULL_SEATS,
    OBJECT_BYTES_MAX,
    ObjectStats,
    body_seats,
    list_seats,
    mutating_estimate,
    seats_in_level,
)
from podling.client.requests import ListOptions

EXACT, NOT_OLDER = "Exact", "NotOlderThan"


@pytest.mark.parametrize(
    ("options", "count", "size", "seats"),
    [
        ({"limit": 399, "resource_version": "1"}, 699, 10_000, 40),
        ({"resource_version": "1"}, 699, 10_000, 10),
        ({"resource_version": "1"}, 69, 10_000, 7),
        ({"limit": 399}, 699, 10_000, 40),
        ({}, 399, 10_000, 40),
        ({"continue_token": "token", "limit": 399}, 699, 10_000, 40),
        ({"limit": 299, "resource_version": "0"}, 399, 10_000, 10),
        ({"limit": 20, "resource_version": "0"}, 399, 10_000, 2),
        ({"resource_version": "0"}, 799, 10_000, 10),
        ({"resource_version": "0"}, 79, 10_000, 8),
        ({"resource_version": "1", "resource_version_match": EXACT, "limit": 399}, 699, 10_000, 40),
        ({"resource_version": "1", "resource_version_match": NOT_OLDER}, 799, 10_000, 10),
        ({"resource_version": "1", "resource_version_match": NOT_OLDER}, 79, 10_000, 8),
        ({"resource_version": "1", "resource_version_match": EXACT}, 5000, 10_000, 100),
        ({"resource_version_match": "foo"}, 200, 10_000, 20),
        ({"resource_version": "foo", "resource_version_match": EXACT, "limit": 399}, 699, 10_000, 40),
        ({}, 1, 0, 15),
        ({"limit": 1}, 1_000_000_000, OBJECT_BYTES_MAX, 15),
        ({"limit": 499}, 1_000_000_000, OBJECT_BYTES_MAX, 100),
        ({"label_selector": "app=test"}, 799, 10_000, 80),
        ({"label_selector": "app=test", "limit": 49}, 799, 10_000, 40),
        ({"label_selector": "app=test", "limit": 699}, 799, 10_000, 70),
        ({"label_selector": "app=test", "resource_version": "0"}, 799, 10_000, 10),
        ({"label_selector": "app=test", "resource_version": "0", "limit": 29}, 799, 10_000, 3),
        ({"resource_version": "0"}, 0, 0, 1),
    ],
)
def test_list_takes_a_seat_for_every_100_kilobytes(
    options: dict[str, Any], count: int, size: int, seats: int
) -> None:
    assert list_seats(ListOptions(**options), ObjectStats(count, size)) == seats


@pytest.mark.parametrize(
    ("options", "size", "seats"),
    [({}, 200_000, 2), ({}, 1_500_000, 15), ({"limit": 500, "resource_version": "0"}, 1_500_000, 10)],
)
def test_list_of_one_name_reads_one_object(options: dict[str, Any], size: int, seats: int) -> None:
    found = list_seats(
        ListOptions(field_selector="metadata.name=test", **options), ObjectStats(799, size), single=True
    )
    assert found == seats


@pytest.mark.parametrize(
    ("options", "seats"),
    [
        ({}, 8),
        ({"resource_version": "0"}, 8),
        ({"resource_version": "1"}, 1),
        ({"send_initial_events": False}, 8),
        ({"send_initial_events": False, "resource_version": "1"}, 1),
        ({"send_initial_events": True}, 8),
        ({"send_initial_events": True, "resource_version": "1"}, 8),
    ],
)
def test_watch_takes_seats_for_its_first_events(options: dict[str, Any], seats: int) -> None:
    assert list_seats(ListOptions(**options), ObjectStats(799, 1000), watch=True) == seats


def test_list_of_unknown_objects_takes_one_seat() -> None:
    assert list_seats(ListOptions(), None) == 1


@pytest.mark.parametrize(
    ("watchers", "most", "final", "seconds"),
    [
        (0, 10, 0, 0),
        (5, 10, 0, 0),
        (29, 10, 3, 0.005),
        (199, 10, 10, 0.010),
        (100, 5, 5, 0.010),
        (1000, 20, 10, 0.050),
    ],
)
def test_change_takes_seats_for_its_watchers(watchers: int, most: int, final: int, seconds: float) -> None:
    found = mutating_estimate(watchers, most)
    assert (found.initial_seats, found.final_seats) == (1, final)
    assert found.additional_seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("size", "seats"), [(0, 1), (BODY_BYTES_PER_SEAT, 1), (BODY_BYTES_PER_SEAT + 1, 2), (512 * 1024, 41)]
)
def test_body_takes_seats_by_its_size(size: int, seats: int) -> None:
    assert body_seats(size) == seats


@pytest.mark.parametrize("limit", [4, 20, 100, 245])
def test_widest_requests_take_a_quarter_of_their_level(limit: int) -> None:
    assert seats_in_level(1, limit) == 1
    assert seats_in_level(FULL_SEATS, limit) == seats_in_level(1000, limit) == max(2, limit // 4)
    assert seats_in_level(2, limit) >= 2, "it is still one of the wide requests"
