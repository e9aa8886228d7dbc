"""Image archives: what ``docker save``, ``skopeo`` and ``podman`` write, and the directories of pulls.

Three layouts are read: a docker archive (``manifest.json`` that names layers inside), an OCI layout in
a tar (``index.json`` and ``blobs/``), and skopeo's ``dir:`` of one pulled manifest. Each becomes a list
of ``Found`` images that can open their layers; nothing is unpacked here. An archive with both docker's
and OCI's tables is read by docker's, which holds the tags.
"""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from msgspec import Struct

from podling.files.space import Space
from podling.runtime.base import ImageFailure
from podling.runtime.images import image_documents
from podling.runtime.images.compression import decompressed, is_compressed
from podling.runtime.images.tar import Entry, TarStream

Opener = Callable[[], BinaryIO]
"""Opens one layer."""

NAME_ANNOTATIONS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")

DOCUMENTS_BYTES_MAX = 64 << 20
"""The most that all documents of one archive may take; an image's are some 10 kB."""
ARCHIVE_HEADER_BYTES_MAX = 64 << 20
"""The most that an archive's own headers may take: it has one entry for each layer and document."""

_LINKS_MAX = 40
_CHUNK = 1 << 20


class Found(Struct, frozen=True, kw_only=True):
    """One image of an archive."""

    configuration: bytes
    document: image_documents.ImageDocument
    names: tuple[str, ...] = ()
    manifest_digest: str = ""
    """Empty for a docker archive, which has no manifests of its own."""
    layers: tuple[Opener, ...] = ()
    """Lowest first."""


@contextmanager
def opened(path: Path, platform: image_documents.Platform, scratch: Path) -> Iterator[list[Found]]:
    """The images of the archive at ``path``; layers can be opened inside the context.

    Raises ``ImageFailure`` when it is no image archive.
    """
    with _as_plain_tar(path, scratch) as plain:
        try:
            reader = _Reader(plain)
        except ImageFailure as error:
            raise ImageFailure(f"{path} is not an image archive: {error}") from error
        except OSError as error:
            raise ImageFailure(f"{path} cannot be read: {error.strerror}") from error
        if reader.has("manifest.json"):
            yield _docker(reader)
        elif reader.has("index.json"):
            yield _layout(reader.read, reader.open, platform)
        else:
            raise ImageFailure(f"{path} is not an image archive: no manifest.json or index.json in it")


@contextmanager
def _as_plain_tar(path: Path, scratch: Path) -> Iterator[Path]:
    """Members are read in any order, so a compressed archive is first decompressed aside."""
    try:
        stream = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: SIM115
    except OSError as error:
        raise ImageFailure(f"{path} cannot be read: {error.strerror}") from error
    with stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ImageFailure(f"{path} is not an image archive: it is no regular file")
        if not is_compressed(stream):
            yield path
            return
        with tempfile.NamedTemporaryFile(dir=scratch) as copy:
            space = Space(scratch)
            try:
                with decompressed(stream) as plain:
                    while data := plain.read(_CHUNK):
                        space.take(len(data))
                        copy.write(data)
                copy.flush()
            except (ImageFailure, OSError) as error:
                why = error.strerror if isinstance(error, OSError) else error
                raise ImageFailure(f"{path} cannot be decompressed: {why}") from error
            yield Path(copy.name)


class _Member(Struct, frozen=True):
    offset: int
    entry: Entry


