"""Restarts, silence and problem of a part's process."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podling.cluster.processes import states
from podling.cluster.processes.parts import Part
from podling.cluster.processes.states import PartState

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NEW = PartState(part=Part("control", "control"))


def started(now: float = 0.0) -> PartState:
    return states.running(states.begun(NEW, 7, now))


def after(*lives: float) -> PartState:
    """Return the state after processes that ran for so many seconds each, all of them well."""
    state, now = NEW, 0.0
    for seconds in lives:
        state = states.running(states.begun(state, 7, now))
        now += seconds
        state = states.exited(state, "killed by SIGKILL", now)
    return state


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0.0), (1, 0.0), (2, 0.1), (3, 0.2), (4, 0.4), (5, 0.8), (8, 6.4), (9, 10.0), (500, 10.0)],
)
def test_restart_waits_longer_after_each_failure_in_a_row(failures: int, seconds: float) -> None:
    assert states.restart_seconds(failures) == seconds


@pytest.mark.parametrize(
    ("lives", "failures", "wait"),
    [
        ((60.0,), 1, 0.0),
        ((1.0,), 1, 0.0),
        ((1.0, 1.0), 2, 0.1),
        ((1.0, 1.0, 1.0), 3, 0.2),
        ((1.0, 1.0, 60.0), 1, 0.0),
        ((60.0, 60.0, 60.0), 1, 0.0),
    ],
)
def test_part_that_ran_well_begins_anew(lives: tuple[float, ...], failures: int, wait: float) -> None:
    state = after(*lives)
    assert (state.failures, state.restarts) == (failures, len(lives) - 1)
    assert state.next_start == sum(lives) + wait
    assert not states.is_due(state, state.next_start - 0.01) or wait == 0.0
    assert states.is_due(state, state.next_start)


def test_part_that_served_is_back_within_a_second_however_often_it_ends() -> None:
    state = after(*[1.0] * 20)
    assert state.failures == 20
    assert state.next_start == 20.4
    state = states.exited(states.begun(state, 7, 21.0), "exit code 3", 22.0)
    assert state.next_start == 32.0


def test_part_that_never_served_is_not_stable() -> None:
    state = states.exited(states.begun(NEW, 7, 0.0), "exit code 3", 100.0)
    state = states.exited(states.begun(state, 8, 100.0), "exit code 3", 200.0)
    assert state.failures == 2


def test_silence_is_seen_after_its_time_and_ends_with_a_sign() -> None:
    state = states.alive(started(), 10.0)
    assert states.looked_at(state, 12.4) is state
    silent = states.looked_at(state, 12.5)
    assert silent.silent_since == 10.0
    assert states.looked_at(silent, 20.0) is silent
    assert states.problem(silent, 20.0, NOON) == "not responding since 2026-01-01T11:59:50Z"
    assert states.problem(states.alive(silent, 20.5), 20.5, NOON) == ""


def test_part_that_starts_may_be_silent_for_longer() -> None:
    state = states.begun(NEW, 7, 0.0)
    assert states.looked_at(state, 29.9) is state
    assert states.looked_at(state, 30.0).silent_since == 0.0


def test_part_without_a_process_is_not_silent() -> None:
    state = after(60.0)
    assert states.looked_at(state, 1000.0) is state


PROBLEMS = [
    (NEW, ""),
    (states.begun(NEW, 7, 0.0), ""),
    (started(), ""),
    (after(60.0), "killed by SIGKILL; starts again in 0.0 s"),
    (after(1.0, 1.0), "killed by SIGKILL; starts again in 0.1 s"),
    (after(1.0, 1.0, 1.0), "crash loop: killed by SIGKILL; 3 times, starts again in 0.2 s"),
    (states.begun(after(60.0), 8, 60.0), "killed by SIGKILL; starting again"),
    (
        states.begun(after(1.0, 1.0, 1.0), 8, 60.0),
        "crash loop: killed by SIGKILL; 3 times, starting again",
    ),
    (states.running(states.begun(after(60.0), 8, 60.0)), ""),
    (
        states.exited(states.failed_to_start(started(), "port 1 is in use"), "exit code 3", 9.0),
        "exit code 3: port 1 is in use; starts again in 0.0 s",
    ),
]


@pytest.mark.parametrize(("state", "text"), PROBLEMS)
def test_problem_of_part_is_one_line(state: PartState, text: str) -> None:
    now = max(state.next_start - states.restart_seconds(state.failures), 0.0)
    assert states.problem(state, now, NOON) == text


def test_exit_during_a_stop_is_final() -> None:
    state = states.exited(started(), "exit code 0", 9.0, stopping=True)
    assert state.phase == states.ENDED
    assert not states.is_due(state, 1000.0)


def test_supervisor_sleeps_until_time_changes_a_state() -> None:
    assert states.next_change(states.alive(started(), 10.0), 11.0) == pytest.approx(1.5)
    assert states.next_change(after(1.0, 1.0), 2.0) == pytest.approx(0.1)
    assert states.next_change(states.looked_at(started(), 10.0), 10.0) > 60


def test_snapshot_shows_no_signs_of_life() -> None:
    one = states.snapshot(1, [states.alive(started(), 10.0)])
    assert one == states.snapshot(1, [states.alive(started(), 11.0)])
    assert one.parts[0].pid == 7
