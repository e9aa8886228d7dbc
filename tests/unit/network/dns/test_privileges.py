"""The priority of the DNS process."""

from __future__ import annotations

import pytest

from podling.network.dns.privileges import FLOOD_NICE, FLOOD_SHARE, NORMAL_NICE, nice_for


@pytest.mark.parametrize(
    ("share", "wanted"),
    [(0.0, NORMAL_NICE), (FLOOD_SHARE, NORMAL_NICE), (FLOOD_SHARE + 0.01, FLOOD_NICE), (1.0, FLOOD_NICE)],
)
def test_flood_lowers_the_priority(share: float, wanted: int) -> None:
    assert nice_for(share) == wanted
