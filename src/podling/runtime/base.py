"""The runtime protocol: CRI's verbs with our own types, for every implementation.

A *sandbox* is a pod's shared environment (network, IPC and UTS namespaces, a cgroup); containers
run inside it. Implementations: ``oci`` (real containers), ``process`` (host processes), ``sim``
(nothing at all, scripted). All pass ``tests/contract/test_runtime.py``.

Rules for every implementation:

* Containers outlive the process that started them, where there is anything to outlive; ``close``
  leaves them running, and a new instance over the same directories finds them again.
* Every call is idempotent where CRI's is: stopping what is stopped and removing what is gone succeed.
* ``events`` may be lost (a restart, an overflow): they only save time. ``list_containers`` is the truth.
* All timestamps are aware UTC datetimes taken from ``podling.clock``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from podling.runtime.failures import ExecTimeout, ImageFailure, NotFound, RuntimeFailure
from podling.runtime.figures import RuntimeFigures
from podling.runtime.image_service import Credentials, Image, ImageService
from podling.runtime.values import (
    Container,
    ContainerEvent,
    ContainerEventType,
    ContainerSpec,
    ContainerState,
    ContainerStats,
    IdRange,
    LinuxResources,
    Mount,
    MountPropagation,
    NamespaceOptions,
    PortMapping,
    ProbeAnswer,
    RuntimeHandler,
    RuntimeStatus,
    Sandbox,
    SandboxSpec,
    Security,
    SelinuxOptions,
    Streams,
    VolumeDevice,
)

__all__ = [
    "AnswersProbes",
    "Container",
    "ContainerEvent",
    "ContainerEventType",
    "ContainerSpec",
    "ContainerState",
    "ContainerStats",
    "Credentials",
    "ExecTimeout",
    "IdRange",
    "Image",
    "ImageFailure",
    "ImageService",
    "KeepsLogs",
    "LinuxResources",
    "LogBuffer",
    "MeasuresInDetail",
    "Mount",
    "MountPropagation",
    "NamespaceOptions",
    "NotFound",
    "PodNetwork",
    "PortMapping",
    "ProbeAnswer",
    "Runtime",
    "RuntimeFailure",
    "RuntimeHandler",
    "RuntimeStatus",
    "Sandbox",
    "SandboxSpec",
    "Security",
    "SelinuxOptions",
    "Streams",
    "UpdatesCgroups",
    "UpdatesSandboxes",
    "VolumeDevice",
]


class Runtime(Protocol):
    """One node's containers. Raises ``RuntimeFailure``; ``NotFound`` for what is not there."""

    @property
    def name(self) -> str: ...

    @property
    def images(self) -> ImageService: ...

    async def start(self) -> None:
        """Make ready: directories, leftovers of the last run, the event source."""
        ...

    async def close(self) -> None:
        """Let go of everything; containers run on."""
        ...

    async def status(self) -> RuntimeStatus: ...

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox: ...

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Kill what still runs inside and give back the network. The record stays until removed."""
        ...

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Remove the sandbox with all its containers."""
        ...

    async def list_sandboxes(self, *, pod_uid: str = "") -> tuple[Sandbox, ...]:
        """Return all sandboxes, or those of one pod."""
        ...

    async def create_container(self, sandbox_id: str, spec: ContainerSpec) -> str:
        """Prepare a container; returns its id."""
        ...

    async def start_container(self, container_id: str) -> None:
        """Run its process. A command that cannot run raises ``RuntimeFailure`` and leaves an exited
        container with reason ``StartError`` and exit code 128."""
        ...

    async def stop_container(self, container_id: str, *, grace_seconds: float, signal: str = "") -> None:
        """Send ``signal`` (default: the container's stop signal), wait up to ``grace_seconds``, then
        SIGKILL; returns once it is dead. Zero grace kills at once. A second call with less grace
        shortens the first."""
        ...

    async def remove_container(self, container_id: str) -> None:
        """Remove a container that does not run. Its log file stays."""
        ...

    async def list_containers(self, *, sandbox_id: str = "") -> tuple[Container, ...]: ...

    async def container_status(self, container_id: str) -> Container: ...

    async def exec(
        self,
        container_id: str,
        command: Sequence[str],
        io: Streams,
        *,
        tty: bool = False,
        timeout: float | None = None,
    ) -> int:
        """Run a command in a running container; returns its exit code. Raises ``ExecTimeout``. A
        cancelled call kills the command."""
        ...

    async def attach(self, container_id: str, io: Streams, *, tty: bool = False) -> None:
        """Connect to the container's own streams until it ends or the caller cancels."""
        ...

    async def port_forward(
        self,
        sandbox_id: str,
        port: int,
        inbound: AsyncIterator[bytes],
        send: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Carry one TCP connection to ``port`` inside the pod until either side ends."""
        ...

    async def update_resources(self, container_id: str, resources: LinuxResources) -> None: ...

    async def reopen_log(self, container_id: str) -> None:
        """Open the log file anew after it was renamed."""
        ...

    async def stats(self) -> tuple[ContainerStats, ...]: ...

    def events(self) -> AsyncIterator[ContainerEvent]:
        """Events from now on, for one reader."""
        ...


@runtime_checkable
class AnswersProbes(Protocol):
    """A runtime whose containers have no sockets and answer network probes themselves."""

    async def probe(self, container_id: str, kind: str, target: str) -> ProbeAnswer | None:
        """Return the answer to a probe, or None: then it must be made over the network after all.

        ``kind`` is ``http``, ``tcp`` or ``grpc``; ``target`` is ``<port><path>``, ``<port>`` or
        ``<port>/<service>``. The caller's timeout applies.
        """
        ...


@runtime_checkable
class UpdatesSandboxes(Protocol):
    """A runtime that can change the limits of a pod's own cgroup."""

    async def update_sandbox_resources(self, sandbox_id: str, resources: LinuxResources) -> None:
        """Change the limits of a pod as a whole; those that are not given stay."""
        ...


@runtime_checkable
class UpdatesCgroups(Protocol):
    """A runtime whose pods are in cgroups, below some that the kubelet limits itself."""

    async def update_cgroup(self, path: str, resources: LinuxResources) -> None:
        """Make a cgroup above pods, if it is not there, and change its limits; those not given stay."""
        ...


@runtime_checkable
class MeasuresInDetail(Protocol):
    """A runtime that counts what the kernel counts for each pod and container."""

    async def figures(self) -> RuntimeFigures:
        """Measure all running pods and containers."""
        ...


class LogBuffer(Protocol):
    """A log in memory that reads like a CRI log file; offsets count from the log's very beginning."""

    start: int
    """The oldest byte still kept."""
    end: int
    """Bytes ever written."""

    def read(self, offset: int = 0) -> bytes: ...

    async def wait(self, offset: int) -> None:
        """Return once there is something beyond ``offset``."""
        ...


@runtime_checkable
class KeepsLogs(Protocol):
    """A runtime that keeps its containers' logs in memory instead of in files."""

    def log(self, path: str) -> LogBuffer | None:
        """The log of the container whose ``log_path`` this is, also after the container was removed."""
        ...

    def remove_log(self, path: str) -> None: ...


class PodNetwork(Protocol):
    """Gives sandboxes their network; the runtime calls it, ``podling.network`` implements it."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def attach(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        """Connect the network namespace pinned at ``namespace``; returns the pod's addresses.

        Idempotent per sandbox. Raises ``RuntimeFailure``.
        """
        ...

    async def detach(self, sandbox_id: str, namespace: Path) -> None:
        """Undo ``attach`` and free the addresses; succeeds if nothing is left to undo."""
        ...

    async def status(self) -> str:
        """Empty when ready, else what is missing."""
        ...
