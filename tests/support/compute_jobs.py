"""Jobs for worker processes that end them, get stuck, or take too much memory."""

from __future__ import annotations

import os
import signal
import sys
import time  # noqa: TID251 - a job that is stuck for real
from pathlib import Path


def echo(data: bytes) -> bytes:
    return data


def process_id(data: bytes) -> bytes:
    return str(os.getpid()).encode()


def fail(data: bytes) -> bytes:
    raise ValueError(data.decode())


def be_killed(data: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def be_killed_once(data: bytes) -> bytes:
    """Be killed if the file named by ``data`` is there, after its removal; else echo."""
    marker = Path(data.decode())
    if marker.exists():
        marker.unlink()
        be_killed(data)
    return data


def be_stuck(data: bytes) -> bytes:
    time.sleep(3600)
    return b""


def take_memory(data: bytes) -> bytes:
    return bytes(int(data))


def send_garbage(data: bytes) -> bytes:
    """Write what is no reply to the socket that the command line names."""
    os.write(int(sys.argv[1]), b"\xff" * 100)
    return b""
