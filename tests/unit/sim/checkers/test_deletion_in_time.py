"""Pods that stay after their grace period are found, where their node works."""

from __future__ import annotations

from podling.sim.checkers.deletion_in_time import DeletionInTime
from tests.support.checked import History, node, pod

DELETED = "2026-01-01T00:00:30Z"
LATE = "pods/default/web on n should have been gone at 00:00:30, and is still there"


def test_pod_that_stays_is_a_violation_once() -> None:
    history = History(DeletionInTime)
    history.write(node())
    history.write(pod(node="n", deletionTimestamp=DELETED))
    history.wait(110)
    assert not history.texts
    history.wait(60)
    assert history.texts == [LATE]


def test_pod_that_goes_is_none() -> None:
    history = History(DeletionInTime)
    history.write(node())
    history.write(pod(node="n", deletionTimestamp=DELETED))
    history.wait(60)
    history.delete(pod(node="n", deletionTimestamp=DELETED))
    history.wait(300)
    assert not history.texts


def test_time_on_a_node_that_is_away_does_not_count() -> None:
    history = History(DeletionInTime)
    history.write(node(ready="Unknown"))
    history.write(pod(node="n", deletionTimestamp=DELETED))
    history.wait(600)
    assert not history.texts
    history.write(node())
    history.wait(120)
    assert history.texts == [LATE]


def test_time_of_a_fault_does_not_count() -> None:
    history = History(DeletionInTime)
    history.quiet = None
    history.write(node())
    history.write(pod(node="n", deletionTimestamp=DELETED))
    history.wait(600)
    assert not history.texts
    history.quiet = history.at
    history.wait(250)
    assert history.texts == [LATE]


def test_pod_with_a_finalizer_may_stay() -> None:
    history = History(DeletionInTime)
    history.write(node())
    history.write(pod(node="n", deletionTimestamp=DELETED, finalizers=["example.org/x"]))
    history.wait(600)
    assert not history.texts
