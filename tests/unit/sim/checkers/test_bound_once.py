"""A pod that moves, and a container on another node, are found."""

from __future__ import annotations

from podling.runtime.base import ContainerEventType
from podling.sim.checkers.bound_once import BoundOnce
from tests.support.checked import History, pod


def test_pod_that_moves_is_a_violation() -> None:
    history = History(BoundOnce)
    history.write(pod())
    history.write(pod(node="n-1"))
    assert not history.texts
    history.write(pod(node="n-2"))
    assert history.texts == ["pod default/web moved from n-1 to n-2"]


def test_pod_of_the_same_name_may_be_elsewhere() -> None:
    history = History(BoundOnce)
    history.write(pod(node="n-1"))
    history.delete(pod(node="n-1"))
    history.write(pod(node="n-2", uid="another"))
    assert not history.texts


def test_container_on_another_node_is_a_violation() -> None:
    history = History(BoundOnce)
    history.write(pod(node="n-1"))
    history.container("n-1", ContainerEventType.STARTED)
    assert not history.texts
    history.container("n-2", ContainerEventType.STARTED)
    assert history.texts == ["container app of pod default/web starts on n-2, not on n-1"]
