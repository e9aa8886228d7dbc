"""A harness for each runtime under the contract, to run "the same program" on all of them.

A ``Program`` is a shell script together with the scripted life that stands for it on the simulated
runtime, which runs nothing. A ``Harness`` holds one runtime in directories of its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from podling import clock, ids
from podling.runtime.base import (
    Container,
    ContainerSpec,
    KeepsLogs,
    NamespaceOptions,
    Runtime,
    Sandbox,
    SandboxSpec,
    Streams,
)
from podling.runtime.sim import ContainerScript, LogScript, Run
from podling.runtime.sim.script import ANNOTATION_PREFIX, annotation
from tests.support.runtimes import exited

DEADLINE_SECONDS = 20.0
"""Limit in seconds of every wait, even on a busy machine; reaching it is a failure."""
RECORD = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([PF]) (.*)"
)


@dataclass(frozen=True)
class Program:
    """A container's program: as a shell script, and as a simulated life."""

    shell: str
    sim: ContainerScript = field(default_factory=ContainerScript)
    ready: str = ""
    """The output that shows that the shell has set its traps and can be sent signals."""


def serving(trap: str, sim: ContainerScript) -> Program:
    """Return a program that never ends, with ``trap`` set before it prints that it is ready."""
    script = replace(sim, logs=(LogScript(text="ready"),))
    return Program(f"{trap}; echo ready; while :; do sleep 0.02; done", script, "ready")


SLEEPER = serving("trap 'exit 143' TERM", ContainerScript())
STUBBORN = serving("trap '' TERM", ContainerScript(ignores_signals=True))


def exiting(code: int) -> Program:
    return Program(f"exit {code}", ContainerScript(runs=(Run(seconds=0, exit_code=code),)))


@dataclass(frozen=True)
class Record:
    """One record of a log in CRI format."""

    stream: str
    tag: str
    text: str


@dataclass
class Harness:
    """One runtime and what tests need to use it."""

    runtime: Runtime
    logs: Path
    image: str = ""
    """The id of an image whose shell runs programs."""
    make_image: Callable[[], Any] | None = None
    """Makes an image available and returns the name it has."""
    again: Callable[[], Runtime] | None = None
    """A new instance over the same directories, where there are any."""
    pods: int = field(default=0)

    async def pod(self, **changes: Any) -> Sandbox:
        self.pods += 1
        name = f"pod-{self.pods}"
        spec = {
            "pod_uid": ids.uid(),
            "pod_name": name,
            "pod_namespace": "default",
            "hostname": name,
            "log_directory": self.logs / name,
            "namespaces": NamespaceOptions(host_network=True),
        }
        return await self.runtime.run_sandbox(SandboxSpec(**{**spec, **changes}))

    async def create(self, sandbox: Sandbox, program: Program, **changes: Any) -> str:
        name, attempt = changes.get("name", "app"), changes.get("attempt", 0)
        spec = {
            "name": name,
            "image": self.image,
            "image_name": "shell",
            "command": ("sh", "-c", program.shell),
            "log_path": self.logs / sandbox.pod_name / name / f"{attempt}.log",
        }
        spec["log_path"].parent.mkdir(parents=True, exist_ok=True)
        scripted = {ANNOTATION_PREFIX + name: annotation(program.sim)}
        annotations = scripted | changes.pop("annotations", {})
        whole: dict[str, Any] = {**spec, "annotations": annotations, **changes}
        return await self.runtime.create_container(sandbox.id, ContainerSpec(**whole))

    async def run(self, sandbox: Sandbox, program: Program, **changes: Any) -> str:
        container_id = await self.create(sandbox, program, **changes)
        await self.runtime.start_container(container_id)
        if program.ready:
            await self.logged(container_id, program.ready)
        return container_id

    async def ended(self, container_id: str) -> Container:
        """Wait for the container's exit and return its status."""
        return await exited(self.runtime, container_id)

    async def finish(self, program: Program, **changes: Any) -> Container:
        """Run a program in a pod of its own to its end."""
        return await self.ended(await self.run(await self.pod(), program, **changes))

    def raw_log(self, container: Container) -> bytes:
        if isinstance(self.runtime, KeepsLogs):
            log = self.runtime.log(container.log_path)
            return b"" if log is None else log.read()
        return Path(container.log_path).read_bytes()

    def records(self, container: Container) -> list[Record]:
        """Read the log, every line of which must be in CRI format."""
        records = []
        for line in self.raw_log(container).splitlines():
            match = RECORD.fullmatch(line)
            assert match is not None, f"not in CRI format: {line!r}"
            records.append(Record(match[2].decode(), match[3].decode(), match[4].decode()))
        return records

    def text(self, container: Container, stream: str = "stdout") -> str:
        """Return the container's output, joined from its records."""
        wanted = [record for record in self.records(container) if record.stream == stream]
        return "".join(record.text + ("\n" if record.tag == "F" else "") for record in wanted)

    async def logged(self, container_id: str, text: str) -> None:
        """Return once the container has written ``text``; the log itself has no events to wait for."""
        container = await self.runtime.container_status(container_id)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while text not in self.text(container):
                await clock.sleep(0.01)


class Recorder:
    """Streams that record all output; ``said`` waits for a text."""

    def __init__(self, *chunks: bytes, stays_open: bool = False) -> None:
        self.stdout = b""
        self.stderr = b""
        self._chunks = chunks
        self._stays_open = stays_open
        self._changed = asyncio.Event()

    def streams(self, *, stdin: bool = False) -> Streams:
        return Streams(stdin=self._input() if stdin else None, stdout=self._out, stderr=self._error)

    async def said(self, text: bytes) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while text not in self.stdout:
                self._changed.clear()
                await self._changed.wait()

    async def _input(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        if self._stays_open:
            await asyncio.Event().wait()

    async def _out(self, chunk: bytes) -> None:
        self.stdout += chunk
        self._changed.set()

    async def _error(self, chunk: bytes) -> None:
        self.stderr += chunk
        self._changed.set()


class NoNetwork:
    """``PodNetwork`` of pods that only use the node's."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def attach(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        return ()

    async def detach(self, sandbox_id: str, namespace: Path) -> None: ...

    async def status(self) -> str:
        return ""
