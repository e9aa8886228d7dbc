"""The runtime as the kubelet calls it: every call has a deadline, and fails with ``RuntimeFailure`` only.

A runtime that hangs must delay no pod but the calling one. A call without an answer in time fails with
``DeadlineExceeded`` (``runtimeRequestTimeout``) and is cancelled, and so is a call whose caller was
cancelled. The runtime then gets some seconds to undo its work, after which the call is abandoned. A full disk
and similar errors of the machine count as the runtime's failures, so the pod's status shows them.

Pulls, commands, streams and events have no deadline but their callers'.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from podling import clock
from podling.kubelet.failures import os_text
from podling.runtime.base import (
    Container,
    ContainerEvent,
    ContainerSpec,
    ContainerStats,
    LinuxResources,
    Runtime,
    RuntimeStatus,
    Sandbox,
    SandboxSpec,
    Streams,
)
from podling.runtime.failures import DeadlineExceeded, ExecTimeout, ImageFailure, RuntimeFailure
from podling.runtime.image_service import Credentials, Image, ImageService

logger = logging.getLogger(__name__)

T = TypeVar("T")

CREATION_SECONDS = 2.0
"""The wait for a sandbox or container under creation after its pod is to end. A complete one can be taken
down in order; one that hangs must not delay the end."""
UNDO_SECONDS = 10.0
"""The time that the runtime has to undo a cancelled call before the call is abandoned."""

_OPTIONAL = (
    "log",
    "remove_log",
    "probe",
    "update_sandbox_resources",
    "update_cgroup",
    "figures",
    "changes",
    "is_predictable",
    "seconds_to_next_use",
    "seconds_to_next_answer",
)
"""Methods that only some runtimes have (``KeepsLogs``, ``AnswersProbes`` ...), passed on if present."""


@contextmanager
def _as_runtime_failures() -> Iterator[None]:
    """Raise errors of the machine as ``RuntimeFailure``; a closed connection passes unchanged."""
    try:
        yield
    except (TimeoutError, ConnectionError):
        raise
    except OSError as error:
        raise RuntimeFailure(os_text(error)) from error


class Deadlines:
    """Waits for one runtime's answers, at most ``seconds`` for each."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left: set[asyncio.Task[Any]] = set()

    async def answer(self, work: Coroutine[Any, Any, T], more: float = 0.0) -> T:
        """Return the answer within the deadline and ``more`` seconds. Raises ``RuntimeFailure``."""
        try:
            async with clock.timeout(self._seconds + more):
                with _as_runtime_failures():
                    return await work
        except TimeoutError:
            raise DeadlineExceeded from None

    async def complete(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the answer of a call that creates something, which should not be left half done: a cancelled
        caller waits for a short time before the call is cancelled."""
        task = asyncio.ensure_future(work)
        try:
            is_done = await clock.wait_done(task, self._seconds)
        except asyncio.CancelledError:
            await self._give_up(task, CREATION_SECONDS)
            raise
        if not is_done:
            await self._give_up(task)
            raise DeadlineExceeded
        with _as_runtime_failures():
            return task.result()

    async def _give_up(self, task: asyncio.Task[Any], wait_seconds: float = 0.0) -> None:
        task.add_done_callback(_retrieve_result)
        try:
            if wait_seconds:
                await clock.wait_done(task, wait_seconds)
            if not task.done():
                task.cancel()
                await clock.wait_done(task, UNDO_SECONDS)
        finally:
            if not task.done():
                if not task.cancelling():  # only once: a second cancellation would interrupt the undoing
                    task.cancel()
                self._left.add(task)
                task.add_done_callback(self._left.discard)
                logger.warning("a cancelled runtime call does not end: %s", task.get_coro())


def _retrieve_result(task: asyncio.Task[Any]) -> None:
    """Retrieve the result, so that asyncio does not log the exception of an abandoned call."""
    if not task.cancelled():
        task.exception()


class TimedRuntime:
    """``Runtime`` that calls ``inner`` with deadlines."""

    def __init__(self, inner: Runtime, seconds: float) -> None:
        self._inner = inner
        self._calls = Deadlines(seconds)
        self.images: ImageService = TimedImages(inner.images, self._calls)
        for name in _OPTIONAL:
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    @property
    def name(self) -> str:
        return self._inner.name

    async def start(self) -> None:
        await self._inner.start()

    async def close(self) -> None:
        await self._inner.close()

    async def status(self) -> RuntimeStatus:
        return await self._calls.answer(self._inner.status())

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        return await self._calls.complete(self._inner.run_sandbox(spec))

    async def stop_sandbox(self, sandbox_id: str) -> None:
        await self._calls.answer(self._inner.stop_sandbox(sandbox_id))

    async def remove_sandbox(self, sandbox_id: str) -> None:
        await self._calls.answer(self._inner.remove_sandbox(sandbox_id))

    async def list_sandboxes(self, *, pod_uid: str = "") -> tuple[Sandbox, ...]:
        return await self._calls.answer(self._inner.list_sandboxes(pod_uid=pod_uid))

    async def create_container(self, sandbox_id: str, spec: ContainerSpec) -> str:
        return await self._calls.complete(self._inner.create_container(sandbox_id, spec))

    async def start_container(self, container_id: str) -> None:
        await self._calls.complete(self._inner.start_container(container_id))

    async def stop_container(self, container_id: str, *, grace_seconds: float, signal: str = "") -> None:
        stopping = self._inner.stop_container(container_id, grace_seconds=grace_seconds, signal=signal)
        await self._calls.answer(stopping, more=grace_seconds)

    async def remove_container(self, container_id: str) -> None:
        await self._calls.answer(self._inner.remove_container(container_id))

    async def list_containers(self, *, sandbox_id: str = "") -> tuple[Container, ...]:
        return await self._calls.answer(self._inner.list_containers(sandbox_id=sandbox_id))

    async def container_status(self, container_id: str) -> Container:
        return await self._calls.answer(self._inner.container_status(container_id))

    async def exec(
        self,
        container_id: str,
        command: Sequence[str],
        io: Streams,
        *,
        tty: bool = False,
        timeout: float | None = None,
    ) -> int:
        running = self._inner.exec(container_id, command, io, tty=tty, timeout=timeout)
        if timeout is None:
            return await running
        try:
            return await self._calls.answer(running, more=timeout)
        except DeadlineExceeded:
            raise ExecTimeout(f'command "{" ".join(command)}" timed out') from None

    async def attach(self, container_id: str, io: Streams, *, tty: bool = False) -> None:
        await self._inner.attach(container_id, io, tty=tty)

    async def port_forward(
        self,
        sandbox_id: str,
        port: int,
        inbound: AsyncIterator[bytes],
        send: Callable[[bytes], Awaitable[None]],
    ) -> None:
        await self._inner.port_forward(sandbox_id, port, inbound, send)

    async def update_resources(self, container_id: str, resources: LinuxResources) -> None:
        await self._calls.answer(self._inner.update_resources(container_id, resources))

    async def reopen_log(self, container_id: str) -> None:
        await self._calls.answer(self._inner.reopen_log(container_id))

    async def stats(self) -> tuple[ContainerStats, ...]:
        return await self._calls.answer(self._inner.stats())

    def events(self) -> AsyncIterator[ContainerEvent]:
        return self._inner.events()


class TimedImages:
    """``ImageService`` that calls ``inner`` with deadlines; failures of an image keep their text."""

    def __init__(self, inner: ImageService, calls: Deadlines) -> None:
        self._inner = inner
        self._calls = calls

    async def image_status(self, name: str) -> Image | None:
        try:
            return await self._calls.answer(self._inner.image_status(name))
        except ImageFailure:
            raise
        except RuntimeFailure as error:
            raise ImageFailure(str(error), "ImageInspectError") from error

    async def pull(self, name: str, credentials: Sequence[Credentials] = (), *, platform: str = "") -> Image:
        try:
            with _as_runtime_failures():
                return await self._inner.pull(name, credentials, platform=platform)
        except ImageFailure:
            raise
        except RuntimeFailure as error:
            raise ImageFailure(f'failed to pull and unpack image "{name}": {error}') from error

    async def load(self, archive: Path, names: Sequence[str] = ()) -> tuple[Image, ...]:
        return await self._inner.load(archive, names)

    async def list_images(self) -> tuple[Image, ...]:
        return await self._calls.answer(self._inner.list_images())

    async def remove_image(self, name: str) -> None:
        await self._calls.answer(self._inner.remove_image(name))
