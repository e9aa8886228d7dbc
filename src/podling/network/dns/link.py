"""The connection from the node's process to a DNS process, and the start and the end of such a process."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from podling.files import locks
from podling.network.dns.control import CONTROL
from podling.network.dns.launch import MODULE, Launch, command
from podling.network.dns.listening import Listening
from podling.network.dns.messages import (
    Frames,
    FromServer,
    Garbage,
    Hello,
    ToServer,
    frame,
    from_server,
)
from podling.network.dns.privileges import FLOOD_NICE
from podling.runtime.monitor.spawn import PR_SET_NO_NEW_PRIVS, prctl
from podling.runtime.oci import commands
from podling.runtime.oci.threads import in_thread

START_SECONDS = 30.0
CONNECT_SECONDS = 5.0
_READ_BYTES = 65536
_SOCKETS_MAX = 16


class NoServer(Exception):
    """No DNS process runs, or it does not answer."""


class Link:
    """An open connection to a DNS process. ``listening`` are its sockets, which this process now has, too."""

    def __init__(self, connection: socket.socket, hello: Hello, listening: Listening, rest: bytes) -> None:
        self.hello = hello
        self.listening = listening
        self._connection = connection
        self._rest = rest
        self._frames = Frames()
        self._sending = asyncio.Lock()

    async def send(self, message: ToServer) -> None:
        """Raises ``OSError`` when the process has ended."""
        async with self._sending:
            await asyncio.get_running_loop().sock_sendall(self._connection, frame(message))

    async def receive(self) -> list[FromServer]:
        """Return the next messages. Raises ``OSError`` when the process has ended, or sends garbage."""
        try:
            data, self._rest = self._rest, b""
            if not data:
                data = await asyncio.get_running_loop().sock_recv(self._connection, _READ_BYTES)
            if not data:
                raise ConnectionResetError("the DNS process has ended")
            return [from_server.decode(each) for each in self._frames.feed(data)]
        except (Garbage, msgspec.MsgspecError) as error:
            raise OSError(f"the DNS process sends garbage: {error}") from None

    def close(self) -> None:
        self._connection.close()


async def connect(directory: Path) -> Link:
    """Connect to the DNS process of a node. Raises ``NoServer``."""
    return await in_thread(lambda: _connect(directory), undo=_undo)


def _undo(link: Link) -> None:
    link.close()
    link.listening.close()


def _connect(directory: Path) -> Link:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    descriptors: list[int] = []
    try:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(str(directory / CONTROL))
        data, descriptors, _, _ = socket.recv_fds(connection, _READ_BYTES, _SOCKETS_MAX)
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            more = connection.recv(_READ_BYTES)
            if not more:
                raise ConnectionResetError
            data += more
        end = 4 + int.from_bytes(data[:4], "big")
        hello = from_server.decode(data[4:end])
        if not isinstance(hello, Hello) or len(hello.endpoints) != len(descriptors):
            raise NoServer("it greets with something else")
        listening = Listening()
        for endpoint in hello.endpoints:
            listening.add(endpoint.kind, socket.socket(fileno=descriptors.pop(0)))
        connection.setblocking(False)
        return Link(connection, hello, listening, data[end:])
    except (OSError, msgspec.MsgspecError, NoServer) as error:
        connection.close()
        for descriptor in descriptors:
            os.close(descriptor)
        raise NoServer(str(error) or type(error).__name__) from None


async def start(launch: Launch) -> None:
    """Start a DNS process and wait until it serves. Raises ``NoServer``."""
    arguments = command(sys.executable, sys.path, msgspec.json.encode(launch))
    process = await in_thread(lambda: _spawn(arguments, launch), undo=commands.kill_session)
    try:
        async with asyncio.timeout(START_SECONDS):
            code = await commands.wait(process)
    except TimeoutError:
        raise NoServer("it does not start") from None
    finally:
        if process.poll() is None:
            commands.kill_session(process)
    if code:
        raise NoServer(f"it cannot start: see {launch.directory}/log")


def _spawn(arguments: list[str], launch: Launch) -> subprocess.Popen[bytes]:
    """Start the command, which inherits from this thread of its own.

    Its start has a lower priority, and no program that it starts gets more rights than it has.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, FLOOD_NICE)
    prctl(PR_SET_NO_NEW_PRIVS)
    with open(Path(launch.directory) / "log", "ab") as log:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=launch.descriptors,
            start_new_session=True,
            cwd="/",
            env=commands.environment({}),
        )


def end_server(directory: Path, seconds: float = 5.0) -> None:
    """End the DNS process of a node, if one runs: ``podling down``. Raises ``OSError`` if it does not end.

    The kernel names the process behind the control socket, so no other one can be hit.
    """
    control = directory / CONTROL
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(seconds)
        try:
            connection.connect(str(control))
        except OSError:
            return
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid = int.from_bytes(credentials[:4], sys.byteorder)
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
    try:
        if MODULE not in locks.arguments_of(pid):
            return
        control.unlink(missing_ok=True)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
            if select.select([handle], [], [], seconds)[0]:
                return
        raise OSError(f"the DNS process {pid} does not end")
    finally:
        os.close(handle)
