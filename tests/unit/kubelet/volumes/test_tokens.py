"""Renewal times of service account tokens, as a table."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.kubelet.volumes.tokens import renewal_time
from tests.unit.kubelet.instances import NOON


@pytest.mark.parametrize(
    ("hours", "jitter", "renewal"),
    [(1, 0, timedelta(minutes=48)), (1, 10, timedelta(minutes=47, seconds=50)), (48, 0, timedelta(hours=24))],
)
def test_token_is_renewed_after_four_fifths_or_a_day(hours: int, jitter: int, renewal: timedelta) -> None:
    found = renewal_time(NOON, NOON + timedelta(hours=hours), timedelta(seconds=jitter))
    assert found == NOON + renewal
