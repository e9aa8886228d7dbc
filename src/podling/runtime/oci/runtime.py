"""``OciRuntime``: the runtime protocol over conmon and crun or runc. Thin: each verb is in its own file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from podling import clock
from podling.runtime.base import (
    Container,
    ContainerEvent,
    ContainerSpec,
    ContainerState,
    ContainerStats,
    LinuxResources,
    PodNetwork,
    RuntimeFailure,
    RuntimeHandler,
    RuntimeStatus,
    Sandbox,
    SandboxSpec,
    Streams,
)
from podling.runtime.feed import Feeds
from podling.runtime.figures import RuntimeFigures
from podling.runtime.images.store import ImageStore
from podling.runtime.oci import host_files, leftovers
from podling.runtime.oci.attach import attach_container, reopen_log
from podling.runtime.oci.capabilities import available_here
from podling.runtime.oci.cgroups import Cgroups
from podling.runtime.oci.container_exits import ExitWatch
from podling.runtime.oci.containers import Containers
from podling.runtime.oci.detect import CgroupMode, Choice, Engine, choose, gather
from podling.runtime.oci.exec import exec_in_container
from podling.runtime.oci.host import Host
from podling.runtime.oci.lean_view import LeanView
from podling.runtime.oci.measuring.figures import measured
from podling.runtime.oci.measuring.layer_sizes import LayerSizes
from podling.runtime.oci.port_forward import forward_port
from podling.runtime.oci.sandboxes import Sandboxes
from podling.runtime.oci.sealed import SealedProgram
from podling.runtime.oci.stdio import restore_null
from podling.runtime.oci.threads import in_thread
from podling.runtime.oci.warm_up import WarmUp


class OciRuntime:
    """Real containers.

    Args:
        root: what outlives a reboot: records and the containers' writable layers.
        state: what does not, best under ``/run``: sockets, pinned namespaces, mounts.
        cluster_id: names this cluster's cgroups; two clusters beside each other have different ones.
        choice: which OCI runtime to use (``detect.choose(detect.gather())``), read at ``start`` if absent.
    """

    name = "oci"

    def __init__(
        self,
        root: Path,
        state: Path,
        images: ImageStore,
        network: PodNetwork,
        *,
        cluster_id: str = "default",
        choice: Choice | None = None,
    ) -> None:
        self.images = images
        self._root = root
        self._state = state
        self._network = network
        self._cluster_id = cluster_id
        self._choice = choice
        self._feeds = Feeds()
        self._version = ""
        self._parts: _Parts | None = None

    # ---- life

    async def start(self) -> None:
        """Choose the OCI runtime, find what earlier runs left, adopt it or clean it up.

        Raises ``RuntimeFailure`` where containers cannot be run, with every cause.
        """
        choice = self._choice or choose(await asyncio.to_thread(gather))
        if choice.engine is None:
            raise RuntimeFailure("containers cannot be run here: " + "; ".join(choice.why))
        host = Host(
            engine=choice.engine,
            program=SealedProgram(choice.engine.path),
            cgroups=Cgroups(choice.engine.mode),
            warm_up=WarmUp(unified=choice.engine.mode is CgroupMode.UNIFIED),
            view=LeanView([self._state], hide_unified=choice.engine.hide_unified),
            root=self._root,
            state=self._state,
            images=self.images,
            network=self._network,
            feeds=self._feeds,
            capabilities=available_here(),
            cgroup_parent=f"/podling-{self._cluster_id}",
        )
        host = replace(host, others={engine.name: self._other(host, engine) for engine in choice.others})
        await asyncio.gather(self._network.start(), self.images.open())
        parts = _Parts(host)
        await parts.start()
        self._parts = parts

    def _other(self, host: Host, engine: Engine) -> Host:
        """Return ``host`` with another engine."""
        view = LeanView([self._state], hide_unified=engine.hide_unified)
        return replace(host, engine=engine, program=SealedProgram(engine.path), view=view)

    async def close(self) -> None:
        parts, self._parts = self._parts, None
        if parts is not None:
            await parts.close()
        self._feeds.close()
        await self._network.close()

    async def remove(self) -> None:
        """Let go, and delete every directory, cgroup and mount that is left once no sandbox is:
        ``podling down``. The network is not touched. Raises ``RuntimeFailure`` while sandboxes remain."""
        parts = self._on
        if parts.sandboxes.records.all():
            raise RuntimeFailure("sandboxes remain: remove them first")
        await self.close()
        await asyncio.to_thread(leftovers.remove_directories, parts.host)

    async def status(self) -> RuntimeStatus:
        missing = await self._network.status()
        parts = self._parts
        return RuntimeStatus(
            name=self.name if parts is None else parts.host.engine.name,
            version="" if parts is None else await parts.version(),
            runtime_ready=parts is not None,
            runtime_message="" if parts is not None else "the container runtime has not been started",
            network_ready=not missing,
            network_message=missing,
            handlers=() if parts is None else parts.handlers(),
        )

    @property
    def _on(self) -> _Parts:
        if self._parts is None:
            raise RuntimeFailure("the container runtime has not been started")
        return self._parts

    # ---- sandboxes

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        on = self._on
        if spec.runtime_handler not in ("", *on.host.handlers):
            raise RuntimeFailure(f'no runtime for "{spec.runtime_handler}" is configured')
        if spec.namespaces.users is not None and on.users_lack:
            raise RuntimeFailure(f"the node cannot make user namespaces for pods: {on.users_lack}")
        return await on.sandboxes.run(spec)

    async def stop_sandbox(self, sandbox_id: str) -> None:
        await self._on.sandboxes.stop(sandbox_id)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        await self._on.sandboxes.remove(sandbox_id)

    async def list_sandboxes(self, *, pod_uid: str = "") -> tuple[Sandbox, ...]:
        return self._on.sandboxes.shown(pod_uid)

    # ---- containers

    async def create_container(self, sandbox_id: str, spec: ContainerSpec) -> str:
        on = self._on
        container_id = await on.containers.create(on.sandboxes.need_ready(sandbox_id), spec)
        if on.sandboxes.records.get(sandbox_id) is None:  # it was removed meanwhile, and its containers
            await on.containers.remove(container_id)
            raise RuntimeFailure(f"sandbox {sandbox_id} was removed")
        return container_id

    async def start_container(self, container_id: str) -> None:
        on = self._on
        sandbox = on.sandboxes.records.get(on.containers.need(container_id).sandbox_id)
        users = sandbox.namespaces.users if sandbox is not None else None
        await on.containers.start(container_id, users)

    async def stop_container(self, container_id: str, *, grace_seconds: float, signal: str = "") -> None:
        await self._on.containers.stop(container_id, grace_seconds, signal)

    async def remove_container(self, container_id: str) -> None:
        await self._on.containers.remove(container_id)

    async def list_containers(self, *, sandbox_id: str = "") -> tuple[Container, ...]:
        records = self._on.containers.records.all()
        return tuple(
            record.shown() for record in records if not sandbox_id or record.sandbox_id == sandbox_id
        )

    async def container_status(self, container_id: str) -> Container:
        return self._on.containers.need(container_id).shown()

    # ---- streams

    async def exec(
        self,
        container_id: str,
        command: Sequence[str],
        io: Streams,
        *,
        tty: bool = False,
        timeout: float | None = None,
    ) -> int:
        record = self._on.containers.need_running(container_id)
        on = self._on
        users = on.sandboxes.need(record.sandbox_id).namespaces.users
        return await exec_in_container(
            on.host.by_handler(record.engine), record, command, io, tty=tty, users=users, timeout=timeout
        )

    async def attach(self, container_id: str, io: Streams, *, tty: bool = False) -> None:
        record = self._on.containers.need_running(container_id)
        await attach_container(self._on.host, record, io)

    async def port_forward(
        self,
        sandbox_id: str,
        port: int,
        inbound: AsyncIterator[bytes],
        send: Callable[[bytes], Awaitable[None]],
    ) -> None:
        record = self._on.sandboxes.need_ready(sandbox_id)
        await forward_port(self._on.host, record, port, inbound, send)

    async def reopen_log(self, container_id: str) -> None:
        await reopen_log(self._on.host, self._on.containers.need_running(container_id))

    # ---- resources

    async def update_resources(self, container_id: str, resources: LinuxResources) -> None:
        await self._on.containers.update(container_id, resources)

    async def update_sandbox_resources(self, sandbox_id: str, resources: LinuxResources) -> None:
        """Change the limits of a pod as a whole; those that are not given stay."""
        record, cgroups = self._on.sandboxes.need_ready(sandbox_id), self._on.host.cgroups
        try:
            await asyncio.to_thread(cgroups.apply, record.cgroup, resources)
        except OSError as error:
            raise RuntimeFailure(f"cannot change the resources of the pod: {error}") from error

    async def update_cgroup(self, path: str, resources: LinuxResources) -> None:
        """Make a cgroup above pods, if it is not there, and change its limits."""
        try:
            await asyncio.to_thread(self._on.host.cgroups.create, path, resources)
        except OSError as error:
            raise RuntimeFailure(f"cannot limit cgroup {path}: {error}") from error

    async def stats(self) -> tuple[ContainerStats, ...]:
        records = [
            record for record in self._on.containers.records.all() if record.state is ContainerState.RUNNING
        ]
        host, at = self._on.host, clock.now()

        layers = self._on.layers

        def read() -> tuple[ContainerStats, ...]:
            result = []
            sizes = layers.measure({record.id: host.upper(record.id) for record in records})
            for record in records:
                usage = host.cgroups.usage(record.cgroup)
                result.append(
                    ContainerStats(
                        container_id=record.id,
                        at=at,
                        cpu_nanoseconds=usage.cpu_nanoseconds,
                        memory_bytes=usage.memory_bytes,
                        memory_working_set_bytes=usage.memory_working_set_bytes,
                        swap_bytes=usage.swap_bytes,
                        processes=usage.processes,
                        writable_layer_bytes=sizes[record.id].bytes,
                        writable_layer_inodes=sizes[record.id].inodes,
                    )
                )
            return tuple(result)

        return await in_thread(read)

    async def figures(self) -> RuntimeFigures:
        """Measure all running pods and containers in detail."""
        sandboxes = [
            record for record in self._on.sandboxes.records.all() if self._on.sandboxes.is_ready(record)
        ]
        running = [
            record for record in self._on.containers.records.all() if record.state is ContainerState.RUNNING
        ]
        host, at = self._on.host, clock.now()
        return await in_thread(lambda: measured(host, sandboxes, running, at))

    def events(self) -> AsyncIterator[ContainerEvent]:
        return aiter(self._feeds.open())


class _Parts:
    """The parts that exist between ``start`` and ``close``."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.containers = Containers(host)
        self.sandboxes = Sandboxes(host, self.containers)
        self._watch = ExitWatch(host.exits, self.containers.ends.exit_file_appeared)
        self._version = ""
        self.layers = LayerSizes()
        self.users_lack = ""
        """Why pods cannot have users of their own here; empty if they can."""

    async def start(self) -> None:
        await asyncio.to_thread(leftovers.prepare_directories, self.host)
        await asyncio.to_thread(restore_null)
        await asyncio.to_thread(leftovers.check_overlay, self.host)
        self.users_lack = await asyncio.to_thread(leftovers.check_users, self.host)
        await asyncio.to_thread(host_files.share, self.host.state, self.host.images.shown_directories())
        strays = self.containers.records.load() + self.sandboxes.records.load()
        self._watch.start()
        await self.containers.adopt()
        await self.sandboxes.adopt()
        await self._remove_orphans()
        containers = {record.id: record.cgroup for record in self.containers.records.all()}
        sandboxes = {record.id for record in self.sandboxes.records.all()}
        await asyncio.to_thread(leftovers.clean, self.host, containers, sandboxes, strays)

    async def _remove_orphans(self) -> None:
        """Containers whose sandbox went while they were being made."""
        for record in self.containers.records.all():
            if self.sandboxes.records.get(record.sandbox_id) is None:
                await self.containers.stop(record.id, 0, "")
                await self.containers.remove(record.id)

    async def close(self) -> None:
        self._watch.close()
        await self.containers.ends.close()
        await asyncio.to_thread(host_files.withdraw, self.host.state)
        for host in (self.host, *self.host.others.values()):
            host.view.close()
            host.program.close()
        await asyncio.to_thread(self.host.warm_up.close)

    def handlers(self) -> tuple[RuntimeHandler, ...]:
        """Return the ways to run a pod: by default, and by the names of the OCI runtimes."""
        return tuple(
            RuntimeHandler(
                name=name,
                recursive_read_only_mounts=True,
                user_namespaces=not self.users_lack,
                why_no_user_namespaces=self.users_lack,
            )
            for name in ("", *self.host.handlers)
        )

    async def version(self) -> str:
        """Return the engine's own version, read once."""
        if not self._version:
            from podling.runtime.oci import commands

            finished = await commands.run([self.host.engine.path, "--version"], check=False)
            self._version = (
                finished.output.splitlines()[0].rpartition(" ")[2] if finished.output else "unknown"
            )
        return self._version
