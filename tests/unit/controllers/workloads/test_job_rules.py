"""The back-off of a Job after failures."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.controllers.workloads.job_rules import Backoff, backoff_seconds
from podling.sim.loop import EPOCH


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (50, 600)]
)
def test_failures_in_a_row_double_the_wait(failures: int, seconds: float) -> None:
    assert backoff_seconds(Backoff(failures, EPOCH), EPOCH) == seconds
    assert backoff_seconds(Backoff(failures, EPOCH), EPOCH + timedelta(seconds=seconds)) == 0
