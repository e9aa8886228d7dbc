"""The journal of the DNS process: the messages that its records came from, in a file.

After its own end the process starts from it, without the node's process and without the API server. The file
is on a file system in memory; a reboot, which ends every pod too, may delete it. An unfinished frame at its
end is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress

from podling.network.dns.messages import Frames, Garbage

SLACK_BYTES = 1024 * 1024
"""The journal may grow by this and the size of what it began with before it is written anew."""
_READ_BYTES = 256 * 1024


class Journal:
    """One file of frames. All calls raise ``OSError``."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1
        self._size = 0
        self._compact_size = 0

    def frames(self) -> Iterator[bytes]:
        """Yield every frame's content, in the order in which they were written."""
        frames = Frames()
        try:
            with open(self._path, "rb") as file:
                while data := file.read(_READ_BYTES):
                    yield from frames.feed(data)
        except (FileNotFoundError, Garbage):
            return

    def append(self, data: bytes) -> None:
        """Write one frame, its length included."""
        if self._file >= 0:
            os.write(self._file, data)
            self._size += len(data)

    @property
    def is_long(self) -> bool:
        return self._size > 2 * self._compact_size + SLACK_BYTES

    def rewriting(self, frames: Iterable[bytes]) -> Generator[None, None, None]:
        """Replace the journal by one with only these frames, in steps, and go on with that.

        Nothing may be appended between the steps. The earlier journal stays until the last one.
        """
        fresh = f"{self._path}.new"
        size = 0
        with suppress(FileNotFoundError):
            os.unlink(fresh)  # it may be another user's
        with open(fresh, "wb") as file:
            for each in frames:
                size += file.write(each)
                yield
        os.replace(fresh, self._path)
        self.close()
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._size = self._compact_size = size

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
