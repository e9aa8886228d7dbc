"""The priority of the DNS process, and how often it looks around."""

from __future__ import annotations

import pytest

from podling.network.dns.privileges import FLOOD_NICE, FLOOD_SHARE, NORMAL_NICE, nice_for
from podling.network.dns.server_process import FOLLOW_SECONDS, REST_SECONDS, REST_SHARE, look_interval


@pytest.mark.parametrize(
    ("share", "wanted"),
    [(0.0, NORMAL_NICE), (FLOOD_SHARE, NORMAL_NICE), (FLOOD_SHARE + 0.01, FLOOD_NICE), (1.0, FLOOD_NICE)],
)
def test_flood_lowers_the_priority(share: float, wanted: int) -> None:
    assert nice_for(share) == wanted


@pytest.mark.parametrize(
    ("share", "is_connected", "seconds"),
    [
        (0.0, True, REST_SECONDS),
        (REST_SHARE, True, FOLLOW_SECONDS),
        (0.0, False, FOLLOW_SECONDS),
    ],
)
def test_process_without_questions_looks_around_less_often(
    share: float, is_connected: bool, seconds: float
) -> None:
    assert look_interval(share, is_connected=is_connected) == seconds
