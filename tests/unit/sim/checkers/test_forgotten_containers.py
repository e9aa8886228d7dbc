"""Containers that run on without their pods are found."""

from __future__ import annotations

import pytest

from podling.runtime.base import ContainerEventType
from podling.sim.checkers.forgotten_containers import ForgottenContainers
from tests.support.checked import History, pod


@pytest.mark.parametrize(
    ("end", "seconds", "count"),
    [(False, 200, 1), (False, 100, 0), (True, 200, 0)],
)
def test_containers_end_after_their_pod(end: bool, seconds: int, count: int) -> None:
    history = History(ForgottenContainers)
    history.write(pod())
    history.container("n", ContainerEventType.STARTED)
    history.delete(pod())
    if end:
        history.container("n", ContainerEventType.EXITED)
    history.wait(seconds)
    assert history.texts == ["app of default/web on n still runs; its pod went at 00:00:00"] * count
