"""The runtime of plain host processes: CRI's verbs over monitors and the files they leave behind.

Truth is on disk: a container is what its directory says, and the connection to its monitor only
brings news at once. ``close`` lets go of the connections; a new instance over the same directory
reads the records, connects to the monitors that are still there and goes on.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import podling
from podling import clock, ids
from podling.runtime.base import (
    Container,
    ContainerEvent,
    ContainerEventType,
    ContainerSpec,
    ContainerState,
    ContainerStats,
    ExecTimeout,
    ImageService,
    LinuxResources,
    NotFound,
    RuntimeFailure,
    RuntimeStatus,
    Sandbox,
    SandboxSpec,
    Streams,
)
from podling.runtime.feed import Feeds
from podling.runtime.process import executions, machine, plan, ports, records
from podling.runtime.process.images import NamedImages
from podling.runtime.process.link import Link
from podling.runtime.process.records import Ended, Launch, SandboxRecord, Started
from podling.runtime.signals import signal_number

LIMITATIONS = (
    "processes run on this machine without isolation, resource limits or images' files; "
    f"volumes are found under ${plan.ROOTFS_VARIABLE}"
)
BOOTSTRAP = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from podling.runtime.monitor.serve import main; main(sys.argv[2])"
)
"""The monitor's beginning: a bare interpreter that knows nothing but where our code is."""
CODE = str(Path(podling.__file__).parent.parent)


class _Member:
    """One container of ours: as it is now, its directory, its monitor while there is one."""

    def __init__(self, container: Container, directory: Path, command: str) -> None:
        self.container = container
        self.directory = directory
        self.command = command
        self.link: Link | None = None
        self.exited = asyncio.Event()
        self.starting: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.container.state is ContainerState.RUNNING


