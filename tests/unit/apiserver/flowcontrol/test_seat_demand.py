"""The demand for seats over time (upstream: ``integrator_test.go``)."""

from __future__ import annotations

import math

from podling.apiserver.flowcontrol.seat_demand import SMOOTHING, Integrator, Observation, SeatDemand


def test_integrator_gives_average_and_deviation_over_time() -> None:
    value = Integrator(100.0)
    first = value.observation(100.0)
    assert (first.seconds, first.least, first.most) == (0, 0, 0)
    assert math.isnan(first.average)
    assert math.isnan(first.deviation)
    value.set(3, 100.0)
    value.set(5, 101.0)
    value.set(7, 102.0)
    found = value.reset(103.0)
    assert (found.seconds, found.average, found.least, found.most) == (3.0, 5.0, 0, 7)
    assert math.isclose(found.deviation, math.sqrt(8 / 3))
    value.set(2, 104.0)
    assert value.observation(104.0) == Observation(1.0, 7.0, 0.0, 2, 7)
    value.add(3, 105.0)
    assert value.observation(106.0).average == (7 + 2 + 5) / 3


def test_smoothed_demand_rises_at_once_and_falls_slowly() -> None:
    demand = SeatDemand().after(Observation(10.0, 4.0, 1.0, 0, 9.0))
    assert demand == SeatDemand(4.0, 1.0, 9, 5.0)
    later = demand.after(Observation(10.0, 0.0, math.nan, 0, 0.0))
    assert later == SeatDemand(0.0, 0.0, 0, SMOOTHING * 5.0)


def test_demand_of_no_time_changes_only_the_high_watermark() -> None:
    before = SeatDemand(4.0, 1.0, 9, 5.0)
    assert before.after(Observation(0.0, math.nan, math.nan, 0, 3.0)) == SeatDemand(4.0, 1.0, 3, 5.0)
