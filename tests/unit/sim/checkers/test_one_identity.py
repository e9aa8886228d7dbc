"""Two pods of one name that run at once are found."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import DeleteOptions
from podling.runtime.base import ContainerEventType
from podling.sim.checkers.one_identity import OneIdentity
from tests.support.checked import History, node, pod

STARTED, EXITED = ContainerEventType.STARTED, ContainerEventType.EXITED


def history_with_successor(part: str, grace: int | None) -> History:
    history = History(OneIdentity)
    history.write(node())
    history.write(pod(node="n"))
    history.container("n", STARTED)
    history.delete(pod(node="n"))
    history.request("delete", pod(), part=part, detail=DeleteOptions(grace_period_seconds=grace))
    history.container("other", STARTED, id="c2", uid="uid-2")
    return history


@pytest.mark.parametrize(
    ("part", "grace", "count"),
    [
        ("controller-manager", 0, 1),
        ("controller-manager", None, 1),
        ("administrator", 0, 0),
        ("administrator", 9, 1),
    ],
)
def test_successor_waits_for_the_end(part: str, grace: int | None, count: int) -> None:
    text = "pod default/web starts on other while the pod of that name with the UID uid-web runs"
    assert history_with_successor(part, grace).texts == [text] * count


@pytest.mark.parametrize("end", [EXITED, None])
def test_successor_of_an_ended_pod_may_start(end: ContainerEventType | None) -> None:
    history = History(OneIdentity)
    history.write(pod(node="n"))
    history.container("n", STARTED)
    history.container("n", end)
    history.container("other", STARTED, id="c2", uid="uid-2")
    assert not history.texts


def test_pod_of_a_removed_node_is_given_up() -> None:
    history = History(OneIdentity)
    history.write(node())
    history.write(pod(node="n"))
    history.container("n", STARTED)
    history.delete(node())
    history.delete(pod(node="n"))
    history.container("other", STARTED, id="c2", uid="uid-2")
    assert not history.texts
