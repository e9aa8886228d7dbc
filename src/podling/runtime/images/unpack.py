"""One layer of an image: from a tar stream to a directory that overlayfs can use as a lower layer.

Invariants: nothing is written outside of the destination, for any archive (names with ``..``, links that
lead out, absolute names); ownership, modes, times, extended attributes, hard links and devices are kept as
far as containers see them; a name deleted by the layer becomes overlayfs' whiteout (a character device 0:0)
and a replaced directory is marked opaque.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

from podling.files.space import Space
from podling.files.trees import remove_tree
from podling.runtime.failures import ImageFailure
from podling.runtime.images.compression import Source, decompressed
from podling.runtime.images.tar import ENTRIES_MAX, Entry, TarStream

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
AUFS_METADATA = ".wh..wh."
OPAQUE_ATTRIBUTE = "trusted.overlay.opaque"

STEPS_MAX = 20_000_000
"""The most directories on the way to all entries of a layer together."""
DIRECTORY_NAMES_BYTES_MAX = 128 << 20
"""The most bytes of paths of a layer's directories together: they are kept until the end."""

_LINKS_MAX = 40
_CHUNK = 1 << 18


class _Hashing:
    """Passes reads on and hashes what went through."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


def unpack(stream: BinaryIO, destination: Path) -> tuple[str, int]:
    """Unpack a layer, compressed or not, into an empty directory; returns its diff id and its size.

    Nothing is held in memory but the paths of the layer's directories. Raises ``ImageFailure`` for an
    archive that is broken, exceeds a limit or tries to leave ``destination``, and when the disk is full;
    unpacked files stay.
    """
    try:
        with decompressed(stream) as plain:
            hashing = _Hashing(plain)
            layer = _Layer(destination)
            archive = TarStream(hashing)
            for entry in archive:
                layer.add(archive, entry)
            archive.drain()
            layer.finish()
            return hashing.digest(), layer.size
    except OSError as error:
        raise ImageFailure(f"a layer of the image cannot be unpacked: {error.strerror or error}") from error


class _Layer:
    """The directory being filled."""

    def __init__(self, root: Path) -> None:
        self.root = os.fspath(root)
        self.size = 0
        self._space = Space(root)
        self._made = 0
        self._steps = 0
        self._names_bytes = 0
        self._directories: dict[str, tuple[int, int]] = {}
        """Mode and time of those that the archive describes."""

    def add(self, archive: TarStream, entry: Entry) -> None:
        parts = _parts(entry.name)
        if not parts:
            if entry.kind == b"5":
                self._describe(self.root, entry)
            return
        parent = self._directory(parts[:-1])
        name = parts[-1]
        if name.startswith(WHITEOUT):
            self._white_out(parent, name)
            return
        path = os.path.join(parent, name)
        self._make_way(path, entry)
        if entry.kind == b"5":
            self._describe(path, entry)
            return
        self._count()
        self._create(archive, entry, path)
        if entry.kind != b"1":
            self._own(path, entry)
            if entry.kind != b"2":
                os.chmod(path, entry.mode)
            os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)

    def _count(self) -> None:
        """Count one more name, and stop before the file system is full of them."""
        self._made += 1
        if self._made > ENTRIES_MAX:
            raise ImageFailure(f"a layer of the image has more than {ENTRIES_MAX} files")
        self._space.take(0, 1)

    def _describe(self, path: str, entry: Entry) -> None:
        """Note what a directory gets in the end: filling it would change its time, and may need its mode."""
        if path not in self._directories:
            self._names_bytes += len(path)
            if self._names_bytes > DIRECTORY_NAMES_BYTES_MAX:
                raise ImageFailure("the names of a layer's directories are too long")
        self._directories[path] = (entry.mode, entry.mtime_ns)
        self._own(path, entry)

    def _create(self, archive: TarStream, entry: Entry, path: str) -> None:
        if entry.kind == b"0":
            self._write(archive, entry, path)
        elif entry.kind == b"2":
            os.symlink(entry.link, path)
        elif entry.kind == b"1":
            os.link(self._existing(entry.link), path, follow_symlinks=False)
        elif entry.kind in (b"3", b"4"):
            kind = stat.S_IFCHR if entry.kind == b"3" else stat.S_IFBLK
            os.mknod(path, kind | 0o600, os.makedev(*entry.device))
        elif entry.kind == b"6":
            os.mkfifo(path)
        else:
            raise ImageFailure(f"a layer of the image holds {entry.name}, which is of an unknown type")

    def _write(self, archive: TarStream, entry: Entry, path: str) -> None:
        """The content of a regular file; holes of a sparse one stay holes."""
        with open(path, "xb", buffering=0) as file:
            for offset, size in entry.extents if entry.extents is not None else ((0, entry.size),):
                file.seek(offset)
                while size:
                    data = archive.read(min(size, _CHUNK))
                    self._space.take(len(data))
                    size -= file.write(data)
            if entry.extents is not None:
                file.truncate(entry.length)
        self.size += entry.size

    def _make_way(self, path: str, entry: Entry) -> None:
        """A later entry replaces an earlier one of the same name, but directories merge."""
        directory = entry.kind == b"5"
        try:
            mode = os.lstat(path)
        except FileNotFoundError:
            if directory:
                self._make_directory(path)
            return
        if directory and stat.S_ISDIR(mode.st_mode):
            return
        if stat.S_ISDIR(mode.st_mode):
            self._forget(path)
            remove_tree(Path(path))
        else:
            os.unlink(path)
        if directory:
            self._make_directory(path)
            if stat.S_ISCHR(mode.st_mode) and mode.st_rdev == 0:
                os.setxattr(path, OPAQUE_ATTRIBUTE, b"y")

    def _make_directory(self, path: str) -> None:
        self._count()
        os.mkdir(path, 0o755)

    def _forget(self, path: str) -> None:
        """Drop what is noted of the directory ``path`` and those in it, which are to go."""
        waiting = [path]
        while waiting:
            here = waiting.pop()
            if self._directories.pop(here, None) is not None:
                self._names_bytes -= len(here)
            with os.scandir(here) as entries:
                waiting.extend(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))

    def _white_out(self, parent: str, name: str) -> None:
        if name == OPAQUE:
            os.setxattr(parent, OPAQUE_ATTRIBUTE, b"y")
            return
        if name.startswith(AUFS_METADATA):
            return
        path = os.path.join(parent, name.removeprefix(WHITEOUT))
        if os.path.dirname(path) != parent or os.path.basename(path) in ("", ".", ".."):
            raise ImageFailure(f"a layer of the image tries to delete {name!r}")
        if not os.path.lexists(path):
            self._count()
            os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
        elif os.path.isdir(path) and not os.path.islink(path):
            os.setxattr(path, OPAQUE_ATTRIBUTE, b"y")

    def _directory(self, parts: list[str]) -> str:
        """The directory for ``parts``, made where missing; links are followed inside the layer only."""
        path, links = self.root, 0
        todo = list(reversed(parts))
        while todo:
            part = todo.pop()
            self._steps += 1
            if self._steps > STEPS_MAX:
                raise ImageFailure("a layer of the image nests its directories too deep")
            if part == "..":
                path = os.path.dirname(path) if path != self.root else path
                continue
            following = os.path.join(path, part)
            try:
                mode = os.lstat(following)
            except FileNotFoundError:
                self._make_directory(following)
                path = following
                continue
            if stat.S_ISLNK(mode.st_mode):
                links += 1
                if links > _LINKS_MAX:
                    raise ImageFailure(f"a layer of the image has a loop of links at {'/'.join(parts)}")
                target = os.readlink(following)
                path = self.root if target.startswith("/") else path
                todo.extend(reversed([step for step in target.split("/") if step not in ("", ".")]))
            elif stat.S_ISDIR(mode.st_mode):
                path = following
            else:  # an earlier entry said it is no directory: the later one is right
                os.unlink(following)
                self._make_directory(following)
                path = following
        return path

    def _existing(self, name: str) -> str:
        parts = _parts(name)
        path = os.path.join(self._directory(parts[:-1]), parts[-1]) if parts else self.root
        if not os.path.lexists(path) or (os.path.isdir(path) and not os.path.islink(path)):
            raise ImageFailure(f"a layer of the image is broken: hard link to {name}, which is not there")
        return path

    def _own(self, path: str, entry: Entry) -> None:
        """Owner and extended attributes, in this order: chown takes capabilities away."""
        os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
        for name, value in entry.attributes.items():
            if "\0" in name or name.startswith("trusted.overlay."):
                continue
            try:
                os.setxattr(path, name, value, follow_symlinks=False)
            except OSError as error:
                if error.errno != errno.ENOTSUP:  # the file system knows no such attributes, as in containerd
                    raise

    def finish(self) -> None:
        """Directories last, deepest first: filling them changed their times."""
        for path in sorted(self._directories, reverse=True):
            mode, moment = self._directories[path]
            os.chmod(path, mode)
            os.utime(path, ns=(moment, moment))


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ImageFailure(f"a layer of the image tries to leave its directory: {name}")
    return parts
