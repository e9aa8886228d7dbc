"""Commands in a running container: crun or runc joins it, we carry the streams.

The engine's ``exec`` runs as our child with pipes, or with a terminal whose other end we hold, so no
monitor is needed. It writes the command's PID to a file once the command runs; an error before that is
the engine's own (no such program) and is raised, not shown as the command's output. A timeout or a
cancelled caller kills the command with everything it started, not just the engine that waits for it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import struct
import subprocess
import termios
import tty as terminals
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from podling import ids
from podling.cancellation import cancel_and_settle, run_to_end
from podling.files.trees import remove_tree
from podling.runtime.base import ExecTimeout, IdRange, RuntimeFailure, Streams
from podling.runtime.oci import commands, error_messages, linux
from podling.runtime.oci.console import Console
from podling.runtime.oci.exec_description import Description
from podling.runtime.oci.host import Host, birth
from podling.runtime.oci.records import ContainerRecord
from podling.runtime.oci.stdio import stdio_owner
from podling.runtime.oci.threads import in_thread, wait_for_end

DRAIN_SECONDS = 2.0
"""Seconds that output is read after the command ended while a process of it still holds the pipe."""
START_SECONDS = 10.0
"""Seconds that the engine may take to name a cancelled command, before it is killed itself."""

Sink = Callable[[bytes], Awaitable[None]]


async def exec_in_container(
    host: Host,
    record: ContainerRecord,
    command: Sequence[str],
    io: Streams,
    *,
    tty: bool = False,
    users: IdRange | None = None,
    timeout: float | None = None,
) -> int:
    """Run ``command``; returns its exit code. Raises ``ExecTimeout``, or ``RuntimeFailure`` if it cannot
    be run at all. ``users`` are those of a pod with a user namespace."""
    running = _Exec(host, record, command, io, tty=tty, users=users)
    try:
        async with asyncio.timeout(timeout):
            return await running.run()
    except TimeoutError:
        raise ExecTimeout(f'command "{" ".join(command)}" timed out') from None
    finally:
        await run_to_end(running.clean_up())


class _Exec:
    """One run of one command."""

    def __init__(
        self,
        host: Host,
        record: ContainerRecord,
        command: Sequence[str],
        io: Streams,
        *,
        tty: bool,
        users: IdRange | None,
    ) -> None:
        self._host = host
        self._record = record
        self._command = tuple(command)
        self._io = io
        self._tty = tty
        self._place = host.bundle(record.id) / f"exec-{ids.hex_id(12)}"
        self._process: subprocess.Popen[bytes] | None = None
        self._ours: set[int] = set()
        self._theirs: set[int] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._running = asyncio.Event()
        self._watch = -1
        self._standard = (subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL)
        self._size: tuple[int, int] | None = None
        self._description = b""
        self._oom_score: int | None = None
        self._terminal = -1
        self._owner = stdio_owner(record, users)
        self._console = Console(self._place) if tty and host.engine.name == "crun" else None

    async def run(self) -> int:
        self._host.warm_up.begin()
        self._prepare()
        if self._tty and self._io.resizes is not None:
            self._task(self._follow_sizes())
        if self._console is not None:
            self._console.listen()
            stdin, stdout, stderr = -1, -1, -1
        else:
            stdin, stdout, stderr = self._open_terminal() if self._tty else self._open_pipes()
        try:
            # A cancelled caller waits for the thread: we must kill the process that it started.
            await in_thread(self._spawn, undo=wait_for_end)
        finally:
            for descriptor in list(self._theirs):
                self._close(self._theirs, descriptor)
        process = self._process
        assert process is not None
        if self._console is not None:
            stdin = stdout = self._terminal = await self._received_terminal(self._console, process)
            self._apply_size()
        outputs = [self._copy_out(stdout, self._io.stdout)]
        if stderr >= 0:
            outputs.append(self._copy_errors(stderr))
        readers = [self._task(output) for output in outputs]
        if self._io.stdin is not None and stdin >= 0:
            self._task(self._copy_in(stdin))
        code = await self._code(process, readers)
        self._started()
        done, _ = await asyncio.wait(readers, timeout=DRAIN_SECONDS)
        for task in done:
            task.result()
        if not self._pid_file.exists() and code != 0:
            if birth(self._record.pid) != self._record.birth:
                raise RuntimeFailure(f"container {self._record.id} is not running")
            raise RuntimeFailure(self._refusal())
        return code

    async def _code(self, process: subprocess.Popen[bytes], readers: Sequence[asyncio.Task[None]]) -> int:
        """Return the exit code, unless the output cannot be delivered any more: then its error."""
        ending = self._task(_end_of(process))
        waiting: set[asyncio.Task[None]] = {ending, *readers}
        while not ending.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        return process.wait()

    @property
    def _pid_file(self) -> Path:
        return self._place / "pid"

    def _leader(self) -> int:
        """Return the command's PID as the engine wrote it; 0 while it has not."""
        try:
            return int(self._pid_file.read_text())
        except (OSError, ValueError):
            return 0

    def _prepare(self) -> None:
        config = msgspec.json.decode((self._host.bundle(self._record.id) / "config.json").read_bytes())
        process = config["process"] | {"args": list(self._command), "terminal": self._tty}
        if self._tty and not any(entry.startswith("TERM=") for entry in process["env"]):
            process["env"] = [*process["env"], "TERM=xterm"]
        self._place.mkdir(mode=0o700)
        self._oom_score = process.get("oomScoreAdj")
        self._description = msgspec.json.encode(process)

    async def _until_running(self) -> None:
        """Wait until the command runs, or all is over.

        Few callers ever have to wait, and only for them there is a watch: letting go of one makes the kernel
        wait for all others who read its lists, which is no work for the loop's thread.
        """
        if not self._running.is_set() and self._watch < 0:
            self._watch = linux.inotify(self._place, linux.IN_CLOSE_WRITE | linux.IN_MOVED_TO)
            asyncio.get_running_loop().add_reader(self._watch, self._look)
            if self._leader():
                self._started()
        await self._running.wait()

    def _look(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._watch, 4096)
        if self._leader():
            self._started()

    def _started(self) -> None:
        """The command runs (or all is over): what comes on standard error is its own."""
        self._running.set()
        if self._watch >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._watch)
            loop.run_in_executor(None, os.close, self._watch)
            self._watch = -1

    def _spawn(self) -> None:
        description = Description(self._description)
        try:
            self._process = self._start_engine(description.reader)
            description.give(self._process.pid, self._oom_score)
        finally:
            description.close()

    def _start_engine(self, description: int) -> subprocess.Popen[bytes]:
        engine = self._host.engine
        arguments = [
            engine.path,
            f"--root={self._host.engine_root}",
            f"--log={'file:' if engine.name == 'crun' else ''}{self._place / 'log'}",
            "--log-format=json",
            "exec",
            f"--process=/proc/self/fd/{description}",
            f"--pid-file={self._pid_file}",
            *([f"--console-socket={self._console.path}"] if self._console else []),
            self._record.id,
        ]
        stdin, stdout, stderr = self._standard
        self._host.view.enter()
        program = self._host.program.path
        return commands.spawn(
            arguments,
            program=program,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(description,),
        )

    def _open_pipes(self) -> tuple[int, int, int]:
        """Ours: where to write its input (or -1), and to read its output and errors from."""
        stdin, feed = self._pipe()
        self._theirs.add(stdin)
        if self._io.stdin is not None:
            self._ours.add(feed)
        else:  # an ended pipe: crun gives its input to the command's user, also the node's /dev/null
            os.close(feed)
            feed = -1
        output, stdout = self._pipe()
        errors, stderr = self._pipe()
        self._ours |= {output, errors}
        self._theirs |= {stdout, stderr}
        self._standard = (stdin, stdout, stderr)
        if self._owner is not None:
            for descriptor in self._theirs:
                os.fchown(descriptor, *self._owner)
        return feed, output, errors

    @staticmethod
    def _pipe() -> tuple[int, int]:
        return os.pipe2(os.O_CLOEXEC)

    def _open_terminal(self) -> tuple[int, int, int]:
        """Return a raw terminal between us and runc, which copies to its own cooked one inside and, on
        SIGWINCH, its size."""
        ours, theirs = os.openpty()
        terminals.setraw(theirs)
        self._ours.add(ours)
        self._theirs.add(theirs)
        self._standard = (theirs, theirs, theirs)
        self._terminal = ours
        self._apply_size()
        return ours, ours, -1

    async def _received_terminal(self, console: Console, process: subprocess.Popen[bytes]) -> int:
        """Return the command's terminal, which crun sends us; -1 if crun ended without."""
        receiving = self._task(console.receive())
        ending = self._task(_end_of(process))
        await asyncio.wait((receiving, ending), return_when=asyncio.FIRST_COMPLETED)
        terminal = console.take()
        if terminal >= 0:
            self._ours.add(terminal)
        return terminal

    async def _copy_out(self, descriptor: int, sink: Sink | None) -> None:
        while descriptor >= 0 and (chunk := await commands.read_some(descriptor)):
            if sink is not None:
                await sink(chunk)

    async def _copy_errors(self, descriptor: int) -> None:
        """Standard error, held back until it is certain that the command wrote it and not the engine."""
        while chunk := await commands.read_some(descriptor):
            await self._until_running()
            if self._io.stderr is not None and self._pid_file.exists():
                await self._io.stderr(chunk)

    async def _copy_in(self, descriptor: int) -> None:
        assert self._io.stdin is not None
        with suppress(BrokenPipeError, OSError):
            async for chunk in self._io.stdin:
                await commands.write_all(descriptor, chunk)
        if not self._tty:
            self._close(self._ours, descriptor)

    async def _follow_sizes(self) -> None:
        """Keep the terminal as large as the caller's, from before it exists: the first size is known
        by then, mostly."""
        assert self._io.resizes is not None
        async for size in self._io.resizes:
            self._size = size
            self._apply_size()
            if self._console is None and self._process is not None:
                await self._until_running()
                if self._process.poll() is None:
                    os.kill(self._process.pid, signal.SIGWINCH)

    def _apply_size(self) -> None:
        if self._size is not None and self._terminal >= 0:
            columns, rows = self._size
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _refusal(self) -> str:
        """Why the engine could not run the command, in the words users know."""
        try:
            last = (self._place / "log").read_text().strip().splitlines()[-1]
            text = str(msgspec.json.decode(last)["msg"])
        except (OSError, IndexError, KeyError, msgspec.MsgspecError):
            text = "exec failed"
        return error_messages.start_failure(text, self._command[0])

    def _task(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self._tasks.append(task)
        return task

    @staticmethod
    def _close(owned: set[int], descriptor: int) -> None:
        if descriptor in owned:
            owned.discard(descriptor)
            os.close(descriptor)

    async def clean_up(self) -> None:
        """Kill what still runs, end the copying, free everything."""
        await cancel_and_settle(*self._tasks)
        self._tasks.clear()
        for descriptor in list(self._ours | self._theirs):
            os.close(descriptor)
        self._ours.clear()
        self._theirs.clear()
        if self._console is not None:
            self._console.close()
        process = self._process
        if process is not None and process.poll() is None:
            await self._until_named(process)
            await in_thread(lambda: self._kill(process))
        self._started()
        await cancel_and_settle(*self._tasks)
        remove_tree(self._place)

    async def _until_named(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the engine has named the command it starts, which it would leave behind if killed."""
        named = [self._task(self._until_running()), self._task(_end_of(process))]
        await asyncio.wait(named, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        if leader := self._leader():
            kill_tree(self._host, self._record, leader)
        commands.kill_session(process)


async def _end_of(process: subprocess.Popen[bytes]) -> None:
    await commands.wait(process)


def kill_tree(host: Host, record: ContainerRecord, leader: int) -> None:
    """SIGKILL a command and everything it started: its session, and what descends from either."""
    for _ in range(10):
        processes = {pid: _family(pid) for pid in host.cgroups.processes(record.cgroup)}
        doomed = {leader} & set(processes)
        while True:
            more = {
                pid
                for pid, (parent, session) in processes.items()
                if pid not in doomed and (session == leader or parent in doomed)
            }
            if not more:
                break
            doomed |= more
        if not doomed:
            return
        for pid in doomed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _family(pid: int) -> tuple[int, int]:
    """Return a process' parent and session, zeros where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0, 0
    return int(fields[1]), int(fields[3])
