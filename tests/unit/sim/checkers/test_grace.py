"""Processes that are killed before their grace period is over, or live much longer, are found."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podling.runtime.base import ContainerEventType
from podling.sim.checkers.grace import Grace
from tests.support.checked import BEGIN, History, node, pod

DELETED: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}


def deleted() -> History:
    history = History(Grace)
    history.write(node())
    history.write(pod(node="n"))
    history.container("n", ContainerEventType.STARTED)
    history.write(pod(node="n", **DELETED))
    return history


@pytest.mark.parametrize(
    ("seconds", "code", "is_found"), [(10, 137, True), (31, 137, False), (10, 143, False), (10, 0, False)]
)
def test_kill_waits_for_the_grace_period(seconds: int, code: int, is_found: bool) -> None:
    history = deleted()
    history.at = BEGIN + timedelta(seconds=seconds)
    history.container("n", ContainerEventType.EXITED, exit_code=code)
    text = f"app of pods/default/web was killed at 00:00:{seconds}; its grace ends at 00:00:30"
    assert history.texts == ([text] if is_found else [])


def test_process_that_lives_longer_is_a_violation() -> None:
    history = deleted()
    history.wait(40)
    assert not history.texts
    history.wait(40)
    assert history.texts == ["app of pods/default/web should have ended at 00:00:30"]


def test_time_after_a_fault_does_not_count() -> None:
    history = deleted()
    history.quiet = BEGIN - timedelta(seconds=130)
    history.at = BEGIN + timedelta(seconds=10)
    history.container("n", ContainerEventType.EXITED, exit_code=137)
    assert not history.texts


def test_pod_that_the_kubelet_ended_has_another_grace_period() -> None:
    history = deleted()
    history.write(pod(node="n", phase="Failed", **DELETED))
    history.container("n", ContainerEventType.EXITED, exit_code=137)
    assert not history.texts


def test_time_on_a_node_without_a_kubelet_does_not_count() -> None:
    history = deleted()
    history.write(node(ready="Unknown"))
    history.wait(600)
    assert not history.texts
    history.write(node())
    history.wait(20)
    assert history.texts == ["app of pods/default/web should have ended at 00:00:30"]


def test_api_servers_wrong_clock_does_not_count() -> None:
    history = History(Grace)
    history.write(node())
    history.container("n", ContainerEventType.STARTED)
    history.write(pod(node="n", deletionTimestamp="2025-12-31T23:00:30Z", deletionGracePeriodSeconds=30))
    history.wait(40)
    assert not history.texts
    history.container("n", ContainerEventType.EXITED, exit_code=137)
    assert not history.texts
