"""Starts of containers of the process runtime that pause at a chosen step, where their runtime is killed.

A step is an audit event of the interpreter in one of the processes of a start: the starter (0), the monitor
that it becomes (1), and the child that becomes the command (2). All changes that other processes can see have
such an event.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

from podling import clock
from podling.runtime.base import ContainerSpec, SandboxSpec
from podling.runtime.process import ProcessRuntime, member
from tests.support.pod_processes import still_running

PAUSING = """
import sys; sys.path.append(sys.argv[1])
import os, time
from podling.runtime.monitor.begin import main
state = dict(process=0, count=0, inside=False)
def begin_process():
    state.update(process=state["process"] + 1, count=0)
os.register_at_fork(after_in_child=begin_process)
def pause(event, arguments):
    if state["inside"]:
        return
    state["inside"] = True
    state["count"] += 1
    step = f"{state['process']}.{state['count']}"
    with open("NOTES/steps", "a") as file:
        file.write(f"{step} {event}\\n")
    if step == "STEP":
        open("NOTES/paused", "w").close()
        while not os.path.exists("NOTES/go"):
            time.sleep(0.005)
    state["inside"] = False
sys.addaudithook(pause)
main(*sys.argv[2:])
"""
"""A monitor's beginning that pauses before ``STEP`` until the file ``go`` is there."""


class PausedStart:
    """A container of a runtime in a process of its own, with a start that pauses at ``step``."""

    def __init__(self, folder: Path, step: str) -> None:
        folder.mkdir(parents=True)
        self.folder, self.step = folder, step
        self.argument = f"9{os.getpid()}.{abs(hash(folder)) % 10**9:09d}"

    @property
    def began(self) -> int:
        """Return how often a command began."""
        notes = self.folder / "began"
        return len(notes.read_text().splitlines()) if notes.exists() else 0

    def runtime(self) -> ProcessRuntime:
        return ProcessRuntime(self.folder / "state")

    def resume(self) -> None:
        (self.folder / "go").touch()

    def steps(self) -> list[str]:
        """Return the steps up to now, each with its event."""
        return (self.folder / "steps").read_text().splitlines()

    def commands(self, seconds: float = 0) -> list[int]:
        """Return the processes of commands that still run after at most so many seconds."""
        return still_running(self.argument, seconds)

    def monitors(self) -> list[str]:
        """Return the processes of starters and monitors."""
        place = str(self.folder / "state").encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and place in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
            except OSError:
                continue
        return found

    async def create(self, runtime: ProcessRuntime, sandbox_id: str) -> str:
        image = await runtime.images.pull("podling.local/host")
        shell = f"echo began >> {self.folder}/began; exec sleep {self.argument}"
        log = self.folder / "logs" / "0.log"
        spec = ContainerSpec(name="app", image=image.id, command=("sh", "-c", shell), log_path=log)
        return await runtime.create_container(sandbox_id, spec)

    def kill_at_step(self) -> None:
        """Run the start in a process, and kill that process when the step is reached."""
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(self._start())
            finally:
                os._exit(1)
        deadline = clock.monotonic() + 20
        while not (self.folder / "paused").exists() and not (self.folder / "done").exists():
            assert clock.monotonic() < deadline, "the step is not reached"
            threading.Event().wait(0.005)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    async def _start(self) -> None:
        member.BOOTSTRAP = PAUSING.replace("NOTES", str(self.folder)).replace("STEP", self.step)
        runtime = self.runtime()
        await runtime.start()
        sandbox = SandboxSpec(
            pod_uid="uid", pod_name="web", pod_namespace="default", log_directory=self.folder / "logs"
        )
        container_id = await self.create(runtime, (await runtime.run_sandbox(sandbox)).id)
        await runtime.start_container(container_id)
        (self.folder / "done").touch()
        await asyncio.Event().wait()
