"""``kill -9`` of the process runtime at every step of a container's start, and a restart.

The container is adopted, or ended before a new start, and no process is left in the end.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from podling import clock
from podling.runtime.base import ContainerState
from podling.runtime.process import ProcessRuntime, member
from tests.support.paused_starts import PausedStart

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

COMMAND_SECONDS = 5.0
VISIBLE = {
    "os.chdir",
    "open",
    "fcntl.flock",
    "os.rename",
    "os.fork",
    "socket.bind",
    "ctypes.dlsym",
    "os.exec",
}
"""Events of what other processes can notice."""


def steps_of_a_start(folder: Path) -> list[str]:
    """Return the steps of a start that nothing interrupts."""
    start = PausedStart(folder, "none")
    start.kill_at_step()
    asyncio.run(remove_everything(start.runtime()))
    steps = [line.split() for line in start.steps()]
    last = max(at for at, (step, event) in enumerate(steps) if (step[0], event) == ("1", "socket.bind"))
    until_started = steps[: [event for _, event in steps].index("os.rename", last) + 1]
    return [
        step
        for (step, event), (_, previous) in zip(until_started, [["", ""], *until_started], strict=False)
        if event in VISIBLE and event != previous
    ]


async def remove_everything(runtime: ProcessRuntime) -> None:
    """Do the work of ``podling down`` with an instance that has not started."""
    await runtime.start()
    for sandbox in await runtime.list_sandboxes():
        await runtime.remove_sandbox(sandbox.id)
    await runtime.close()


async def start_again(start: PausedStart, resume_seconds: float | None) -> ContainerState:
    """Start a new instance and, as the kubelet does, another container unless the first one runs."""
    runtime = start.runtime()
    if resume_seconds is not None:
        asyncio.get_running_loop().call_later(resume_seconds, start.resume)
    await runtime.start()
    await clock.sleep(0.2)  # the kubelet looks at its pods a while later
    (container,) = await runtime.list_containers()
    if container.state is not ContainerState.RUNNING:
        if container.state is ContainerState.CREATED:
            await runtime.remove_container(container.id)
        await runtime.start_container(await start.create(runtime, container.sandbox_id))
    start.resume()
    await clock.sleep(0.1)  # for what resumes too late
    await runtime.close()
    return container.state


def check(start: PausedStart, most: int) -> None:
    """Check that one command runs, after at most so many starts, and that nothing is left of it later."""
    deadline = clock.monotonic() + COMMAND_SECONDS
    while not (start.began and start.commands()) and clock.monotonic() < deadline:
        threading.Event().wait(0.005)
    running, monitors, began = start.commands(), start.monitors(), start.began
    asyncio.run(remove_everything(start.runtime()))
    at_step = f"at step {start.step} of {start.steps()}"
    assert len(running) == 1, at_step
    assert len(monitors) == 1, at_step
    assert 1 <= began <= most, at_step
    assert start.commands(COMMAND_SECONDS) == [], at_step
    while start.monitors() and clock.monotonic() < deadline + COMMAND_SECONDS:
        threading.Event().wait(0.005)
    assert start.monitors() == [], at_step


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return steps_of_a_start(tmp_path_factory.mktemp("steps") / "start")


def test_start_that_goes_on_is_adopted_or_never_begins(steps: list[str], tmp_path: Path) -> None:
    found = set()
    for step in steps:
        start = PausedStart(tmp_path / step, step)
        start.kill_at_step()
        found.add(asyncio.run(start_again(start, 0.05)))
        check(start, 1)
    assert found == {ContainerState.CREATED, ContainerState.RUNNING}


def test_start_that_hangs_is_ended(steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "START_SECONDS", 0.1)
    found = set()
    for step in steps:
        start = PausedStart(tmp_path / step, step)
        start.kill_at_step()
        found.add(asyncio.run(start_again(start, None)))
        check(start, 2)  # one that is ended may have begun
    assert found == {ContainerState.CREATED, ContainerState.EXITED, ContainerState.RUNNING}
