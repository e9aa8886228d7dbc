"""The informer's next request as a table; no sequence of failures makes it a busy loop."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.client.list_and_watch import (
    Listed,
    ListFailed,
    NeedList,
    Outcome,
    State,
    WatchEnded,
    WatchFailed,
    Watching,
    delay_seconds,
    step,
)


@pytest.mark.parametrize(
    ("state", "outcome", "then"),
    [
        pytest.param(NeedList(), Listed("7"), Watching("7"), id="watch from where the list was"),
        pytest.param(NeedList(2), ListFailed(), NeedList(3), id="list again, later"),
        pytest.param(NeedList(2), Listed("7"), Watching("7", 2), id="a list alone is no success"),
        pytest.param(
            Watching("7", 2), WatchEnded("9"), Watching("9", 0, True), id="resume where the watch ended"
        ),
        pytest.param(Watching("7"), WatchEnded("7"), Watching("7", 1), id="an empty watch is a failure"),
        pytest.param(
            Watching("7"), WatchFailed("9"), Watching("9", 1, True), id="broken off: resume after a pause"
        ),
        pytest.param(
            Watching("7", 0, True), WatchFailed("7", expired=True), NeedList(0), id="too old: list at once"
        ),
        pytest.param(
            Watching("7"), WatchFailed("7", expired=True), NeedList(1), id="too old right after a list: wait"
        ),
    ],
)
def test_state_and_outcome_decide_next_state(state: State, outcome: Outcome, then: State) -> None:
    assert step(state, outcome) == then


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 0.8), (2, 1.6), (6, 25.6), (7, 30), (10_000, 30)]
)
def test_the_wait_doubles_to_a_ceiling(failures: int, seconds: float) -> None:
    assert delay_seconds(failures) == seconds


@given(st.lists(st.sampled_from(["list fails", "watch empty", "watch fails", "expired"]), min_size=1))
def test_without_progress_every_second_request_waits_longer(history: list[str]) -> None:
    """In any sequence of failures, at most the list after a failed watch starts without delay."""
    state: State = NeedList()
    failures = [0]
    for what in history:
        if isinstance(state, NeedList):
            state = step(state, ListFailed() if what == "list fails" else Listed("7"))
        elif what == "watch empty":
            state = step(state, WatchEnded(state.revision))
        else:
            state = step(state, WatchFailed(state.revision, expired=what == "expired"))
        failures.append(state.failures)
    assert all(later > earlier for earlier, later in zip(failures, failures[2:], strict=False))
