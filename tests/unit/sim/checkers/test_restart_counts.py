"""Restart counts that fall are found."""

from __future__ import annotations

from podling.sim.checkers.restart_counts import RestartCounts
from tests.support.checked import History, pod


def test_count_that_falls_is_a_violation() -> None:
    history = History(RestartCounts)
    for restarts in (0, 1, 2, 2):
        history.write(pod(restarts=restarts))
    assert not history.texts
    history.write(pod(restarts=1))
    assert history.texts == ["the restart count of app in pods/default/web fell from 2 to 1"]


def test_another_pod_counts_from_zero() -> None:
    history = History(RestartCounts)
    history.write(pod(restarts=5))
    history.write(pod(uid="another"))
    assert not history.texts
