"""Calls on containers: prepare, start, stop, update, remove.

Invariants: a container has a record from before its first directory exists until after its last is
gone; its state only moves CREATED, RUNNING, EXITED; every change of one container happens under its
lock. A container's process is made only by ``start``: a created one is a directory and a mount.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal as signals
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podling import clock, ids
from podling.files.trees import remove_tree
from podling.runtime.base import (
    ContainerEventType,
    ContainerSpec,
    ContainerState,
    IdRange,
    LinuxResources,
    NotFound,
    RuntimeFailure,
)
from podling.runtime.oci import commands, conmon, error_messages
from podling.runtime.oci.cgroups import merged, replaced
from podling.runtime.oci.container_exits import Running
from podling.runtime.oci.ends import Ends, Locks, report, sweep_process
from podling.runtime.oci.host import Host, birth
from podling.runtime.oci.prepare import Prepared, prepare
from podling.runtime.oci.proc_mounts import check_made_mounts, mounts_on_proc
from podling.runtime.oci.records import ContainerRecord, Records, SandboxRecord
from podling.runtime.oci.rootfs import (
    mapped_places,
    sub_path_places,
    unmount_everything_under,
    unmount_sources,
)
from podling.runtime.oci.stdio import give_stdio
from podling.runtime.oci.threads import in_thread, wait_for_end
from podling.runtime.signals import signal_number

logger = logging.getLogger(__name__)

KILL_SECONDS = 30.0
"""Seconds that the kernel may take to end a killed process."""


class _Process(msgspec.Struct):
    args: tuple[str, ...]


class _Linux(msgspec.Struct, rename="camel"):
    masked_paths: tuple[str, ...]


class _Configuration(msgspec.Struct):
    """The parts of ``config.json`` that are read again; the rest, most of it seccomp rules, is skipped."""

    process: _Process
    linux: _Linux


class Containers:
    """Every container of one runtime."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.records = Records(host.root / "containers", ContainerRecord)
        self._locks = Locks()
        self.ends = Ends(host, self.records, self._locks)

    # ---- reading

    def need(self, container_id: str) -> ContainerRecord:
        record = self.records.get(container_id)
        if record is None:
            raise NotFound(f"container {container_id!r} is not here")
        return record

    def need_running(self, container_id: str) -> ContainerRecord:
        record = self.need(container_id)
        if record.state is not ContainerState.RUNNING:
            raise RuntimeFailure(f"container {container_id} is not running")
        return record

    def of(self, sandbox_id: str) -> list[ContainerRecord]:
        return [record for record in self.records.all() if record.sandbox_id == sandbox_id]

    # ---- life

    async def create(self, sandbox: SandboxRecord, spec: ContainerSpec) -> str:
        """Prepare a container: its record, its root file system and its configuration."""
        container_id = ids.hex_id()
        target = self.need_running(spec.process_target) if spec.process_target else None
        record = ContainerRecord(
            id=container_id,
            sandbox_id=sandbox.id,
            pod_uid=sandbox.pod_uid,
            name=spec.name,
            attempt=spec.attempt,
            created_at=clock.now(),
            image=spec.image_name or spec.image,
            image_id=spec.image,
            log_path=str(spec.log_path),
            engine=sandbox.engine,
            cgroup=f"{sandbox.cgroup}/{container_id}",
            tty=spec.tty,
            stdin=spec.stdin,
            stdin_once=spec.stdin_once,
            resources=spec.resources,
            labels=dict(spec.labels),
            annotations=dict(spec.annotations),
        )
        async with self._locks.of(container_id):
            self.records.save(record)
            try:
                hold = self._host.images.hold
                image = hold(container_id, spec.image)
                volumes = {
                    mount.image: hold(f"{container_id}-{number}", mount.image)
                    for number, mount in enumerate(spec.mounts)
                    if mount.image
                }
                host = self._host.by_handler(record.engine)
                prepared = await in_thread(
                    lambda: prepare(host, sandbox, record, spec, image, volumes, target),
                    undo=wait_for_end,
                )
            except BaseException:
                await self._discard(record)
                raise
            self.records.save(_prepared(record, prepared))
        report(self._host, record, ContainerEventType.CREATED)
        return container_id

    async def start(self, container_id: str, users: IdRange | None = None) -> None:
        """Run a created container's process; ``users`` are those of a pod with a user namespace."""
        async with self._locks.of(container_id):
            record = self.need(container_id)
            if record.state is not ContainerState.CREATED:
                raise RuntimeFailure(f"container {container_id} is {record.state.value.lower()}, not created")
            try:
                record = await self._make(record, with_users=users is not None)
                self._check_mounts(record)
                give_stdio(record, users)
                await self._release(record)
            except BaseException as error:
                await self._failed(record, error)
                raise
            self.records.note(replace(record, state=ContainerState.RUNNING, started_at=clock.now()))
            await self._drop_sources(record)
        report(self._host, record, ContainerEventType.STARTED)

    async def _make(self, record: ContainerRecord, *, with_users: bool = False) -> ContainerRecord:
        """Have the OCI runtime create the process, which then waits at its fifo."""
        host = self._host.by_handler(record.engine)
        pid = await conmon.create(
            host.engine,
            conmon.Monitored(
                id=record.id,
                name=record.name,
                bundle=host.bundle(record.id),
                log_path=record.log_path,
                exits=host.exits,
                program=host.program.path,
                engine_root=host.engine_root,
                tty=record.tty,
                stdin=record.stdin,
                stdin_once=record.stdin_once,
                ended_input=with_users and not (record.stdin or record.tty),
            ),
        )
        record = self.records.save(replace(record, pid=pid, birth=birth(pid)))
        self.ends.watch(record)
        return record

    def _check_mounts(self, record: ContainerRecord) -> None:
        """Look where the container's mounts ended up. Raises ``RuntimeFailure``."""
        try:
            table = Path(f"/proc/{record.pid}/mountinfo").read_text()
        except OSError:  # it has ended
            return
        check_made_mounts(mounts_on_proc(table), self._configuration(record).linux.masked_paths)

    async def _release(self, record: ContainerRecord) -> None:
        """Let the process run its program.

        crun's own ``start`` writes one byte to the fifo at which the process waits, and removes it;
        doing that here saves a process. Without such a fifo the engine starts it.
        """
        host = self._host.by_handler(record.engine)
        if host.engine.name == "crun" and _opened_door(host.engine_root / record.id / "exec.fifo"):
            return
        await commands.run(host.engine_command("start", record.id), hide=host.engine.hide_unified)

    async def _drop_sources(self, record: ContainerRecord) -> None:
        """Take the sources of binds off the node, which nothing needs once the container has its mounts."""
        bundle = self._host.bundle(record.id)
        if not (sub_path_places(bundle).exists() or mapped_places(bundle).exists()):
            return
        try:
            await in_thread(lambda: unmount_sources(bundle))
        except OSError as error:
            logger.warning("container %s: sources of its mounts stay until its removal: %s", record.id, error)

    async def _failed(self, record: ContainerRecord, error: BaseException) -> None:
        """A start that failed leaves an exited container that says why. One that was given up before the
        program ran leaves the container as it was: it did not fail, and may yet be started."""
        ran = self.ends.was_let_go(record)
        if not isinstance(error, conmon.CreateFailure):
            await in_thread(lambda: conmon.kill_all(record.id))
        await in_thread(lambda: sweep_process(self._host, record))
        if isinstance(error, asyncio.CancelledError) and not ran:
            self.ends.undone(record)
            return
        await self._drop_sources(record)
        text = str(error) or type(error).__name__
        if isinstance(error, conmon.CreateFailure):
            text = error_messages.start_failure(text, self._command(record))
        now = clock.now()
        self.ends.record(
            replace(
                record,
                state=ContainerState.EXITED,
                started_at=record.started_at,
                finished_at=now,
                exit_code=error_messages.START_ERROR_CODE,
                reason=error_messages.START_ERROR,
                message=text,
            )
        )
        if isinstance(error, conmon.CreateFailure):
            raise RuntimeFailure(text) from error

    def _command(self, record: ContainerRecord) -> str:
        return self._configuration(record).process.args[0]

    def _configuration(self, record: ContainerRecord) -> _Configuration:
        content = (self._host.bundle(record.id) / "config.json").read_bytes()
        return msgspec.json.decode(content, type=_Configuration)

    async def stop(self, container_id: str, grace_seconds: float, signal: str) -> None:
        """Signal, wait, kill; returns when the container's end is recorded."""
        async with self._locks.of(container_id):  # a start that goes on is waited for
            record = self.records.get(container_id)
        running = self.ends.running(container_id)
        if record is None or record.state is not ContainerState.RUNNING or running is None:
            return
        if grace_seconds > 0:
            number = signal_number(signal or record.stop_signal)
            if running.signalled != number:
                running.signalled = number
                self._send(running, number)
            if await clock.wait_for(running.recorded, grace_seconds):
                return
        self._send(running, signals.SIGKILL)
        await asyncio.to_thread(self._host.cgroups.kill, record.cgroup)
        if not await clock.wait_for(running.recorded, KILL_SECONDS):
            raise RuntimeFailure(f"container {container_id} did not end within {KILL_SECONDS:g} s of SIGKILL")

    @staticmethod
    def _send(running: Running, number: int) -> None:
        with suppress(ProcessLookupError):
            signals.pidfd_send_signal(running.descriptor, number)

    async def update(self, container_id: str, resources: LinuxResources) -> None:
        """Change the limits that are given, in the running container's cgroup and in its record.

        The record says before that they change, so that a change which fails, or is cut off by the end of
        this process, can be taken back.
        """
        async with self._locks.of(container_id):
            record = self.need_running(container_id)
            unsettled = merged(record.changing or LinuxResources(), resources)
            begun = self.records.note(replace(record, changing=unsettled))
            changed = replace(record, resources=merged(record.resources, resources))

            def note_change(_: object = None) -> None:
                self.records.note(changed)

            try:
                await in_thread(lambda: self._host.cgroups.apply(record.cgroup, resources), note_change)
            except OSError as error:
                await self._take_back(begun, unsettled)
                raise RuntimeFailure(f"cannot change the resources of {record.name}: {error}") from error
            note_change()

    async def _take_back(self, record: ContainerRecord, change: LinuxResources) -> None:
        """Bring the limits that ``change`` gives back to what the record says."""
        before = replaced(record.resources, change)
        try:
            await in_thread(lambda: self._host.cgroups.apply(record.cgroup, before), wait_for_end)
        except OSError as error:
            logger.warning("the limits of container %s are not those of its record: %s", record.id, error)
        else:
            self.records.note(replace(record, changing=None))

    async def adopt(self) -> None:
        """Find every recorded container again, and take back changes of limits that were cut off."""
        await self.ends.adopt()
        for record in self.records.all():
            if record.state is ContainerState.RUNNING and record.changing is not None:
                await self._take_back(record, record.changing)

    async def remove(self, container_id: str) -> None:
        """Remove a container that does not run; succeeds when it is gone already."""
        if self.records.get(container_id) is None:
            return
        async with self._locks.of(container_id):
            record = self.records.get(container_id)
            if record is None:
                return
            if record.state is ContainerState.RUNNING:
                raise RuntimeFailure(f"container {container_id} is running: stop it before removing it")
            await self._discard(record)
        self._locks.forget(container_id)
        report(self._host, record, ContainerEventType.REMOVED)

    async def _discard(self, record: ContainerRecord) -> None:
        await in_thread(lambda: self._erase(record))
        await self._host.images.release(record.id)
        self.records.forget(record.id)

    def _erase(self, record: ContainerRecord) -> None:
        """Everything of a container but its record; can be repeated."""
        sweep_process(self._host, record)
        unmount_everything_under(self._host.bundle(record.id))
        remove_tree(self._host.bundle(record.id))
        (self._host.exits / record.id).unlink(missing_ok=True)
        directory = self.records.directory(record.id)
        for name in ("upper", "work", "volumes"):
            remove_tree(directory / name)


def _prepared(record: ContainerRecord, prepared: Prepared) -> ContainerRecord:
    return replace(
        record,
        image_ref=prepared.image_ref,
        stop_signal=prepared.stop_signal,
        user=(prepared.user.uid, prepared.user.gid, prepared.user.groups),
    )


def _opened_door(fifo: Path) -> bool:
    try:
        descriptor = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False  # no fifo, or no process waits at it: call the engine
    try:
        os.unlink(fifo)
        return os.write(descriptor, b"\0") == 1
    finally:
        os.close(descriptor)
