"""Run helper programs (crun, runc, skopeo, nft): short-lived processes, each under a deadline.

A process is started from a thread and awaited through a pidfd, so neither a busy machine nor a hanging
program blocks the event loop, and no SIGCHLD handler is needed. With ``hide``, the thread
first gives itself a private view of the mounts in which the version 2 cgroup hierarchy is covered
(see ``detect``); the child inherits that view.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from podling.runtime.base import RuntimeFailure
from podling.runtime.oci.threads import in_thread

DEADLINE_SECONDS = 60.0
"""Seconds after which a command counts as hanging and is killed."""

UNIFIED = "/sys/fs/cgroup/unified"


class Finished(Struct, frozen=True):
    """The result of a command."""

    code: int
    raw: bytes
    """Its standard output, byte for byte."""
    errors: str
    """Its standard error, decoded and stripped."""

    @property
    def output(self) -> str:
        return self.raw.decode(errors="replace").strip()


def hide_unified() -> None:
    """Give the calling thread a private view of the mounts without the version 2 hierarchy.

    It is covered by an empty file system of the thread's own, not unmounted: crun also writes a
    directory there, which so vanishes with the view.
    """
    from podling.runtime.oci import linux

    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("none", "/sys/fs/cgroup", flags=linux.MS_REC | linux.MS_PRIVATE)
    cover_unified()


def cover_unified() -> None:
    """Cover the version 2 hierarchy in the view that the calling thread has of its own."""
    from podling.runtime.oci import linux

    linux.mount("none", UNIFIED, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC, "size=64k")


def hidden_view() -> int:
    """Return a descriptor of such a view, for nsenter(1); the calling thread ends up in it, too."""
    hide_unified()
    return os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)


def spawn(
    arguments: Sequence[str],
    *,
    program: str | None = None,
    hide: bool = False,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start ``arguments`` in a session of its own; to be called in a thread of its own.

    ``program`` is the file to execute, where that is not the first argument.
    """
    if hide:
        hide_unified()
    return subprocess.Popen(
        arguments,
        executable=program,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        start_new_session=True,
        env=environment(),
    )


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of helper programs: nothing private."""
    names = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR")
    return {name: os.environ[name] for name in names if name in os.environ} | dict(extra or {})


async def wait(process: subprocess.Popen[bytes]) -> int:
    """Await the end of a child through its pidfd and reap it."""
    if not hasattr(os, "pidfd_open"):  # macOS
        return await in_thread(process.wait)
    if process.poll() is not None:
        return process.returncode
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:  # it was reaped just now, by another who waited
        return process.wait()
    except OSError:  # no descriptor is free: a child without a wait would stay a zombie
        return await in_thread(process.wait)
    ended = loop.create_future()

    def ready() -> None:
        if not ended.done():
            ended.set_result(None)

    loop.add_reader(descriptor, ready)
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return process.wait()


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL a child with everything in its process group, and reap it.

    It is reaped aside: a process stuck in the kernel must not hold up the loop.
    """
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        threading.Thread(target=process.wait, daemon=True).start()


async def run(
    arguments: Sequence[str],
    *,
    hide: bool = False,
    deadline: float | None = DEADLINE_SECONDS,
    check: bool = True,
    stdin: bytes = b"",
) -> Finished:
    """Run a command to its end. Raises ``RuntimeFailure`` when it fails (``check``) or hangs.

    A cancelled call kills the command.
    """
    input_end, feed = os.pipe()
    output, output_end = os.pipe()
    errors, errors_end = os.pipe()
    for descriptor in (feed, output, errors):
        os.set_blocking(descriptor, False)
    started: subprocess.Popen[bytes] | None = None
    try:
        try:
            started = await in_thread(
                lambda: spawn(arguments, hide=hide, stdin=input_end, stdout=output_end, stderr=errors_end),
                undo=kill_session,
            )
        except OSError as error:
            raise RuntimeFailure(f"{arguments[0]} cannot be run: {error.strerror}") from error
        finally:
            for descriptor in (input_end, output_end, errors_end):
                os.close(descriptor)
        async with asyncio.timeout(deadline):
            texts = await asyncio.gather(read_all(output), read_all(errors), _feed(feed, stdin))
            code = await wait(started)
    except TimeoutError:
        raise RuntimeFailure(f"{_verb(arguments)} did not end within {deadline:g} s") from None
    finally:
        for descriptor in (feed, output, errors):
            if descriptor != feed or not stdin:
                os.close(descriptor)
        if started is not None:
            kill_session(started)
    finished = Finished(code, texts[0], texts[1].decode(errors="replace").strip())
    if check and code != 0:
        raise RuntimeFailure(f"{_verb(arguments)} failed: {finished.errors or f'exit code {code}'}")
    return finished


async def run_detached(
    arguments: Sequence[str], *, hide: bool = False, deadline: float = DEADLINE_SECONDS
) -> None:
    """Run a command that leaves a process behind; like ``run``, but its output goes to a file, whose end is
    not awaited.

    Its input is an empty file: crun would give the node's ``/dev/null`` to the user of the process. Raises
    ``RuntimeFailure`` with the output.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as nothing:
        stdin, output = nothing.fileno(), said.fileno()
        process = await in_thread(
            lambda: spawn(arguments, hide=hide, stdin=stdin, stdout=output, stderr=output)
        )
        try:
            async with asyncio.timeout(deadline):
                code = await wait(process)
        except TimeoutError:
            raise RuntimeFailure(f"{_verb(arguments)} did not end within {deadline:g} s") from None
        finally:
            kill_session(process)
        if code != 0:
            said.seek(0)
            text = said.read(1 << 16).decode(errors="replace").strip()
            raise RuntimeFailure(f"{_verb(arguments)} failed: {text or f'exit code {code}'}")


async def _feed(descriptor: int, data: bytes) -> None:
    if data:
        try:
            await write_all(descriptor, data)
        except BrokenPipeError:
            return
        finally:
            os.close(descriptor)


def _verb(arguments: Sequence[str]) -> str:
    """``crun start``, ``skopeo copy``: what failed, in two words."""
    verbs = ("create", "start", "exec", "delete", "update", "kill", "state", "copy", "inspect")
    verb = next((argument for argument in arguments[1:] if argument in verbs), "")
    return f"{os.path.basename(arguments[0])} {verb}".strip()


async def read_some(descriptor: int, size: int = 65536) -> bytes:
    """Return the next bytes of a pipe, socket or terminal, ``b""`` at its end; never blocks the loop."""
    os.set_blocking(descriptor, False)
    while True:
        try:
            return os.read(descriptor, size)
        except BlockingIOError:
            await readable(descriptor)
        except OSError as error:
            if error.errno == 5:  # EIO: the last process closed its side of the terminal
                return b""
            raise


async def readable(descriptor: int) -> None:
    """Wait until there is something to read, or the end."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def read_all(descriptor: int, limit: int = 1 << 24) -> bytes:
    """Everything until the end; what goes beyond ``limit`` bytes is read and dropped."""
    parts: list[bytes] = []
    size = 0
    while chunk := await read_some(descriptor):
        if size < limit:
            parts.append(chunk)
            size += len(chunk)
    return b"".join(parts)


async def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a pipe, socket or terminal, waiting while the reader is slow."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            ready = loop.create_future()
            loop.add_writer(descriptor, lambda ready=ready: None if ready.done() else ready.set_result(None))  # type: ignore[misc]
            try:
                await ready
            finally:
                loop.remove_writer(descriptor)
