"""conmon: the small monitor process that each container has, which outlives us.

It runs the OCI runtime, holds the container's streams, writes its log in CRI format, serves ``attach``, and
leaves the exit code as a file. We start it, wait until it reports over a pipe that the container was created
(or why not), and need it no more: when this process ends, containers and monitors run on.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import msgspec
from msgspec import Struct

from podling.runtime.failures import DeadlineExceeded, RuntimeFailure
from podling.runtime.oci import commands, processes
from podling.runtime.oci.detect import Engine
from podling.runtime.oci.threads import in_thread

CREATE_SECONDS = 110.0
"""Seconds after which creating a container has failed: a little less than the kubelet waits."""


class CreateFailure(RuntimeFailure):
    """The OCI runtime refused to make the container; the text is its own."""


class _Answer(msgspec.Struct):
    data: int
    message: str = ""


class Monitored(Struct, frozen=True, kw_only=True):
    """One container as conmon has to know it."""

    id: str
    name: str
    bundle: Path
    log_path: str
    exits: Path
    program: str
    """The OCI runtime to call."""
    engine_root: Path
    tty: bool = False
    stdin: bool = False
    stdin_once: bool = False
    ended_input: bool = False
    """Its input is an ended pipe, not the node's ``/dev/null``, which conmon opens for it otherwise."""


WITH_ENDED_INPUT = ("/bin/sh", "-c", 'exec "$0" "$@" <<.\n.')
"""Runs a program whose input is an empty document: a pipe of its own, which has ended."""


def arguments(engine: Engine, container: Monitored, view: int | None) -> list[str]:
    """conmon's command line. ``view`` is a descriptor of ours for the mounts the runtime is to see."""
    runtime = [container.program, f"--root={container.engine_root}"]
    if view is not None:
        runtime = [engine.nsenter, f"--mount=/proc/{os.getpid()}/fd/{view}", *runtime]
    if container.ended_input:
        runtime = [*WITH_ENDED_INPUT, *runtime]
    result = [engine.conmon, "--api-version", "1"]
    result += ["--cid", container.id, "--cuuid", container.id, "--name", container.name]
    result += ["--bundle", str(container.bundle), "--container-pidfile", str(container.bundle / "pid")]
    result += ["--runtime", runtime[0]]
    for argument in runtime[1:]:
        result += ["--runtime-arg", argument]
    result += ["--log-path", f"k8s-file:{container.log_path}", "--exit-dir", str(container.exits)]
    result += [
        "--persist-dir",
        str(container.bundle),
        "--full-attach",
        "--no-sync-log",
        "--log-level",
        "error",
    ]
    if container.tty:
        result.append("--terminal")
    if container.stdin:
        result.append("--stdin")
        if not container.stdin_once:
            result.append("--leave-stdin-open")
    return result


async def create(engine: Engine, container: Monitored) -> int:
    """Start a monitor and make the container; returns its process' PID, which waits to be started.

    Raises ``CreateFailure`` with the runtime's own words, ``DeadlineExceeded`` when it hangs, and
    ``RuntimeFailure`` when it breaks.
    """
    answer, answer_end = os.pipe()
    view: int | None = None
    process: subprocess.Popen[bytes] | None = None
    try:
        try:
            view, launched = await in_thread(lambda: _launch(engine, container, answer_end), undo=_take_back)
            process = launched
        finally:
            os.close(answer_end)
        async with asyncio.timeout(CREATE_SECONDS):
            line = await _read_line(answer)
            await commands.wait(launched)
    except TimeoutError:
        raise DeadlineExceeded from None
    finally:
        os.close(answer)
        if view is not None:
            os.close(view)
        if process is not None:
            commands.kill_session(process)
    return _pid(engine, line)


def kill_all(container_id: str) -> None:
    """SIGKILL every process that has a container's id among its arguments, with all that it started: its
    monitor, and the OCI runtime under it. For a creation that hangs; what is killed has detached itself
    from us."""
    name = container_id.encode()
    processes.end(lambda found: name in found.arguments)


def _launch(
    engine: Engine, container: Monitored, answer_end: int
) -> tuple[int | None, subprocess.Popen[bytes]]:
    view: int | None = None
    if engine.hide_unified:
        view = commands.hidden_view()
    process = subprocess.Popen(
        arguments(engine, container, view),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(answer_end,),
        start_new_session=True,
        cwd=container.bundle,
        env=commands.environment({"_OCI_SYNCPIPE": str(answer_end)}),
    )
    return view, process


def _take_back(launched: tuple[int | None, subprocess.Popen[bytes]]) -> None:
    """Undo a launch whose caller was cancelled meanwhile."""
    view, process = launched
    if view is not None:
        os.close(view)
    commands.kill_session(process)


async def _read_line(descriptor: int) -> bytes:
    """Return the monitor's one answer; it keeps its end of the pipe open."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = await commands.read_some(descriptor)
        if not chunk:
            break
        line += chunk
    return line


def _pid(engine: Engine, line: bytes) -> int:
    try:
        said = msgspec.json.decode(line, type=_Answer)
    except msgspec.MsgspecError:
        text = line.decode(errors="replace").strip()
        raise RuntimeFailure(f"conmon died while {engine.name} made the container {text}".rstrip()) from None
    if said.data <= 0:
        raise CreateFailure(said.message.strip() or f"{engine.name} create failed without saying why")
    return said.data
