"""Pods that stay after their grace period are found, where their node works."""

from __future__ import annotations

from typing import Any

from podling.sim.checkers.deletion_in_time import DeletionInTime
from tests.support.checked import History, node, pod

DELETED: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
LATER = "2026-01-01T00:10:00Z"
LATE = "pods/default/web on n should have been gone at 00:00:30, and is still there"


def test_pod_that_stays_is_a_violation_once() -> None:
    history = History(DeletionInTime)
    history.write(node())
    history.write(pod(node="n", **DELETED))
    history.wait(110)
    assert not history.texts
    history.wait(60)
    assert history.texts == [LATE]


def test_pod_that_goes_is_none() -> None:
    history = History(DeletionInTime)
    history.write(node())
    history.write(pod(node="n", **DELETED))
    history.wait(60)
    history.delete(pod(node="n", **DELETED))
    history.wait(300)
    assert not history.texts


def test_time_on_a_node_that_is_away_does_not_count() -> None:
    history = History(DeletionInTime)
    history.write(node(ready="Unknown"))
    history.write(pod(node="n", **DELETED))
    history.wait(600)
    assert not history.texts
    history.write(node())
    history.wait(120)
    assert history.texts == [LATE]


def test_time_of_a_fault_does_not_count() -> None:
    history = History(DeletionInTime)
    history.quiet = None
    history.write(node())
    history.write(pod(node="n", **DELETED))
    history.wait(600)
    assert not history.texts
    history.quiet = history.at
    history.wait(260)
    assert not history.texts
    history.wait(20)
    assert history.texts == [LATE]


def test_pod_with_a_finalizer_may_stay() -> None:
    history = History(DeletionInTime)
    history.write(node())
    history.write(pod(node="n", **DELETED, finalizers=["example.org/x"]))
    history.wait(600)
    assert not history.texts


def test_api_servers_wrong_clock_does_not_count() -> None:
    history = History(DeletionInTime)
    history.write(node())
    ahead: dict[str, Any] = {"deletionTimestamp": "2026-01-01T01:00:30Z", "deletionGracePeriodSeconds": 30}
    history.write(pod(node="n", **ahead))
    history.wait(170)
    assert history.texts == [LATE]


def test_deadline_of_a_hung_stop_is_longer_by_the_grace_period() -> None:
    """A stop that began before the fault ended fails after two minutes and the grace period."""
    history = History(DeletionInTime)
    history.write(node())
    history.quiet = history.at
    history.write(pod(node="n", deletionTimestamp=LATER, deletionGracePeriodSeconds=600))
    history.wait(600 + 150 + 80)
    assert not history.texts
    history.wait(30)
    assert history.texts == ["pods/default/web on n should have been gone at 00:10:00, and is still there"]
