"""Outages of a controller's own connection: how they are noticed, and from which length on they count."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from podling.controllers.nodes.own_outages import OwnOutages
from podling.sim.loop import EPOCH

PERIOD = 5.0


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def test_server_that_always_answers_needs_no_probe() -> None:
    outages = OwnOutages(PERIOD)
    for seconds in range(0, 60, 5):
        assert not outages.may_last(0, at(seconds))
        assert not outages.end(at(seconds))


@pytest.mark.parametrize(
    ("seconds", "counts"), [(0, False), (5, False), (9.9, False), (10, True), (300, True)]
)
def test_outage_counts_from_the_renew_deadline_on(seconds: float, counts: bool) -> None:
    outages = OwnOutages(PERIOD)
    outages.end(at(0))
    outages.begin(at(1))
    outages.begin(at(1 + seconds / 2))
    assert outages.may_last(0, at(1 + seconds))
    assert outages.end(at(1 + seconds)) is counts
    assert not outages.may_last(0, at(2 + seconds))


@pytest.mark.parametrize(("seconds", "is_late"), [(0, False), (9.9, False), (10, True), (70, True)])
def test_answer_that_takes_the_renew_deadline_ends_an_outage(seconds: float, is_late: bool) -> None:
    outages = OwnOutages(PERIOD)
    outages.end(at(0))
    assert outages.answered(at(1), at(1 + seconds)) is not is_late
    assert outages.end(at(1 + seconds)) is is_late


def test_failure_of_an_informer_begins_an_outage_once() -> None:
    outages = OwnOutages(PERIOD)
    outages.end(at(0))
    assert outages.may_last(1, at(5))
    assert not outages.end(at(5))
    assert not outages.may_last(1, at(10))
    assert outages.may_last(2, at(14))


def test_controller_that_did_not_run_counts_as_cut_off() -> None:
    """The process was stopped: its kubelets' renewals may lie before it, unread."""
    outages = OwnOutages(PERIOD)
    outages.end(at(0))
    assert not outages.may_last(0, at(15))
    assert outages.may_last(0, at(16))
    assert outages.end(at(16))


def test_long_period_is_no_outage() -> None:
    outages = OwnOutages(60.0)
    outages.end(at(0))
    assert not outages.may_last(0, at(60))
