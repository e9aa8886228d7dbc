"""The ``Retry-After`` of rejections (upstream: ``dropped_requests_tracker_test.go``)."""

from __future__ import annotations

from podling.apiserver.flowcontrol.dropped_requests import RETRY_AFTER_MAX, DroppedRequests

STEPS = [
    (0, 5, 1), (1, 11, 2), (2, 1, 2), (3, 11, 4), (4, 1, 4), (7, 1, 8), (11, 1, 8), (15, 1, 7), (17, 1, 6),
    (21, 14, 5), (22, 1, 10),
]  # fmt: skip
"""Second, rejections in it, and what ``Retry-After`` is then."""


def test_retry_after_follows_the_rejections_of_the_last_seconds() -> None:
    dropped = DroppedRequests()
    for second, number, expected in STEPS:
        for _ in range(number):
            dropped.record(1_700_000_000 + second)
        assert dropped.retry_after == expected, second


def test_single_rejections_do_not_raise_it() -> None:
    dropped = DroppedRequests()
    for second in (100, 101):
        dropped.record(second)
    assert dropped.retry_after == 1


def test_it_stays_below_a_limit() -> None:
    dropped = DroppedRequests()
    for second in range(100, 1000):
        for _ in range(200):
            dropped.record(second)
    assert dropped.retry_after == RETRY_AFTER_MAX
