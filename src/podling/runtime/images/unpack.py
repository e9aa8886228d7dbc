"""One layer of an image: from a tar stream to a directory that overlayfs can use as a lower layer.

Invariants: nothing is written outside of the destination, whatever the archive says (names with
``..``, links that lead out, absolute names); what containers could see of ownership, modes, times,
extended attributes, hard links and devices is kept; a name deleted by the layer becomes overlayfs'
whiteout (a character device 0:0) and a replaced directory is marked opaque.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path
from typing import IO, BinaryIO, cast

from podling.files.trees import remove_tree
from podling.runtime.base import ImageFailure

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
AUFS_METADATA = ".wh..wh."
OPAQUE_ATTRIBUTE = "trusted.overlay.opaque"
_LINKS_MAX = 40
_XATTR = "SCHILY.xattr."


class _Hashing:
    """Passes reads on and hashes what went through."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        while self.read(1 << 20):
            pass
        return f"sha256:{self._hash.hexdigest()}"


def unpack(stream: BinaryIO, destination: Path) -> tuple[str, int]:
    """Unpack a layer, compressed or not, into an empty directory; returns its diff id and its size.

    Raises ``ImageFailure`` for an archive that is broken or tries to leave ``destination``.
    """
    hashing = _Hashing(decompressed(stream))
    layer = _Layer(destination)
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", hashing), mode="r|", bufsize=1 << 16) as archive:
            for entry in archive:
                layer.add(archive, entry)
    except (tarfile.TarError, EOFError, lzma.LZMAError) as error:
        raise ImageFailure(f"a layer of the image is broken: {error}") from error
    layer.finish()
    return hashing.digest(), layer.size


def decompressed(stream: BinaryIO) -> IO[bytes]:
    """The stream without its compression, which is recognised by its first bytes."""
    head = stream.read(6)
    stream.seek(-len(head), os.SEEK_CUR)
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    if head.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.BZ2File(stream))
    if head.startswith(b"\xfd7zXZ"):
        return cast("IO[bytes]", lzma.LZMAFile(stream))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd(stream)
    return stream


def _zstd(stream: BinaryIO) -> IO[bytes]:
    program = shutil.which("zstd")
    if program is None:
        raise ImageFailure("the image is compressed with zstd, and the zstd program is not installed")
    whole = subprocess.run([program, "-dc"], input=stream.read(), capture_output=True, check=False)
    if whole.returncode != 0:
        raise ImageFailure(f"a layer of the image is broken: {whole.stderr.decode(errors='replace').strip()}")
    import io

    return io.BytesIO(whole.stdout)


class _Layer:
    """The directory being filled."""

    def __init__(self, root: Path) -> None:
        self.root = os.fspath(root)
        self.size = 0
        self._directories: dict[str, tarfile.TarInfo] = {}

    def add(self, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        parts = _parts(entry.name)
        if not parts:
            if entry.isdir():
                self._directories[self.root] = entry
            return
        parent = self._directory(parts[:-1])
        name = parts[-1]
        if name.startswith(WHITEOUT):
            self._white_out(parent, name)
            return
        path = os.path.join(parent, name)
        self._make_way(path, entry)
        if entry.isdir():
            self._directories[path] = entry
            return
        self._create(archive, entry, path)
        if not entry.islnk():
            self._dress(path, entry)

    def _create(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, path: str) -> None:
        if entry.isfile():
            source = archive.extractfile(entry)
            if source is None:
                raise ImageFailure(f"a layer of the image is broken: {entry.name} has no content")
            with open(path, "xb") as file:
                shutil.copyfileobj(source, file, 1 << 18)
            self.size += entry.size
        elif entry.issym():
            os.symlink(entry.linkname, path)
        elif entry.islnk():
            target = self._existing(entry.linkname)
            os.link(target, path, follow_symlinks=False)
        elif entry.ischr() or entry.isblk():
            kind = stat.S_IFCHR if entry.ischr() else stat.S_IFBLK
            os.mknod(path, kind | 0o600, os.makedev(entry.devmajor, entry.devminor))
        elif entry.isfifo():
            os.mkfifo(path)
        else:
            raise ImageFailure(f"a layer of the image holds {entry.name}, which is of an unknown type")

    def _make_way(self, path: str, entry: tarfile.TarInfo) -> None:
        """A later entry replaces an earlier one of the same name, but directories merge."""
        try:
            mode = os.lstat(path)
        except FileNotFoundError:
            if entry.isdir():
                os.mkdir(path)
            return
        if entry.isdir() and stat.S_ISDIR(mode.st_mode):
            return
        if stat.S_ISDIR(mode.st_mode):
            remove_tree(Path(path))
            for known in [
                known for known in self._directories if known == path or known.startswith(path + "/")
            ]:
                del self._directories[known]
        else:
            os.unlink(path)
        if entry.isdir():
            os.mkdir(path)
            if stat.S_ISCHR(mode.st_mode) and mode.st_rdev == 0:
                os.setxattr(path, OPAQUE_ATTRIBUTE, b"y")

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
            os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
        elif os.path.isdir(path) and not os.path.islink(path):
            os.setxattr(path, OPAQUE_ATTRIBUTE, b"y")

    def _directory(self, parts: list[str]) -> str:
        """The directory for ``parts``, made where missing; links are followed inside the layer only."""
        path, links = self.root, 0
        todo = list(reversed(parts))
        while todo:
            part = todo.pop()
            if part == "..":
                path = os.path.dirname(path) if path != self.root else path
                continue
            following = os.path.join(path, part)
            try:
                mode = os.lstat(following)
            except FileNotFoundError:
                os.mkdir(following, 0o755)
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
                os.mkdir(following, 0o755)
                path = following
        return path

    def _existing(self, name: str) -> str:
        parts = _parts(name)
        path = os.path.join(self._directory(parts[:-1]), parts[-1]) if parts else self.root
        if not os.path.lexists(path) or (os.path.isdir(path) and not os.path.islink(path)):
            raise ImageFailure(f"a layer of the image is broken: hard link to {name}, which is not there")
        return path

    def _dress(self, path: str, entry: tarfile.TarInfo) -> None:
        """Owner, mode, extended attributes and times, in the order in which they do not undo each other."""
        os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
        if not entry.issym():
            os.chmod(path, stat.S_IMODE(entry.mode))
        for key, value in entry.pax_headers.items():
            if key.startswith(_XATTR):
                name = key.removeprefix(_XATTR)
                if not name.startswith("trusted.overlay."):
                    os.setxattr(path, name, value.encode("utf-8", "surrogateescape"), follow_symlinks=False)
        moment = max(0, int(entry.mtime * 1_000_000_000))
        os.utime(path, ns=(moment, moment), follow_symlinks=False)

    def finish(self) -> None:
        """Directories last, deepest first: filling them changed their times."""
        for path in sorted(self._directories, reverse=True):
            self._dress(path, self._directories[path])


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ImageFailure(f"a layer of the image tries to leave its directory: {name}")
    return parts
