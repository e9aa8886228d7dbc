"""The facts that a report shows."""

from __future__ import annotations

from msgspec.structs import replace

from podling.sim.report.report_data import BINS, Fault
from tests.support.reports import finished_run


def test_faults_that_end_by_themselves_have_a_time() -> None:
    assert finished_run().faults() == [Fault("a machine fails", 60, 180)]


def test_failures_come_in_the_order_of_time() -> None:
    failures = finished_run().failures()
    assert [(at, name) for at, name, _ in failures] == [(62, "2. scale"), (480, "five")]
    assert 'deployments.apps "nothing" not found' in failures[0][2]


def test_intervals_cover_every_pod_that_was_ready() -> None:
    data = finished_run()
    intervals = data.starts()
    assert sum(each.pods for each in intervals) == len(data.statistics.start_seconds())
    assert all(each.percentiles[50] <= each.percentiles[90] <= each.percentiles[99] for each in intervals)
    assert len(intervals) <= BINS
    assert sum(each.pods for each in data.scheduling()) == len(data.statistics.scheduling_seconds())


def test_run_without_time_has_a_length() -> None:
    data = finished_run()
    assert replace(data, outcome=replace(data.outcome, seconds=0.0)).seconds == 1.0
