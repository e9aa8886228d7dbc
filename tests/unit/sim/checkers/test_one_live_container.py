"""Two processes of one container are found; a restart is none."""

from __future__ import annotations

from podling.runtime.base import ContainerEventType
from podling.sim.checkers.one_live_container import OneLiveContainer
from tests.support.checked import History

STARTED, EXITED = ContainerEventType.STARTED, ContainerEventType.EXITED


def test_second_process_beside_the_first_is_a_violation() -> None:
    history = History(OneLiveContainer)
    history.container("n-1", STARTED, id="c1")
    history.container("n-2", STARTED, id="c2")
    assert history.texts == ["container app of pod default/web runs twice: c1 on n-1, and c2 on n-2"]


def test_restart_after_the_end_is_none() -> None:
    history = History(OneLiveContainer)
    for attempt in range(3):
        history.container("n-1", STARTED, id=f"c{attempt}", attempt=attempt)
        history.container("n-1", EXITED, id=f"c{attempt}", attempt=attempt)
    assert not history.texts


def test_loss_of_power_ends_a_process() -> None:
    history = History(OneLiveContainer)
    history.container("n-1", STARTED, id="c1")
    history.container("n-1", None, id="c1")
    history.container("n-1", STARTED, id="c2", attempt=1)
    assert not history.texts


def test_second_process_of_an_attempt_is_a_violation() -> None:
    history = History(OneLiveContainer)
    history.container("n-1", STARTED, id="c1")
    history.container("n-1", EXITED, id="c1")
    history.container("n-1", STARTED, id="c2")
    assert history.texts == ["attempt 0 of app of pod default/web started as c1 on n-1, c2 on n-1"]
