"""The monitor's loop: output to the log and to the attached, input and orders from connections."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import termios
import time  # noqa: TID251  a process of its own, with no event loop to take time from

from podling.runtime.monitor.log import Log
from podling.runtime.monitor.spawn import CANNOT_START, kill_strays, open_streams, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone would cost a megabyte in every monitor
    from collections.abc import Callable
    from typing import Any

CHUNK = 16384
BACKLOG_MAX = 1 << 20
"""Bytes that an attached reader may lag behind before the container has to wait for it."""
DRAIN_SECONDS = 5.0
"""Seconds to wait for the last output and the last stray process after the container's end."""


class Client:
    """One connection: frames come in, frames go out as far as the other side reads."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.descriptors: list[int] = []
        self.attached = False
        self.executing = 0

    def frames(self) -> list[tuple[str, bytes]]:
        taken = []
        while len(self.incoming) >= 5:
            length = int.from_bytes(self.incoming[1:5], "big")
            if len(self.incoming) < 5 + length:
                break
            taken.append((chr(self.incoming[0]), bytes(self.incoming[5 : 5 + length])))
            del self.incoming[: 5 + length]
        return taken

    def queue(self, kind: str, payload: bytes = b"") -> None:
        self.outgoing += kind.encode() + len(payload).to_bytes(4, "big") + payload


class Monitor:
    """The loop: output to the log and to the attached, input and orders from connections."""

    def __init__(self, launch: dict[str, Any]) -> None:
        self.launch = launch
        self.log = Log(launch["log_path"])
        self.selector = selectors.DefaultSelector()
        self.clients: list[Client] = []
        self.outputs: dict[int, str] = {}
        self.input = -1
        self.input_waiting = bytearray()
        self.input_ending = False
        self.pid = 0
        self.exit_code: int | None = None

    # Starting

    def start(self) -> list[Any]:
        """Start the command; returns what went wrong (stage, number, text), or nothing."""
        theirs, self.input, ours = open_streams(self.launch)
        self.pid, failure = spawn(self.launch, self.launch["command"], theirs, terminal=self.launch["tty"])
        if failure:
            self.exit_code = CANNOT_START
            return failure
        for descriptor, stream in ours:
            os.set_blocking(descriptor, False)
            self.outputs[descriptor] = stream
        return []

    # Running

    def run(self, listener: socket.socket) -> None:
        """Serve until the command has ended, its strays are gone and its output is in the log."""
        wake_read, wake_write = os.pipe()
        for end in (wake_read, wake_write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(listener, selectors.EVENT_READ, lambda _: self.accept(listener))
        self.selector.register(wake_read, selectors.EVENT_READ, lambda _: self.reap(wake_read))
        for descriptor in self.outputs:
            self.selector.register(descriptor, selectors.EVENT_READ, self.serve_output)
        self.reap(wake_read)
        while self.exit_code is None:
            self.serve(None)
        last = time.monotonic() + DRAIN_SECONDS
        while (kill_strays(self.pid) or self.outputs) and time.monotonic() < last:
            self.serve(0.01)
        self.log.finish()

    def serve(self, timeout: float | None) -> None:
        for key, events in self.selector.select(timeout):
            key.data(events)
        if self.input_waiting and self.launch["tty"]:
            self.feed_input(0)
        crowded = self.exit_code is None and any(len(item.outgoing) > BACKLOG_MAX for item in self.clients)
        for descriptor in self.outputs:
            reading = descriptor in self.selector.get_map()
            if crowded and reading:
                self.selector.unregister(descriptor)
            elif not reading and not crowded:
                self.selector.register(descriptor, selectors.EVENT_READ, self.serve_output)
        for client in list(self.clients):
            self.watch(client)

    def reap(self, wake: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(wake, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code
            if pid == self.pid:
                self.exit_code = code
            for client in self.clients:
                if client.executing == pid:
                    client.executing = 0
                    client.queue("X", str(code).encode())

    def serve_output(self, _: int) -> None:
        for descriptor, stream in list(self.outputs.items()):
            try:
                chunk = os.read(descriptor, CHUNK)
            except BlockingIOError:
                continue
            except OSError:  # a terminal whose last user is gone
                chunk = b""
            if not chunk:
                with contextlib.suppress(KeyError):
                    self.selector.unregister(descriptor)
                if descriptor == self.input:
                    self.input = -1
                os.close(descriptor)
                del self.outputs[descriptor]
                continue
            self.log.write(stream, chunk)
            for client in self.clients:
                if client.attached:
                    client.queue("1" if stream == "stdout" else "2", chunk)

    def say_goodbye(self) -> None:
        """Give the connections what is still to be sent, to each for a short while."""
        for client in self.clients:
            client.queue("X", str(self.exit_code).encode())
            client.connection.settimeout(1.0)
            with contextlib.suppress(OSError):
                client.connection.sendall(client.outgoing)

    # Connections

    def accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.setblocking(False)
        client = Client(connection)
        self.clients.append(client)
        self.watch(client)

    def watch(self, client: Client) -> None:
        """Wait for what this connection needs: input unless ours is full, space for our output."""
        events = selectors.EVENT_WRITE if client.outgoing else 0
        if len(self.input_waiting) < BACKLOG_MAX:
            events |= selectors.EVENT_READ
        known = client.connection in self.selector.get_map()
        if known and events:
            self.selector.modify(client.connection, events, lambda ready: self.serve_client(client, ready))
        elif known:
            self.selector.unregister(client.connection)
        elif events:
            self.selector.register(client.connection, events, lambda ready: self.serve_client(client, ready))

    def serve_client(self, client: Client, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE and client.outgoing:
                del client.outgoing[: client.connection.send(client.outgoing)]
            if events & selectors.EVENT_READ:
                part, descriptors, _, _ = socket.recv_fds(client.connection, CHUNK, 3)
                client.descriptors += descriptors
                if not part:
                    raise ConnectionError
                client.incoming += part
        except BlockingIOError:
            return
        except OSError:
            self.drop(client)
            return
        for kind, payload in client.frames():
            self.obey(client, kind, payload)

    def drop(self, client: Client) -> None:
        with contextlib.suppress(KeyError):
            self.selector.unregister(client.connection)
        client.connection.close()
        self.clients.remove(client)
        for descriptor in client.descriptors:
            os.close(descriptor)
        if client.executing:  # the client of the command is gone
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(client.executing, signal.SIGKILL)
        if client.attached and self.launch["stdin_once"]:
            self.end_input()

    def obey(self, client: Client, kind: str, payload: bytes) -> None:
        orders: dict[str, Callable[[], None]] = {
            "S": lambda: os.kill(self.pid, int(payload)),
            "R": self.log.reopen,
            "A": lambda: setattr(client, "attached", True),
            "W": lambda: self.resize(payload),
            "C": lambda: self.execute(client, json.loads(payload)),
        }
        if kind == "I":
            self.take_input(payload)
            return
        try:
            if self.exit_code is None:  # afterwards the number may belong to another process
                orders[kind]()
            client.queue("K")
        except (OSError, ValueError, KeyError) as error:
            client.queue("E", str(error).encode())

    def execute(self, client: Client, order: dict[str, Any]) -> None:
        """Run a command beside the container's own; its exit code goes to the client."""
        if len(client.descriptors) != 3:
            raise ValueError("a command needs three descriptors")
        stdin, stdout, stderr = client.descriptors
        client.descriptors = []
        launch = self.launch
        if order["tty"]:
            launch = launch | {"environment": {"TERM": "xterm"} | launch["environment"]}
        pid, failure = spawn(launch, order["command"], (stdin, stdout, stderr), terminal=order["tty"])
        if failure:
            client.queue("F", json.dumps(failure).encode())
        else:
            client.executing = pid

    def resize(self, payload: bytes) -> None:
        columns, rows = map(int, payload.split())
        if self.launch["tty"] and self.input >= 0:
            fcntl.ioctl(self.input, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def take_input(self, payload: bytes) -> None:
        if payload:
            self.input_waiting += payload
        elif self.launch["stdin_once"]:
            self.end_input()
        self.feed_input(0)

    def end_input(self) -> None:
        self.input_ending = True
        self.feed_input(0)

    def feed_input(self, _: int) -> None:
        """Pass on what came in; the rest waits until the command reads."""
        if self.input < 0:
            self.input_waiting.clear()
            return
        terminal = self.launch["tty"]
        try:
            while self.input_waiting:
                del self.input_waiting[: os.write(self.input, self.input_waiting[:4096])]
        except BlockingIOError:
            if not terminal and self.input not in self.selector.get_map():
                self.selector.register(self.input, selectors.EVENT_WRITE, self.feed_input)
            return
        except OSError:
            self.input_waiting.clear()
            self.input_ending = True
        if terminal:
            return
        with contextlib.suppress(KeyError):
            self.selector.unregister(self.input)
        if self.input_ending:
            os.close(self.input)
            self.input = -1
