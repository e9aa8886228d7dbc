"""The file with the state of the parts: written by the supervisor, read by the parts and by commands.

It is written in place, so that a full disk does not keep news from it, and has a number at both ends, so that
a reader notices that it has read in the middle of a write.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import msgspec

from podling.cluster.processes.states import Snapshot
from podling.files.private import open_private

logger = logging.getLogger(__name__)

NAME = "podling.parts"
ROOM_BYTES = 16384
"""Written at the start, so that later writes need no space. More than enough for the parts of a machine."""
READS_MAX = 5


def encode(snapshot: Snapshot, number: int) -> bytes:
    """Return the content of the file. Pure."""
    mark = f"{number:020}\n".encode()
    return mark + msgspec.json.encode(snapshot) + b"\n" + mark


def decode(content: bytes) -> Snapshot | None:
    """Return the snapshot in the file, None where it was read in the middle of a write. Pure."""
    first, _, rest = content.partition(b"\n")
    body, _, rest = rest.partition(b"\n")
    last, _, _ = rest.partition(b"\n")
    if not first or first != last:
        return None
    try:
        return msgspec.json.decode(body, type=Snapshot)
    except msgspec.DecodeError:
        return None


class StateFile:
    """The file of one cluster, open in its supervisor and inherited by its parts."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._number = 0
        self._descriptor = self._open()
        self._written: Snapshot | None = None

    def _open(self) -> int:
        """Return a descriptor; where no file can be made, of memory: then only the parts can read it."""
        try:
            with open_private(self._path, "wb") as file:
                file.write(bytes(ROOM_BYTES))
            return os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            logger.warning("%s cannot be written, so commands do not see the parts: %s", self._path, error)
            return os.memfd_create(NAME)

    def write(self, snapshot: Snapshot) -> None:
        """Write the states if they are news."""
        if snapshot == self._written:
            return
        self._number += 1
        try:
            os.pwrite(self._descriptor, encode(snapshot, self._number), 0)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self._path, error)
            return
        self._written = snapshot

    def read(self) -> Snapshot | None:
        """Return the states as the supervisor wrote them last."""
        return _read(self._descriptor)

    def remove(self) -> None:
        os.close(self._descriptor)
        self._path.unlink(missing_ok=True)


def read_states(folder: Path) -> Snapshot | None:
    """Return the states of a running cluster's parts; None if it has none, or runs in one process."""
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Snapshot | None:
    for _ in range(READS_MAX):
        try:
            found = decode(os.pread(descriptor, ROOM_BYTES, 0))
        except OSError:
            return None
        if found is not None:
            return found
    return None