class _Reader:
    """The members of a plain tar, by name; links among them are followed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._documents_left = DOCUMENTS_BYTES_MAX
        self._members: dict[str, _Member] = {}
        with path.open("rb") as file:
            archive = TarStream(
                file,
                header_bytes_max=ARCHIVE_HEADER_BYTES_MAX,
                pass_over=lambda size: file.seek(size, os.SEEK_CUR),
            )
            for entry in archive:
                self._members[_normal(entry.name)] = _Member(archive.position, entry)

    def has(self, name: str) -> bool:
        return name in self._members

    def open(self, name: str) -> BinaryIO:
        member = self._find(name)
        return cast(BinaryIO, io.BufferedReader(_Part(self._path, member.offset, member.entry.size)))

    def read(self, name: str) -> bytes:
        with self.open(name) as content:
            data = image_documents.read_document(content, name)
        self._documents_left -= len(data)
        if self._documents_left < 0:
            raise ImageFailure("the image archive's documents are too long together")
        return data

    def _find(self, name: str) -> _Member:
        """Return the member of that name. ``docker save`` links layers that several images have."""
        wanted = _normal(name)
        for _ in range(_LINKS_MAX):
            member = self._members.get(wanted)
            if member is None:
                break
            if member.entry.kind == b"0" and member.entry.extents is None:
                return member
            if member.entry.kind == b"2":
                wanted = _normal(posixpath.join(posixpath.dirname(wanted), member.entry.link))
            elif member.entry.kind == b"1":
                wanted = _normal(member.entry.link)
            else:
                break
        raise ImageFailure(f"the image archive is broken: {name} is missing")


def _normal(name: str) -> str:
    return posixpath.normpath(name.lstrip("/"))


class _Part(io.RawIOBase):
    """``size`` bytes of the file at ``path``, from ``offset`` on."""

    def __init__(self, path: Path, offset: int, size: int) -> None:
        self._file = path.open("rb", buffering=0)
        self._file.seek(offset)
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        count = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _docker(reader: _Reader) -> list[Found]:
    found = []
    for entry in image_documents.decode_docker(reader.read("manifest.json")):
        configuration = reader.read(entry.config)
        found.append(
            Found(
                configuration=configuration,
                document=image_documents.decode_image(configuration),
                names=tuple(entry.repo_tags or ()),
                layers=tuple(_opener(reader.open, name) for name in entry.layers),
            )
        )
    return found


def _opener(open_: Callable[[str], BinaryIO], name: str) -> Opener:
    return lambda: open_(name)


def _layout(
    read: Callable[[str], bytes], open_: Callable[[str], BinaryIO], platform: image_documents.Platform
) -> list[Found]:
    """Return an OCI layout: every entry of its index, nested indexes resolved for ``platform``."""
    found = []
    for descriptor in image_documents.decode_manifest(read("index.json")).manifests or ():
        name = _annotated_name(descriptor.annotations or {})
        manifest = image_documents.decode_manifest(_blob(read, descriptor.digest))
        for _ in range(image_documents.INDEX_DEPTH_MAX):
            if manifest.manifests is None:
                break
            chosen = image_documents.choose_platform(manifest.manifests, platform)
            manifest = image_documents.decode_manifest(_blob(read, chosen.digest))
        found.append(_from_manifest(read, open_, manifest, descriptor.digest, name))
    return found


def _annotated_name(annotations: Mapping[str, str]) -> str:
    """The image's name; empty where the annotation holds a bare tag (``latest``), which names nothing."""
    names = [annotations[key] for key in NAME_ANNOTATIONS if key in annotations]
    return next((name for name in names if "/" in name or ":" in name), "")


def _from_manifest(
    read: Callable[[str], bytes],
    open_: Callable[[str], BinaryIO],
    manifest: image_documents.Manifest,
    digest: str,
    name: str,
) -> Found:
    if manifest.config is None:
        raise ImageFailure("the image manifest names no configuration")
    configuration = _blob(read, manifest.config.digest)
    return Found(
        configuration=configuration,
        document=image_documents.decode_image(configuration),
        names=(name,) if name else (),
        manifest_digest=digest,
        layers=tuple(_opener(open_, _blob_path(layer.digest)) for layer in manifest.layers),
    )


def _blob_path(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    if algorithm not in ("sha256", "sha512") or not value.isalnum():
        raise ImageFailure(f"the image names a digest that is none: {digest!r}")
    return f"blobs/{algorithm}/{value}"


def _blob(read: Callable[[str], bytes], digest: str) -> bytes:
    data = read(_blob_path(digest))
    if hashlib.new(digest.partition(":")[0], data).hexdigest() != digest.partition(":")[2]:
        raise ImageFailure(f"the image archive is broken: the content of {digest} does not match")
    return data


def pulled(directory: Path, digest: str) -> Found:
    """The image that skopeo copied to ``directory`` (its ``dir:`` layout); ``digest`` is its name's."""

    def path(name: str) -> Path:
        return directory / name.rpartition("/")[2]

    def read(name: str) -> bytes:
        with path(name).open("rb") as file:
            return image_documents.read_document(file, name)

    manifest = image_documents.decode_manifest(read("manifest.json"))
    return _from_manifest(read, lambda name: path(name).open("rb"), manifest, digest, "")
