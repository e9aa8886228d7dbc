"""Directories with the data of provisioned volumes, one each.

A volume is a directory whose files pods see, or a directory with a disk image (``files.disk_images``),
which limits its size or is a block device. No other module of the controllers touches files, so only this
one must run on the machine that the nodes share. ``NoFolders`` stands in where nothing is written at all
(simulations).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from podling.files.copies import copy_contents
from podling.files.disk_images import (
    BLOCK,
    copy_bytes,
    detach_image,
    enlarge_image,
    make_image,
    missing_for_images,
    mounted_image,
)
from podling.files.trees import remove_tree
from podling.machinery.volume_images import IMAGE_FILE


class Folders(Protocol):
    """Makes and removes the folders of volumes."""

    def path(self, name: str) -> Path:
        """Return the path of the volume ``name``."""
        ...

    def lack(self) -> str:
        """Return the reason why there can be no images here; empty if there can."""
        ...

    async def has(self, name: str) -> bool:
        """Return whether the folder exists. Raises ``OSError``."""
        ...

    async def make(self, name: str, source: str = "", source_image: str = "") -> None:
        """Make the folder, writable by every user of the containers. Raises ``OSError``.

        ``source``: the volume whose files it gets; ``source_image``: the kind of its image, if it is one.
        """
        ...

    async def make_image(
        self, name: str, size_bytes: int, kind: str, source: str = "", source_image: str = ""
    ) -> None:
        """Make the folder with an image of this kind. Raises ``OSError``."""
        ...

    async def enlarge(self, name: str, size_bytes: int) -> None:
        """Enlarge the image in the folder. Raises ``OSError``."""
        ...

    async def remove(self, name: str, image: str = "") -> None:
        """Remove the folder with everything in it; one that is gone is no error. Raises ``OSError``.

        ``image``: the kind of its image, if it has one.
        """
        ...


class VolumeFolders:
    """Folders right below ``root``, which is made on first use."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, name: str) -> Path:
        if not name or name in (".", "..") or "/" in name:
            raise ValueError(f"not the name of a volume: {name!r}")
        return self._root / name

    def lack(self) -> str:
        return missing_for_images()

    async def has(self, name: str) -> bool:
        return await asyncio.to_thread(self.path(name).is_dir)

    async def make(self, name: str, source: str = "", source_image: str = "") -> None:
        await asyncio.to_thread(self._make, self.path(name), source, source_image)

    async def make_image(
        self, name: str, size_bytes: int, kind: str, source: str = "", source_image: str = ""
    ) -> None:
        await asyncio.to_thread(self._make_image, self.path(name), size_bytes, kind, source, source_image)

    async def enlarge(self, name: str, size_bytes: int) -> None:
        await asyncio.to_thread(enlarge_image, self.path(name) / IMAGE_FILE, size_bytes)

    async def remove(self, name: str, image: str = "") -> None:
        await asyncio.to_thread(self._remove, self.path(name), image)

    def _make(self, path: Path, source: str, source_image: str) -> None:
        if not source:
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777)
            return
        if path.is_dir():
            return  # it was complete when it took its place
        fresh = self._fresh(path)
        with self._files_of(source, source_image, path.name) as files:
            _copy(files, fresh)
        fresh.chmod(0o777)
        fresh.replace(path)

    def _make_image(self, path: Path, size_bytes: int, kind: str, source: str, source_image: str) -> None:
        if (path / IMAGE_FILE).exists():
            return
        fresh = self._fresh(path)
        fresh.chmod(0o700)
        image = fresh / IMAGE_FILE
        make_image(image, size_bytes, kind)
        if source and kind == BLOCK:
            copy_bytes(self.path(source) / IMAGE_FILE, image)
        elif source:
            with (
                self._files_of(source, source_image, path.name) as files,
                mounted_image(image, self._mount_point(path.name, "target")) as target,
            ):
                _copy(files, target)
        fresh.replace(path)

    def _fresh(self, path: Path) -> Path:
        """Make an empty directory beside ``path``, whose place it takes when it is complete."""
        fresh = path.with_name(f".{path.name}.new")
        remove_tree(fresh)
        fresh.mkdir(parents=True)
        return fresh

    @contextmanager
    def _files_of(self, source: str, image: str, name: str) -> Iterator[Path]:
        """Yield a directory with the files of the volume ``source`` while the volume ``name`` gets them."""
        path = self.path(source)
        if not image:
            yield path
            return
        with mounted_image(path / IMAGE_FILE, self._mount_point(name, "source")) as files:
            yield files

    def _mount_point(self, name: str, use: str) -> Path:
        return self._root / f".{name}.{use}"

    @staticmethod
    def _remove(path: Path, image: str) -> None:
        if path.is_symlink():  # not ours: we make folders, and follow nothing out of our root
            path.unlink()
        else:
            if image:
                detach_image(path / IMAGE_FILE)
            remove_tree(path)


def _copy(source: Path, target: Path) -> None:
    opened = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        copy_contents(opened, target)
    finally:
        os.close(opened)


class NoFolders:
    """Names folders and touches none."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, name: str) -> Path:
        return self._root / name

    def lack(self) -> str:
        return ""

    async def has(self, name: str) -> bool:
        return True

    async def make(self, name: str, source: str = "", source_image: str = "") -> None:
        return

    async def make_image(
        self, name: str, size_bytes: int, kind: str, source: str = "", source_image: str = ""
    ) -> None:
        return

    async def enlarge(self, name: str, size_bytes: int) -> None:
        return

    async def remove(self, name: str, image: str = "") -> None:
        return
