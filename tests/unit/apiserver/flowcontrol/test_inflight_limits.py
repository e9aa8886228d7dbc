"""Limits of requests in flight (upstream: ``maxinflight_test.go``)."""

from __future__ import annotations

import pytest

from podling.apiserver.flowcontrol.dispatcher import TooManyRequests
from podling.apiserver.flowcontrol.inflight_limits import InflightLimits
from podling.client.requests import User

ANN, ROOT = User("ann"), User("root", ("system:masters",))


def test_reads_and_changes_have_limits_of_their_own() -> None:
    limits = InflightLimits(2, 1)
    places = [limits.enter(ANN, changes=False, long_running=False) for _ in range(2)]
    change = limits.enter(ANN, changes=True, long_running=False)
    for changes in (False, True):
        with pytest.raises(TooManyRequests) as found:
            limits.enter(ANN, changes=changes, long_running=False)
        assert found.value.retry_after == 1
    assert limits.enter(ANN, changes=False, long_running=True) is None, "it is not counted"
    assert limits.enter(ROOT, changes=True, long_running=False) is None, "it always gets an answer"
    assert change is not None
    change.close(None, 0.0, 0.0)
    assert limits.enter(ANN, changes=True, long_running=False) is not None
    assert all(places)


def test_limit_of_zero_is_none() -> None:
    limits = InflightLimits(0, 0)
    for changes in (False, True):
        assert all(limits.enter(ANN, changes=changes, long_running=False) is None for _ in range(1000))
