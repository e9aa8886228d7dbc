"""Containers that run on without their pods are found."""

from __future__ import annotations

import pytest

from podling.runtime.base import ContainerEventType
from podling.sim.checkers.forgotten_containers import ForgottenContainers
from tests.support.checked import History, node, pod


@pytest.mark.parametrize(
    ("end", "seconds", "count"),
    [(False, 200, 1), (False, 100, 0), (True, 200, 0)],
)
def test_containers_end_after_their_pod(end: bool, seconds: int, count: int) -> None:
    history = History(ForgottenContainers)
    history.write(node())
    history.write(pod())
    history.container("n", ContainerEventType.STARTED)
    history.delete(pod())
    if end:
        history.container("n", ContainerEventType.EXITED)
    history.wait(seconds)
    assert history.texts == ["app of default/web on n still runs; its pod went at 00:00:00"] * count


def test_containers_on_a_node_without_a_kubelet_are_not_forgotten() -> None:
    history = History(ForgottenContainers)
    history.write(node(ready="Unknown"))
    history.write(pod())
    history.container("n", ContainerEventType.STARTED)
    history.delete(pod())
    history.wait(600)
    assert not history.texts
    history.write(node())
    history.wait(140)
    assert not history.texts
    history.wait(20)
    assert history.texts == ["app of default/web on n still runs; its pod went at 00:00:00"]


def test_time_in_which_a_hung_call_may_end_does_not_count() -> None:
    history = History(ForgottenContainers)
    history.write(node())
    history.write(pod())
    history.container("n", ContainerEventType.STARTED)
    history.delete(pod())
    history.wait(600)
    history.texts.clear()
    history.write(pod("other"))
    history.container("n", ContainerEventType.STARTED, id="c2", uid="uid-other")
    history.delete(pod("other"))
    history.quiet = history.at
    history.wait(140)
    assert not history.texts
    history.wait(20)
    assert len(history.texts) == 1
