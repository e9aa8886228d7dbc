"""The worker process: reads jobs from a socket, one after the other, and replies.

``process`` starts it. It ends with its server, even if that is killed, and never takes more memory than it
may.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable

from podling.apiserver.compute.frames import (
    REQUEST_BYTES,
    Outcome,
    Perform,
    read_request_head,
    reply_head,
)

PR_SET_PDEATHSIG = 1
NICE = 5
"""Large requests give way to everything else on the machine."""

GARBAGE_OBJECTS = 20_000
"""So many new objects make a collection worth while; none happens within a job."""


def main(descriptor: int, server: int, memory_bytes: int) -> None:
    """Serve until the other end of the socket is closed."""
    _confine(memory_bytes)
    if os.getppid() != server:
        return  # the server ended before the signal was set up
    gc.disable()
    with socket.socket(fileno=descriptor) as connection:
        serve(connection)


def _confine(memory_bytes: int) -> None:
    """Limit memory, lower the priority, and let the kernel end this process with its server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal; the server ends its workers
    os.nice(NICE)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def serve(connection: socket.socket) -> None:
    """Reply to jobs until the connection ends."""
    functions: dict[bytes, Perform] = {}
    while head := _read(connection, REQUEST_BYTES):
        name_length, data_length = read_request_head(head)
        name = _read(connection, name_length)
        outcome, content = _reply(functions, name, _read(connection, data_length))
        connection.sendall(reply_head(outcome, len(content)))
        connection.sendall(content)
        if outcome is Outcome.OUT_OF_MEMORY:
            return  # what is left of the memory may not suffice for the next job
        del content
        if gc.get_count()[0] > GARBAGE_OBJECTS:
            gc.collect()
            gc.freeze()


def _reply(functions: dict[bytes, Perform], name: bytes, data: bytes) -> tuple[Outcome, bytes]:
    try:
        if name not in functions:
            functions[name] = _function(name.decode())
        return Outcome.DONE, functions[name](data)
    except MemoryError:
        return Outcome.OUT_OF_MEMORY, b""
    except Exception:
        return Outcome.FAILED, traceback.format_exc().encode()


def _function(name: str) -> Perform:
    """Return the function of this program that has a name: ``package.module:function``."""
    module, _, attribute = name.partition(":")
    found: Callable[[bytes], bytes] = getattr(importlib.import_module(module), attribute)
    return found


def _read(connection: socket.socket, length: int) -> bytes:
    """Return the next bytes; none if the connection ends."""
    if length == 0:
        return b""
    whole = bytearray(length)
    view, read = memoryview(whole), 0
    while read < length:
        count = connection.recv_into(view[read:])
        if count == 0:
            return b""
        read += count
    return bytes(whole)
