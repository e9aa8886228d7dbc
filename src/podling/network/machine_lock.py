"""The lock of this machine under which nodes choose subnets and make their bridges.

Nodes that start together see each other's subnets, because each chooses and makes its bridge under the lock.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from podling import clock
from podling.files import locks
from podling.runtime.base import RuntimeFailure

LOCK = Path("/run/podling-subnets.lock")
_SECONDS = 10.0
"""Nodes hold the lock for milliseconds; a longer holder is no working node."""
_RETRY_SECONDS = 0.02


@asynccontextmanager
async def machine_lock(file: Path = LOCK) -> AsyncIterator[None]:
    """Hold the lock within the block.

    Raises ``RuntimeFailure`` when another process holds it for too long.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(descriptor, 0o600)  # a process that can open the file can hold its lock
        given_up = clock.monotonic() + _SECONDS
        while not _is_locked_now(descriptor):
            if clock.monotonic() > given_up:
                pid = locks.holder_of(descriptor)
                holder = f"process {pid} ({locks.name_of(pid)})" if pid else "another process"
                raise RuntimeFailure(f"{file} is held by {holder}, so no pod subnet can be chosen")
            await clock.sleep(_RETRY_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _is_locked_now(descriptor: int) -> bool:
    """Take the lock if it is free; return whether it was."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
