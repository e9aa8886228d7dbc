"""The identity of a cluster on its machine, and whether it belongs to the directory that it is found in.

The identity names cgroups, interfaces, nftables tables and state under /run. Two directories with the same
one would end each other's containers, so a copy needs one of its own. A directory keeps its identity when
it is renamed: its device and inode stay the same. After a restart of the machine devices may have other
numbers: then place and inode together count.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

import msgspec

FORMAT = 1
"""The format of the data directory as a whole; a newer one is refused."""

FILE = "identity.json"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a directory."""

    path: str
    device: int
    inode: int

    @staticmethod
    def of(path: Path) -> Place:
        """Return the place of an existing directory. Raises ``OSError``."""
        found = os.stat(path)
        return Place(path=str(path), device=found.st_dev, inode=found.st_ino)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of ``identity.json``: an identity, and the place where it was last used."""

    id: str
    place: Place
    format: int = FORMAT


class Standing(StrEnum):
    """The relation of an identity to the directory that contains it."""

    NEW = "new"
    SAME = "same"
    MOVED = "moved"
    COPIED = "copied"


def standing(recorded: Identity | None, here: Place) -> Standing:
    """Return how ``recorded`` belongs to the directory at ``here``."""
    if recorded is None:
        return Standing.NEW
    before = recorded.place
    if (before.path, before.inode) == (here.path, here.inode):
        return Standing.SAME
    if (before.device, before.inode) == (here.device, here.inode):
        return Standing.MOVED
    return Standing.COPIED


def read(directory: Path) -> Identity | None:
    """Return the identity found in a directory. Raises ``OSError`` or ``msgspec.DecodeError``."""
    try:
        return msgspec.json.decode((directory / FILE).read_bytes(), type=Identity)
    except FileNotFoundError:
        return None
