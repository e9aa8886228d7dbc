"""Pods that a kubelet removes while their containers run are found."""

from __future__ import annotations

import pytest

from podling.runtime.base import ContainerEventType
from podling.sim.checkers.last_to_go import LastToGo
from tests.support.checked import History, pod


@pytest.mark.parametrize(("part", "count"), [("node/n", 1), ("administrator", 0), ("controller-manager", 0)])
def test_kubelet_removes_no_pod_that_runs(part: str, count: int) -> None:
    history = History(LastToGo)
    history.write(pod())
    history.container("n", ContainerEventType.STARTED)
    history.delete(pod())
    history.request("delete", pod(), part=part)
    assert history.texts == ["node/n removed pods/default/web while app ran"] * count


def test_pod_whose_containers_have_ended_may_go() -> None:
    history = History(LastToGo)
    history.write(pod())
    history.container("n", ContainerEventType.STARTED)
    history.container("n", ContainerEventType.EXITED)
    history.delete(pod())
    history.request("delete", pod(), part="node/n")
    assert not history.texts
