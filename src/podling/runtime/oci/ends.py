"""Ends of containers: noticed as they happen, recorded once, and found later if no process watched.

A container ends when its monitor has written its exit code. Its end is recorded under its lock, after
everything that it left running is killed and the kernel's count of kills for want of memory was read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial

from msgspec.structs import replace

from podling import clock
from podling.files.trees import remove_tree
from podling.runtime.base import ContainerEvent, ContainerEventType, ContainerState
from podling.runtime.oci import conmon
from podling.runtime.oci.container_exits import Running
from podling.runtime.oci.host import Host, open_process
from podling.runtime.oci.processes import wait_for_ends
from podling.runtime.oci.records import ContainerRecord, Records
from podling.runtime.oci.threads import in_thread
from podling.supervisor import Supervisor

EXIT_FILE_SECONDS = 5.0
"""Seconds after a process' end in which its monitor must write the exit code."""

UNKNOWN_EXIT_CODE = 255

END = "runtime/container-end"


class Locks:
    """One lock for each container, created at its first use."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}

    def of(self, container_id: str) -> asyncio.Lock:
        return self._locks.setdefault(container_id, asyncio.Lock())

    def forget(self, container_id: str) -> None:
        self._locks.pop(container_id, None)


class Ends:
    """Watches every running container of one runtime."""

    def __init__(self, host: Host, records: Records[ContainerRecord], locks: Locks) -> None:
        self._host = host
        self._records = records
        self._locks = locks
        self._running: dict[str, Running] = {}
        self._supervisor = Supervisor()
        self._finishing: set[str] = set()
        """Containers whose end is being recorded."""

    def running(self, container_id: str) -> Running | None:
        return self._running.get(container_id)

    def exit_file_appeared(self, container_id: str) -> None:
        """Called by the watch; an empty id means that any container may have ended."""
        for id_ in [container_id] if container_id else list(self._running):
            if self._records.get(id_) is not None and (self._host.exits / id_).exists():
                self._start(id_, self._finish)

    def watch(self, record: ContainerRecord) -> None:
        descriptor = open_process(record.pid, record.birth)
        self._running[record.id] = Running(descriptor, partial(self._start_waiting, record.id))

    def _start_waiting(self, container_id: str) -> None:
        self._supervisor.keep_running(END, partial(self._process_ended, container_id), container_id)

    async def _process_ended(self, container_id: str) -> None:
        running = self._running.get(container_id)
        if running is not None and not await clock.wait_for(running.recorded, EXIT_FILE_SECONDS):
            await self._finish(container_id)

    async def _finish(self, container_id: str) -> None:
        """Record a container's end. What fails, as on a full disk, is tried again until it succeeds."""
        async with self._locks.of(container_id):
            record = self._records.get(container_id)
            if record is None or record.state is not ContainerState.RUNNING:
                return
            ended = await in_thread(lambda: self._ended(record))
            self.record(ended)

    def _ended(self, record: ContainerRecord) -> ContainerRecord:
        """Return the record with its end: from the exit file, else unknown."""
        path = self._host.exits / record.id
        message = ""
        try:
            code = int(path.read_text().strip() or UNKNOWN_EXIT_CODE)
            finished = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        except (FileNotFoundError, ValueError):
            code, finished = UNKNOWN_EXIT_CODE, clock.now()
            message = "the container's monitor is gone, and with it the exit code"
        oom = self._host.cgroups.oom_kills(record.cgroup) > 0
        sweep_process(self._host, record)
        return replace(
            record,
            state=ContainerState.EXITED,
            finished_at=max(finished, record.started_at or finished),
            exit_code=code,
            reason="OOMKilled" if oom else "Completed" if code == 0 else "Error",
            message=message,
        )

    def record(self, record: ContainerRecord) -> None:
        """Save the record of a container that has ended, and wake all that wait for it."""
        self._records.note(record)
        running = self._running.pop(record.id, None)
        if running is not None:
            running.recorded.set()
            running.close()
        report(self._host, record, ContainerEventType.EXITED)

    # ---- after our own death

    async def adopt(self) -> None:
        """Find every recorded container again: still running, ended meanwhile, or half made."""
        for record in self._records.all():
            if record.state is ContainerState.RUNNING:
                await self._adopt_running(record)
            elif record.state is ContainerState.CREATED:
                await self._adopt_created(record)

    async def _adopt_running(self, record: ContainerRecord) -> None:
        try:
            self.watch(record)
        except OSError:
            if (self._host.exits / record.id).exists() or not self._host.bundle(record.id).exists():
                await self._finish(record.id)
            else:  # it ends right now: its monitor is about to say how
                self._start(record.id, self._finish_later)

    async def _finish_later(self, container_id: str) -> None:
        await clock.sleep(EXIT_FILE_SECONDS)
        await self._finish(container_id)

    async def _adopt_created(self, record: ContainerRecord) -> None:
        """Find out whether a created container ran: its process may have started just before we were killed.

        Otherwise its start was cut off, or never begun: its parts are removed, and it stays a container that
        never ran.
        """
        if self.was_let_go(record):
            running = replace(record, state=ContainerState.RUNNING, started_at=clock.now())
            await self._adopt_running(self._records.note(running))
            return
        await in_thread(lambda: self._undo_start(record))

    def was_let_go(self, record: ContainerRecord) -> bool:
        """Return whether the container's process was created and passed its fifo: then its program ran, even
        if it
        has ended."""
        place = self._host.engine_root / record.id
        return bool(record.pid) and place.exists() and not (place / "exec.fifo").exists()

    def _undo_start(self, record: ContainerRecord) -> None:
        """A monitor that is still at making the process outlived us: it goes first, or it would go on."""
        conmon.kill_all(record.id)
        sweep_process(self._host, record)
        self.undone(record)

    def undone(self, record: ContainerRecord) -> None:
        """Nothing is left of a start: the container is as it was before."""
        running = self._running.pop(record.id, None)
        if running is not None:
            running.close()
        (self._host.exits / record.id).unlink(missing_ok=True)
        if record.pid:
            self._records.note(replace(record, pid=0, birth=0))

    async def close(self) -> None:
        for running in self._running.values():
            running.close()
        self._running.clear()
        await self._supervisor.close()

    def _start(self, container_id: str, work: Callable[[str], Coroutine[None, None, None]]) -> None:
        """Record an end in the background, in one task for each container."""
        if container_id in self._finishing:
            return
        self._finishing.add(container_id)
        task = self._supervisor.keep_running(END, partial(work, container_id), container_id)
        task.add_done_callback(lambda _: self._finishing.discard(container_id))


def report(host: Host, record: ContainerRecord, kind: ContainerEventType) -> None:
    """Publish an event of a container."""
    host.feeds.report(
        ContainerEvent(
            type=kind,
            pod_uid=record.pod_uid,
            sandbox_id=record.sandbox_id,
            container_id=record.id,
            at=clock.now(),
        )
    )


def sweep_process(host: Host, record: ContainerRecord) -> None:
    """Kill what is left in the container's cgroup and undo what the OCI runtime keeps about it.

    Processes that hang in the kernel make this last: it belongs in a thread of its own, lest they take
    those that other containers are served by.
    """
    for _ in range(100):
        if not host.cgroups.kill(record.cgroup):
            break
        wait_for_ends(host.cgroups.processes(record.cgroup), 1.0)
    host.cgroups.remove(record.cgroup)
    remove_tree(host.engine_root / record.id)