class ProcessRuntime:
    """``Runtime`` of host processes. All state is under ``root``; pods' address is ``host_ip``."""

    name = "process"

    def __init__(self, root: Path, *, host_ip: str = "127.0.0.1") -> None:
        self._names = NamedImages(root / "images.json")
        self.images: ImageService = self._names
        self._root = root
        self._host_ip = host_ip
        self._identity = plan.Identity(os.geteuid(), os.getegid())
        self._boot = ""
        self._sandboxes: dict[str, SandboxRecord] = {}
        self._members: dict[str, _Member] = {}
        self._feeds = Feeds()

    async def start(self) -> None:
        """Find again what an earlier instance left behind."""
        (self._root / "sandboxes").mkdir(parents=True, exist_ok=True, mode=0o700)
        # Processes of other users pass through here to their volumes; what they must not see is 0600.
        (self._root / "containers").mkdir(parents=True, exist_ok=True, mode=0o711)
        self._boot = machine.boot()
        for path in sorted((self._root / "sandboxes").glob("*.json")):
            record = records.load(path, SandboxRecord)
            if record is None:
                continue
            if record.boot != self._boot:  # nothing of it can have outlived the machine's restart
                record = _stopped(record)
            self._sandboxes[record.sandbox.id] = record
        for directory in sorted((self._root / "containers").iterdir()):
            await self._adopt(directory)

    async def close(self) -> None:
        self._feeds.close()
        for member in self._members.values():
            if member.starting is not None:
                await asyncio.wait([member.starting])
            if member.link is not None:
                await member.link.close()
        self._members.clear()

    async def status(self) -> RuntimeStatus:
        return RuntimeStatus(name=self.name, version=podling.__version__, runtime_message=LIMITATIONS)

    # Sandboxes: nothing but a record, because there is nothing to share

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        sandbox = Sandbox(
            id=ids.hex_id(),
            pod_uid=spec.pod_uid,
            pod_name=spec.pod_name,
            pod_namespace=spec.pod_namespace,
            attempt=spec.attempt,
            ready=True,
            created_at=clock.now(),
            ips=() if spec.namespaces.host_network else (self._host_ip,),
            host_network=spec.namespaces.host_network,
            labels=spec.labels,
            annotations=spec.annotations,
            warnings=plan.sandbox_warnings(spec),
        )
        spec.log_directory.mkdir(parents=True, exist_ok=True)
        self._save(SandboxRecord(sandbox=sandbox, hostname=spec.hostname or spec.pod_name, boot=self._boot))
        return sandbox

    async def stop_sandbox(self, sandbox_id: str) -> None:
        record = self._sandboxes.get(sandbox_id)
        if record is None:
            return
        await asyncio.gather(*(self._kill(member) for member in self._inside(sandbox_id)))
        if record.sandbox.ready:
            self._save(_stopped(record))
            self._report(ContainerEventType.SANDBOX_STOPPED, sandbox_id)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        if sandbox_id not in self._sandboxes:
            return
        await self.stop_sandbox(sandbox_id)
        for member in self._inside(sandbox_id):
            await self.remove_container(member.container.id)
        self._sandbox_path(sandbox_id).unlink(missing_ok=True)
        self._sandboxes.pop(sandbox_id, None)

    async def list_sandboxes(self) -> tuple[Sandbox, ...]:
        return tuple(record.sandbox for record in self._sandboxes.values())

    # Containers

    async def create_container(self, sandbox_id: str, spec: ContainerSpec) -> str:
        record = self._sandboxes.get(sandbox_id)
        if record is None:
            raise NotFound(f'sandbox "{sandbox_id}" not found')
        if not record.sandbox.ready:
            raise RuntimeFailure(f'sandbox "{sandbox_id}" is not running')
        image = self._names.of(spec.image)
        container_id = ids.hex_id()
        directory = self._root / "containers" / container_id
        launch = self._launch(spec, directory / "rootfs", record.hostname)
        links = plan.links(spec.mounts)
        stop_signal = spec.stop_signal or image.stop_signal or "SIGTERM"
        signal_number(stop_signal)  # refuse it now rather than at the end
        container = Container(
            id=container_id,
            sandbox_id=sandbox_id,
            name=spec.name,
            attempt=spec.attempt,
            state=ContainerState.CREATED,
            created_at=clock.now(),
            image=spec.image_name or spec.image,
            image_id=image.id,
            image_ref=image.digests[0] if image.digests else image.id,
            log_path=str(spec.log_path),
            stop_signal=stop_signal,
            user=_user_of(launch, self._identity),
            labels=spec.labels,
            annotations=spec.annotations,
            warnings=plan.container_warnings(spec, self._identity),
        )
        _build(directory, links, Path(launch.working_dir))
        spec.log_path.parent.mkdir(parents=True, exist_ok=True)
        records.save(directory / "launch.json", launch)
        records.save(directory / "container.json", container)
        self._members[container_id] = _Member(container, directory, launch.command[0])
        self._report(ContainerEventType.CREATED, sandbox_id, container_id)
        return container_id

    async def start_container(self, container_id: str) -> None:
        member = self._member(container_id)
        if member.container.state is not ContainerState.CREATED or member.starting is not None:
            raise RuntimeFailure(
                f'container "{container_id}" is already {member.container.state.value.lower()}'
            )
        # Shielded: a cancelled caller must not leave behind a process that nobody knows of.
        member.starting = asyncio.create_task(self._start(member))
        member.starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(member.starting)

    async def stop_container(self, container_id: str, *, grace_seconds: float, signal: str = "") -> None:
        member = self._members.get(container_id)
        if member is None:
            return
        number = signal_number(signal or member.container.stop_signal)
        if member.starting is not None:
            await asyncio.wait([member.starting])
        if not member.running or member.link is None:
            return
        if grace_seconds > 0:
            await member.link.order("S", str(number).encode())
            if await clock.wait_for(member.exited, grace_seconds):
                return
        await self._kill(member)

    async def remove_container(self, container_id: str) -> None:
        member = self._members.get(container_id)
        if member is None:
            return
        if member.running or (member.starting is not None and not member.starting.done()):
            raise RuntimeFailure(f'container "{container_id}" is running')
        del self._members[container_id]
        if member.link is not None:
            await member.link.close()
        # The record goes first: a half removed container must not come back after a restart.
        (member.directory / "container.json").unlink(missing_ok=True)
        await asyncio.to_thread(shutil.rmtree, member.directory, True)
        self._report(ContainerEventType.REMOVED, member.container.sandbox_id, container_id)

    async def list_containers(self, *, sandbox_id: str = "") -> tuple[Container, ...]:
        return tuple(
            member.container
            for member in self._members.values()
            if sandbox_id in ("", member.container.sandbox_id)
        )

    async def container_status(self, container_id: str) -> Container:
        return self._member(container_id).container

    async def exec(
        self,
        container_id: str,
        command: Sequence[str],
        io: Streams,
        *,
        tty: bool = False,
        timeout: float | None = None,
    ) -> int:
        member = self._running(container_id)
        try:
            async with asyncio.timeout(timeout):
                return await executions.execute(member.directory, command, io, tty=tty)
        except TimeoutError:
            shown = " ".join(command)
            raise ExecTimeout(f'command "{shown}" timed out after {timeout:g}s') from None

    async def attach(self, container_id: str, io: Streams, *, tty: bool = False) -> None:
        await executions.attach_to(self._running(container_id).directory, io, tty=tty)

    async def port_forward(
        self,
        sandbox_id: str,
        port: int,
        inbound: AsyncIterator[bytes],
        send: Callable[[bytes], Awaitable[None]],
    ) -> None:
        if sandbox_id not in self._sandboxes:
            raise NotFound(f'sandbox "{sandbox_id}" not found')
        await ports.forward(("127.0.0.1", "::1", self._host_ip), port, inbound, send)

    async def update_resources(self, container_id: str, resources: LinuxResources) -> None:
        """Resources are not limited here: there is nothing to change."""
        self._member(container_id)

    async def reopen_log(self, container_id: str) -> None:
        member = self._running(container_id)
        if member.link is not None:
            await member.link.order("R")

    async def stats(self) -> tuple[ContainerStats, ...]:
        members = {
            member.container.pid: member
            for member in self._members.values()
            if member.running and member.container.pid is not None
        }
        if not members:
            return ()
        at, everything = clock.now(), await asyncio.to_thread(machine.processes)
        result = []
        for pid, below in machine.descendants(members, everything).items():
            figures = [everything[item] for item in (pid, *below) if item in everything]
            memory = sum(item.memory_bytes for item in figures)
            result.append(
                ContainerStats(
                    container_id=members[pid].container.id,
                    at=at,
                    cpu_nanoseconds=sum(item.cpu_nanoseconds for item in figures),
                    memory_bytes=memory,
                    memory_working_set_bytes=memory,
                    processes=len(figures),
                )
            )
        return tuple(result)

    def events(self) -> AsyncIterator[ContainerEvent]:
        return self._feeds.open()

    # Inside

    def _launch(self, spec: ContainerSpec, rootfs: Path, hostname: str) -> Launch:
        image = self._names.defaults(spec.image)
        users = {entry.pw_name: (entry.pw_uid, entry.pw_gid) for entry in pwd.getpwall()}
        user = plan.identity(spec, image, self._identity, users)
        own = dict(os.environ)
        if user is not None:
            own["HOME"] = _home(user[0])
        asked = spec.working_dir or image.working_dir
        on_host = bool(asked) and Path(asked).is_dir()
        return Launch(
            command=plan.command_line(spec, image),
            environment=plan.environment(spec, image, own, hostname, rootfs),
            working_dir=str(plan.working_directory(spec, image, rootfs, on_host=on_host)),
            log_path=str(spec.log_path),
            tty=spec.tty,
            stdin=spec.stdin,
            stdin_once=spec.stdin_once,
            user=user,
            no_new_privileges=spec.security.no_new_privileges,
        )

    async def _start(self, member: _Member) -> None:
        starter = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", "-c", BOOTSTRAP, CODE, str(member.directory)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        _, errors = await starter.communicate()
        started = records.load(member.directory / "started.json", Started)
        if started is None:
            self._note_end(member)
            failure = member.container.message or errors.decode(errors="replace").strip()
            raise RuntimeFailure(failure or "the container's monitor did not start")
        member.container = records.as_started(member.container, started)
        self._report(ContainerEventType.STARTED, member.container.sandbox_id, member.container.id)
        await self._connect(member)

    async def _connect(self, member: _Member) -> None:
        """Listen to the container's monitor; without one the container is over."""
        try:
            member.link = await Link.open(member.directory, lambda: self._note_end(member))
        except OSError:
            self._note_end(member)

    def _note_end(self, member: _Member) -> None:
        ended = records.load(member.directory / "exit.json", Ended)
        if ended is None:
            ended_at = clock.now()
            member.container = records.as_lost(member.container, ended_at)
            nanoseconds = int(ended_at.timestamp() * 1_000_000) * 1000
            records.save(member.directory / "exit.json", Ended(code=records.KILLED, at=nanoseconds))
        else:
            member.container = records.as_ended(member.container, ended, member.command)
        member.exited.set()
        self._report(ContainerEventType.EXITED, member.container.sandbox_id, member.container.id)

    async def _adopt(self, directory: Path) -> None:
        container = records.load(directory / "container.json", Container)
        launch = records.load(directory / "launch.json", Launch)
        if container is None or launch is None or container.sandbox_id not in self._sandboxes:
            await asyncio.to_thread(shutil.rmtree, directory, True)
            return
        member = self._members[container.id] = _Member(container, directory, launch.command[0])
        started = records.load(directory / "started.json", Started)
        if started is not None:
            member.container = records.as_started(container, started)
        if (directory / "exit.json").exists():
            self._note_end(member)
        elif started is not None:
            await self._connect(member)
        elif (directory / "claimed").exists():
            await self._adopt_starting(member)

    async def _adopt_starting(self, member: _Member) -> None:
        """Its monitor was started, and we left before it said so: it answers once it has."""
        await self._connect(member)
        if member.link is not None:
            await member.link.order("R")
        started = records.load(member.directory / "started.json", Started)
        if started is not None and not member.exited.is_set():
            member.container = records.as_started(member.container, started)

    async def _kill(self, member: _Member) -> None:
        if member.starting is not None:
            await asyncio.wait([member.starting])
        if member.running and member.link is not None:
            await member.link.order("S", b"9")
            await member.exited.wait()

    def _inside(self, sandbox_id: str) -> list[_Member]:
        return [member for member in self._members.values() if member.container.sandbox_id == sandbox_id]

    def _member(self, container_id: str) -> _Member:
        try:
            return self._members[container_id]
        except KeyError:
            raise NotFound(f'container "{container_id}" not found') from None

    def _running(self, container_id: str) -> _Member:
        member = self._member(container_id)
        if not member.running:
            raise RuntimeFailure(f'container "{container_id}" is not running')
        return member

    def _sandbox_path(self, sandbox_id: str) -> Path:
        return self._root / "sandboxes" / f"{sandbox_id}.json"

    def _save(self, record: SandboxRecord) -> None:
        self._sandboxes[record.sandbox.id] = record
        records.save(self._sandbox_path(record.sandbox.id), record)

    def _report(self, kind: ContainerEventType, sandbox_id: str, container_id: str = "") -> None:
        self._feeds.report(
            ContainerEvent(
                type=kind,
                pod_uid=self._sandboxes[sandbox_id].sandbox.pod_uid,
                sandbox_id=sandbox_id,
                container_id=container_id,
                at=clock.now(),
            )
        )


def _stopped(record: SandboxRecord) -> SandboxRecord:
    return SandboxRecord(
        sandbox=replace(record.sandbox, ready=False), hostname=record.hostname, boot=record.boot
    )


def _home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:  # an id without a name
        return "/"


def _user_of(launch: Launch, ours: plan.Identity) -> tuple[int, int, tuple[int, ...]]:
    if launch.user is None:
        return ours.uid, ours.gid, ()
    uid, gid, groups = launch.user
    return uid, gid, tuple(groups)


def _build(directory: Path, links: Sequence[tuple[object, str]], working_dir: Path) -> None:
    """Make the container's directory: its root with links to the volumes, and where it starts."""
    rootfs = directory / "rootfs"
    directory.mkdir(mode=0o711)
    rootfs.mkdir()
    for place, target in links:
        link = rootfs / str(place)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    if not working_dir.exists():
        working_dir.mkdir(parents=True)
