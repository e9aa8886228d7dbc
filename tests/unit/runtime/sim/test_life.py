"""One simulated container along its script."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling import clock
from podling.runtime.base import Container, ContainerEventType, ContainerState
from podling.runtime.sim import ContainerScript, LogScript, Run
from podling.runtime.sim.life import Life
from podling.runtime.sim.memory_log import MemoryLog


def life(script: ContainerScript, events: list[ContainerEventType] | None = None) -> Life:
    container = Container(
        id="c",
        sandbox_id="s",
        name="app",
        attempt=0,
        state=ContainerState.CREATED,
        created_at=clock.now(),
    )
    seen = events if events is not None else []
    return Life(container, script, MemoryLog(), lambda event, _: seen.append(event), stdin_once=False)


@pytest.mark.parametrize(
    ("run", "code", "reason"),
    [
        (Run(seconds=5), 0, "Completed"),
        (Run(seconds=5, exit_code=3), 3, "Error"),
        (Run(seconds=5, out_of_memory=True), 137, "OOMKilled"),
    ],
)
async def test_container_ends_as_its_run_is_scripted(run: Run, code: int, reason: str) -> None:
    events: list[ContainerEventType] = []
    subject = life(ContainerScript(runs=(run,)), events)
    subject.begin(7)
    assert (subject.running, subject.container.pid) == (True, 7)
    await subject.exited.wait()
    assert (subject.container.exit_code, subject.container.reason) == (code, reason)
    assert subject.age() == 5
    assert subject.container.pid is None
    assert events == [ContainerEventType.STARTED, ContainerEventType.EXITED]


@pytest.mark.parametrize(
    ("script", "number", "seconds", "code"),
    [
        (ContainerScript(), 15, 0, 143),
        (ContainerScript(stop_seconds=4), 15, 4, 143),
        (ContainerScript(stop_seconds=4, stop_exit_code=0), 15, 4, 0),
        (ContainerScript(stop_seconds=4), 9, 0, 137),
        (ContainerScript(ignores_signals=True), 9, 0, 137),
    ],
)
async def test_signal_ends_running_container(
    script: ContainerScript, number: int, seconds: float, code: int
) -> None:
    subject = life(script)
    subject.begin(1)
    subject.signal(number)
    await subject.exited.wait()
    assert (subject.age(), subject.container.exit_code) == (seconds, code)


async def test_container_may_ignore_its_stop_signal() -> None:
    subject = life(ContainerScript(ignores_signals=True))
    subject.begin(1)
    subject.signal(15)
    await clock.sleep(3600)
    assert subject.running


async def test_first_end_is_final() -> None:
    events: list[ContainerEventType] = []
    subject = life(ContainerScript(runs=(Run(seconds=5),)), events)
    subject.begin(1)
    subject.end(1, "Error", "crashed")
    subject.end(0)
    subject.lose_power(clock.now())
    await clock.sleep(10)
    assert (subject.container.exit_code, subject.container.message) == (1, "crashed")
    assert events.count(ContainerEventType.EXITED) == 1


async def test_power_loss_is_not_reported() -> None:
    events: list[ContainerEventType] = []
    subject = life(ContainerScript(runs=(Run(seconds=60),)), events)
    subject.begin(1)
    lost = clock.now() + timedelta(seconds=2)
    subject.lose_power(lost)
    assert (subject.container.exit_code, subject.container.reason) == (255, "Unknown")
    assert subject.container.finished_at == lost
    assert events == [ContainerEventType.STARTED]


async def test_repeated_log_line_stops_with_the_container() -> None:
    script = ContainerScript(runs=(Run(seconds=25),), logs=(LogScript(text="tick", after=1, every=10),))
    subject = life(script)
    heard: list[tuple[bytes, str]] = []
    subject.listeners.append(lambda chunk, stream: heard.append((chunk, stream)))
    subject.begin(1)
    await clock.sleep(3600)
    assert heard == [(b"tick\n", "stdout")] * 3
    assert subject.log.read().count(b" stdout F tick\n") == 3
