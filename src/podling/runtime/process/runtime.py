"""The runtime of plain host processes: CRI's verbs over monitors and the files they leave behind.

Truth is on disk: a container is what its directory says, and the connection to its monitor only
brings news at once. ``close`` lets go of the connections; a new instance over the same directory
reads the records, connects to the monitors that are still there and goes on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

import podling
from podling import clock, ids
from podling.files.trees import remove_tree
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
    RuntimeHandler,
    RuntimeStatus,
    Sandbox,
    SandboxSpec,
    Streams,
)
from podling.runtime.feed import Feeds
from podling.runtime.oci.threads import in_thread
from podling.runtime.process import executions, launching, machine, plan, port_forward, records
from podling.runtime.process.images import NamedImages
from podling.runtime.process.member import Member, end_monitor
from podling.runtime.process.records import Launch, SandboxRecord
from podling.runtime.signals import signal_number
from podling.runtime.values import sandbox_of

LIMITATIONS = (
    "processes run on this machine without isolation, resource limits or images' files; "
    f"volumes are found under ${plan.ROOTFS_VARIABLE}"
)


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
        self._members: dict[str, Member] = {}
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
            await member.let_go()
        self._members.clear()

    async def status(self) -> RuntimeStatus:
        handler = RuntimeHandler(why_no_user_namespaces="containers are processes of the node")
        return RuntimeStatus(
            name=self.name,
            version=podling.__version__,
            runtime_message=LIMITATIONS,
            handlers=(handler,),
        )

    # Sandboxes: nothing but a record, because there is nothing to share

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        if spec.namespaces.users is not None:
            raise RuntimeFailure("pods have no users of their own: containers are processes of the node")
        ips = () if spec.namespaces.host_network else (self._host_ip,)
        warnings = plan.sandbox_warnings(spec)
        sandbox = sandbox_of(spec, ids.hex_id(), clock.now(), ips, warnings=warnings)
        spec.log_directory.mkdir(parents=True, exist_ok=True)
        self._save(SandboxRecord(sandbox=sandbox, hostname=spec.hostname or spec.pod_name, boot=self._boot))
        return sandbox

    async def stop_sandbox(self, sandbox_id: str) -> None:
        record = self._sandboxes.get(sandbox_id)
        if record is None:
            return
        await asyncio.gather(*(member.kill() for member in self._inside(sandbox_id)))
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

    async def list_sandboxes(self, *, pod_uid: str = "") -> tuple[Sandbox, ...]:
        sandboxes = (record.sandbox for record in self._sandboxes.values())
        return tuple(sandbox for sandbox in sandboxes if pod_uid in ("", sandbox.pod_uid))

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
        launch = launching.launch_of(
            spec, self._names.defaults(spec.image), self._identity, directory / "rootfs", record.hostname
        )
        plan.check_devices(spec)
        links = plan.links([launching.with_real_path(mount) for mount in spec.mounts])
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
            user=launching.user_of(launch, self._identity),
            labels=spec.labels,
            annotations=spec.annotations,
            warnings=plan.container_warnings(spec, self._identity),
        )
        try:
            launching.build(directory, links, Path(launch.working_dir))
            spec.log_path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            await asyncio.to_thread(remove_tree, directory)
            raise RuntimeFailure(f"the container's files cannot be made: {error}") from error
        records.save(directory / "launch.json", launch)
        records.save(directory / "container.json", container)
        self._members[container_id] = Member(container, directory, launch.command[0], self._report)
        self._report(ContainerEventType.CREATED, sandbox_id, container_id)
        return container_id

    async def start_container(self, container_id: str) -> None:
        await self._member(container_id).start()

    async def stop_container(self, container_id: str, *, grace_seconds: float, signal: str = "") -> None:
        member = self._members.get(container_id)
        if member is None:
            return
        await member.stop(signal_number(signal or member.container.stop_signal), grace_seconds)

    async def remove_container(self, container_id: str) -> None:
        member = self._members.get(container_id)
        if member is None:
            return
        if member.running or member.is_starting:
            raise RuntimeFailure(f'container "{container_id}" is running')
        del self._members[container_id]
        if member.link is not None:
            await member.link.close()
        # The record goes first: a half removed container must not come back after a restart.
        (member.directory / "container.json").unlink(missing_ok=True)
        await in_thread(lambda: remove_tree(member.directory))
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
            raise ExecTimeout(f'command "{shown}" timed out') from None

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
        await port_forward.forward(("127.0.0.1", "::1", self._host_ip), port, inbound, send)

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

    async def _adopt(self, directory: Path) -> None:
        container = records.load(directory / "container.json", Container)
        launch = records.load(directory / "launch.json", Launch)
        if container is None or launch is None or container.sandbox_id not in self._sandboxes:
            await end_monitor(directory)
            await asyncio.to_thread(remove_tree, directory)
            return
        member = self._members[container.id] = Member(container, directory, launch.command[0], self._report)
        await member.adopt()

    def _inside(self, sandbox_id: str) -> list[Member]:
        return [member for member in self._members.values() if member.container.sandbox_id == sandbox_id]

    def _member(self, container_id: str) -> Member:
        try:
            return self._members[container_id]
        except KeyError:
            raise NotFound(f'container "{container_id}" not found') from None

    def _running(self, container_id: str) -> Member:
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
