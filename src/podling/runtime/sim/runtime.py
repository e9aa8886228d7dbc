"""The runtime of simulated nodes: CRI's verbs over scripted lives.

The object stands for the node's machine, not for a process on it: it outlives the kubelets that
use it, so a simulated kubelet restart is ``close`` followed by a new kubelet with the same runtime.
What a real node could not do by itself (end a container, lose its power) has methods of its own,
for scenarios and faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from msgspec.structs import replace

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
    ProbeAnswer,
    RuntimeFailure,
    RuntimeHandler,
    RuntimeStatus,
    Sandbox,
    SandboxSpec,
    Streams,
)
from podling.runtime.changes import Changes
from podling.runtime.feed import Feeds
from podling.runtime.signals import signal_number
from podling.runtime.sim.addresses import Addresses
from podling.runtime.sim.images import SimImages
from podling.runtime.sim.life import KILLED, Life
from podling.runtime.sim.memory_log import MemoryLog
from podling.runtime.sim.script import (
    ANNOTATION_PREFIX,
    POD_ANNOTATION,
    ContainerScript,
    PodScript,
    Scenario,
    annotated,
)
from podling.runtime.sim.streams import attach_to, play_exec, play_port
from podling.runtime.values import sandbox_of

FIRST_PID = 1000


class SimRuntime:
    """``Runtime`` that runs nothing. ``pod_cidr`` is where pod addresses come from, in order."""

    name = "sim"

    def __init__(self, scenario: Scenario | None = None, *, pod_cidr: str = "10.244.0.0/16") -> None:
        self._scenario = scenario or Scenario()
        self.changes = Changes()
        self.images: ImageService = SimImages(self._scenario, self.changes)
        self._addresses = Addresses(pod_cidr)
        self._sandboxes: dict[str, Sandbox] = {}
        self._lives: dict[str, Life] = {}
        self._in_sandbox: dict[str, dict[str, Life]] = {}
        self._logs: dict[str, MemoryLog] = {}
        self._log_sandbox: dict[str, list[str]] = {}
        self._sandbox_failures: Counter[str] = Counter()
        self._feeds = Feeds()
        self._next_pid = FIRST_PID

    async def start(self) -> None:
        """Nothing to make ready."""

    async def close(self) -> None:
        self._feeds.close()

    async def status(self) -> RuntimeStatus:
        handlers = (RuntimeHandler(recursive_read_only_mounts=True, user_namespaces=True),)
        return RuntimeStatus(name=self.name, version=podling.__version__, handlers=handlers)

    # Sandboxes

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        script = self._pod_script(spec)
        await clock.sleep(script.sandbox_seconds)
        failures = script.sandbox_failures
        if script.sandbox_error and (failures is None or self._sandbox_failures[spec.pod_uid] < failures):
            self._sandbox_failures[spec.pod_uid] += 1
            raise RuntimeFailure(script.sandbox_error)
        sandbox_id = ids.hex_id()
        ips = () if spec.namespaces.host_network else (self._addresses.take(sandbox_id),)
        sandbox = sandbox_of(spec, sandbox_id, clock.now(), ips)
        self._sandboxes[sandbox_id] = sandbox
        self._in_sandbox[sandbox_id] = {}
        self.changes.note()
        return sandbox

    async def stop_sandbox(self, sandbox_id: str) -> None:
        sandbox = self._sandboxes.get(sandbox_id)
        if sandbox is None:
            return
        for life in list(self._in_sandbox[sandbox_id].values()):
            _kill(life)
        if sandbox.ready:
            self._sandboxes[sandbox_id] = replace(sandbox, ready=False)
            self.changes.note()
            await clock.sleep(self._pod_script(sandbox).sandbox_stop_seconds)
            self._addresses.give_back(sandbox_id)
            self._feeds.report(
                ContainerEvent(
                    type=ContainerEventType.SANDBOX_STOPPED,
                    pod_uid=sandbox.pod_uid,
                    sandbox_id=sandbox_id,
                    at=clock.now(),
                )
            )

    async def remove_sandbox(self, sandbox_id: str) -> None:
        if sandbox_id not in self._sandboxes:
            return
        await self.stop_sandbox(sandbox_id)
        if sandbox_id not in self._sandboxes:
            return  # another call removed it meanwhile
        for life in list(self._in_sandbox[sandbox_id].values()):
            self._forget(life)
        for path in self._log_sandbox.pop(sandbox_id, ()):
            self._logs.pop(path, None)
        del self._in_sandbox[sandbox_id], self._sandboxes[sandbox_id]
        self.changes.note()

    async def list_sandboxes(self, *, pod_uid: str = "") -> tuple[Sandbox, ...]:
        sandboxes = self._sandboxes.values()
        return tuple(sandbox for sandbox in sandboxes if pod_uid in ("", sandbox.pod_uid))

    # Containers

    async def create_container(self, sandbox_id: str, spec: ContainerSpec) -> str:
        sandbox = self._sandboxes.get(sandbox_id)
        if sandbox is None:
            raise NotFound(f'sandbox "{sandbox_id}" not found')
        if not sandbox.ready:
            raise RuntimeFailure(f'sandbox "{sandbox_id}" is not running')
        self._reserve(sandbox, spec)
        key = ANNOTATION_PREFIX + spec.name
        script = annotated(ContainerScript, key, spec.annotations, sandbox.annotations)
        if script is None:
            script = self._scenario.container(sandbox.pod_namespace, sandbox.pod_name, spec.name)
        script = script or ContainerScript()
        if script.create_error:
            raise RuntimeFailure(script.create_error)
        image = await self.images.image_status(spec.image)
        if image is None:
            raise NotFound(f'image "{spec.image}" not found')
        container = Container(
            id=ids.hex_id(),
            sandbox_id=sandbox_id,
            name=spec.name,
            attempt=spec.attempt,
            state=ContainerState.CREATED,
            created_at=clock.now(),
            image=spec.image_name or spec.image,
            image_id=image.id,
            image_ref=image.digests[0],
            log_path=str(spec.log_path),
            stop_signal=spec.stop_signal or image.stop_signal or "SIGTERM",
            labels=spec.labels,
            annotations=spec.annotations,
            resources=spec.resources,
        )
        log = self._logs[container.log_path] = MemoryLog()
        self._log_sandbox.setdefault(sandbox_id, []).append(container.log_path)
        life = Life(container, script, log, self._report, stdin_once=spec.stdin_once)
        self._lives[container.id] = self._in_sandbox[sandbox_id][container.id] = life
        self._report(ContainerEventType.CREATED, container)
        return container.id

    async def start_container(self, container_id: str) -> None:
        life = self._life(container_id)
        if life.state is not ContainerState.CREATED or life.starting:
            raise RuntimeFailure(f'container "{container_id}" is already {life.state.value.lower()}')
        if not self._sandboxes[life.container.sandbox_id].ready:
            raise RuntimeFailure(f'sandbox "{life.container.sandbox_id}" is not running')
        life.starting = True
        try:
            killed = await clock.wait_for(life.exited, life.script.start_seconds)
        finally:
            life.starting = False
        if killed:
            raise RuntimeFailure(f'container "{container_id}" was killed while it started')
        if life.script.start_error:
            life.end(life.script.start_error_code, "StartError", life.script.start_error)
            raise RuntimeFailure(life.script.start_error)
        self._next_pid += 1
        life.begin(self._next_pid)

    async def stop_container(self, container_id: str, *, grace_seconds: float, signal: str = "") -> None:
        life = self._lives.get(container_id)
        if life is None:
            return
        if grace_seconds > 0:
            life.signal(signal_number(signal or life.container.stop_signal))
            if life.running and await clock.wait_for(life.exited, grace_seconds):
                return
        _kill(life)

    async def remove_container(self, container_id: str) -> None:
        life = self._lives.get(container_id)
        if life is None:
            return
        if life.running or life.starting:
            raise RuntimeFailure(f'container "{container_id}" is running')
        await clock.sleep(life.script.remove_seconds)
        if container_id in self._lives:
            self._forget(life)

    async def list_containers(self, *, sandbox_id: str = "") -> tuple[Container, ...]:
        lives = self._in_sandbox.get(sandbox_id, {}) if sandbox_id else self._lives
        return tuple(life.container for life in lives.values())

    async def container_status(self, container_id: str) -> Container:
        return self._life(container_id).container

    async def exec(
        self,
        container_id: str,
        command: Sequence[str],
        io: Streams,
        *,
        tty: bool = False,
        timeout: float | None = None,
    ) -> int:
        life = self._running(container_id)
        answer = life.script.answer_exec(command, life.age())
        try:
            async with clock.timeout(timeout):
                return await play_exec(life, answer, io, tty=tty)
        except TimeoutError:
            shown = " ".join(command)
            raise ExecTimeout(f'command "{shown}" timed out') from None

    async def attach(self, container_id: str, io: Streams, *, tty: bool = False) -> None:
        await attach_to(self._running(container_id), io, tty=tty)

    async def port_forward(
        self,
        sandbox_id: str,
        port: int,
        inbound: AsyncIterator[bytes],
        send: Callable[[bytes], Awaitable[None]],
    ) -> None:
        if sandbox_id not in self._sandboxes:
            raise NotFound(f'sandbox "{sandbox_id}" not found')
        scripts = [
            item
            for life in self._in_sandbox[sandbox_id].values()
            if life.running
            for item in life.script.ports
            if item.port == port
        ]
        if not scripts:
            raise RuntimeFailure(f"failed to connect to port {port} inside the pod: connection refused")
        await play_port(scripts[0], inbound, send)

    async def update_resources(self, container_id: str, resources: LinuxResources) -> None:
        await clock.sleep(self._life(container_id).script.resize_seconds)
        life = self._life(container_id)
        known = life.container.resources or LinuxResources()
        changed = {
            name: value
            for name in LinuxResources.__struct_fields__
            if (value := getattr(resources, name)) not in (None, "", {})
        }
        life.container = replace(life.container, resources=replace(known, **changed))
        self.changes.note()

    async def reopen_log(self, container_id: str) -> None:
        """There is no file that could have been renamed."""
        self._running(container_id)

    async def stats(self) -> tuple[ContainerStats, ...]:
        at = clock.now()
        return tuple(
            ContainerStats(
                container_id=life.container.id,
                at=at,
                cpu_nanoseconds=life.script.cpu_nanoseconds(life.age()),
                memory_bytes=life.script.memory_bytes(life.age()),
                memory_working_set_bytes=life.script.memory_bytes(life.age()),
                processes=1,
            )
            for life in self._lives.values()
            if life.running
        )

    def events(self) -> AsyncIterator[ContainerEvent]:
        return self._feeds.open()

    # Methods that only a runtime without files and sockets has

    async def probe(self, container_id: str, kind: str, target: str) -> ProbeAnswer | None:
        """Scripted probe answers; a container that does not run refuses."""
        life = self._lives.get(container_id)
        if life is None or not life.running:
            return ProbeAnswer(success=False, output="connect: connection refused")
        answer = life.script.answer_probe(kind, target, life.age())
        await clock.sleep(answer.seconds)
        return ProbeAnswer(success=answer.success, output=answer.output)

    def log(self, path: str) -> MemoryLog | None:
        return self._logs.get(path)

    def remove_log(self, path: str) -> None:
        self._logs.pop(path, None)

    # Its changes

    def is_predictable(self) -> bool:
        return True

    def seconds_to_next_use(self) -> float | None:
        waits = (life.seconds_to_next_use() for life in self._lives.values() if life.script.usage)
        return min((seconds for seconds in waits if seconds is not None), default=None)

    def seconds_to_next_answer(self, container_id: str) -> float | None:
        life = self._lives.get(container_id)
        return None if life is None else life.seconds_to_next_answer()

    # Methods for scenarios and faults

    def end(self, container_id: str, exit_code: int, reason: str = "", message: str = "") -> None:
        """The container's process exits by itself, now."""
        self._running(container_id).end(exit_code, reason, message)

    def write_log(self, container_id: str, text: str, stream: str = "stdout") -> None:
        """The container prints ``text``."""
        self._running(container_id).write(text, stream)

    def rescript(self, container_id: str, script: ContainerScript) -> None:
        """From now on the container answers as ``script`` says; the timers of its run stay."""
        self._life(container_id).script = script
        self.changes.note()

    def is_served(self, address: str) -> bool:
        """Return whether a container of the pod with this address runs, or one in the machine's network."""
        return any(
            life.running
            for sandbox in self._sandboxes.values()
            if sandbox.ready and (address in sandbox.ips or not sandbox.ips)
            for life in self._in_sandbox[sandbox.id].values()
        )

    def lose_power(self) -> None:
        """Stop the machine at once: everything on it ends without an event."""
        at = clock.now()
        for life in self._lives.values():
            life.lose_power(at)
        for sandbox in list(self._sandboxes.values()):
            self._addresses.give_back(sandbox.id)
            self._sandboxes[sandbox.id] = replace(sandbox, ready=False)
        self._feeds.close()
        self.changes.note()

    def _pod_script(self, of: SandboxSpec | Sandbox) -> PodScript:
        script = annotated(PodScript, POD_ANNOTATION, of.annotations)
        return script or self._scenario.pod(of.pod_namespace, of.pod_name) or PodScript()

    def _reserve(self, sandbox: Sandbox, spec: ContainerSpec) -> None:
        """Refuse a second container of the same attempt, as containerd does by its names."""
        for life in self._in_sandbox[sandbox.id].values():
            if (life.container.name, life.container.attempt) == (spec.name, spec.attempt):
                pod = f"{sandbox.pod_name}_{sandbox.pod_namespace}_{sandbox.pod_uid}"
                name = f"{spec.name}_{pod}_{spec.attempt}"
                raise RuntimeFailure(
                    f'failed to reserve container name "{name}": '
                    f'name "{name}" is reserved for "{life.container.id}"'
                )

    def _life(self, container_id: str) -> Life:
        try:
            return self._lives[container_id]
        except KeyError:
            raise NotFound(f'container "{container_id}" not found') from None

    def _running(self, container_id: str) -> Life:
        life = self._life(container_id)
        if not life.running:
            raise RuntimeFailure(f'container "{container_id}" is not running')
        return life

    def _forget(self, life: Life) -> None:
        del self._lives[life.container.id], self._in_sandbox[life.container.sandbox_id][life.container.id]
        self._report(ContainerEventType.REMOVED, life.container)

    def _report(self, kind: ContainerEventType, container: Container) -> None:
        self.changes.note()
        self._feeds.report(
            ContainerEvent(
                type=kind,
                pod_uid=self._sandboxes[container.sandbox_id].pod_uid,
                sandbox_id=container.sandbox_id,
                container_id=container.id,
                at=clock.now(),
            )
        )


def _kill(life: Life) -> None:
    """SIGKILL to what runs or is about to."""
    if life.running or life.starting:
        life.end(KILLED)
