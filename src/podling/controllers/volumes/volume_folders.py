"""Directories with the data of provisioned volumes, one each.

No other module of the controllers touches files, so only this one must run on the machine that the nodes
share. ``NoFolders`` stands in where nothing is written at all (simulations).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from podling.files.trees import remove_tree


class Folders(Protocol):
    """Makes and removes the folders of volumes."""

    def path(self, name: str) -> Path:
        """Return the path of the volume ``name``."""
        ...

    async def make(self, name: str) -> None:
        """Make the folder, writable by every user of the containers. Raises ``OSError``."""
        ...

    async def remove(self, name: str) -> None:
        """Remove the folder with everything in it; one that is gone is no error. Raises ``OSError``."""
        ...


class VolumeFolders:
    """Folders right below ``root``, which is made on first use."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, name: str) -> Path:
        if not name or name in (".", "..") or "/" in name:
            raise ValueError(f"not the name of a volume: {name!r}")
        return self._root / name

    async def make(self, name: str) -> None:
        await asyncio.to_thread(self._make, self.path(name))

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(self._remove, self.path(name))

    @staticmethod
    def _make(path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)

    @staticmethod
    def _remove(path: Path) -> None:
        if path.is_symlink():  # not ours: we make folders, and follow nothing out of our root
            path.unlink()
        else:
            remove_tree(path)


class NoFolders:
    """Names folders and touches none."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, name: str) -> Path:
        return self._root / name

    async def make(self, name: str) -> None:
        return

    async def remove(self, name: str) -> None:
        return
