"""Image archives: what ``docker save``, ``skopeo`` and ``podman`` write, and the directories of pulls.

Three layouts are read: a docker archive (``manifest.json`` that names layers inside), an OCI layout in
a tar (``index.json`` and ``blobs/``), and skopeo's ``dir:`` of one pulled manifest. Each becomes a list
of ``Found`` images that can open their layers; nothing is unpacked here. An archive with both docker's
and OCI's tables is read by docker's, which holds the tags.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from podling.runtime.base import ImageFailure
from podling.runtime.images import formats
from podling.runtime.images.unpack import decompressed

Opener = Callable[[], BinaryIO]
"""Opens one layer."""

NAME_ANNOTATIONS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One image of an archive."""

    configuration: bytes
    document: formats.ImageDocument
    names: tuple[str, ...] = ()
    manifest_digest: str = ""
    """Empty for a docker archive, which has no manifests of its own."""
    layers: tuple[Opener, ...] = ()
    """Lowest first."""


@contextmanager
def opened(path: Path, platform: formats.Platform, scratch: Path) -> Iterator[list[Found]]:
    """The images of the archive at ``path``; layers can be opened inside the context.

    Raises ``ImageFailure`` when it is no image archive.
    """
    with _as_plain_tar(path, scratch) as plain:
        try:
            archive = tarfile.open(plain, "r:")  # noqa: SIM115 - closed below
        except (tarfile.TarError, OSError) as error:
            raise ImageFailure(f"{path} is not an image archive: {error}") from error
        with archive:
            try:
                members = {member.name.removeprefix("./"): member for member in archive.getmembers()}
            except tarfile.TarError as error:
                raise ImageFailure(f"{path} is a broken image archive: {error}") from error
            reader = _Reader(archive, members)
            if "manifest.json" in members:
                yield _docker(reader)
            elif "index.json" in members:
                yield _layout(reader.read, reader.open, platform)
            else:
                raise ImageFailure(f"{path} is not an image archive: no manifest.json or index.json in it")


@contextmanager
def _as_plain_tar(path: Path, scratch: Path) -> Iterator[Path]:
    """Members are read in any order, so a compressed archive is first decompressed aside."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise ImageFailure(f"{path} cannot be read: {error.strerror}") from error
    with stream:
        plain = decompressed(stream)
        if plain is stream:
            yield path
            return
        with tempfile.NamedTemporaryFile(dir=scratch) as copy:
            try:
                shutil.copyfileobj(plain, copy, 1 << 20)
            except (OSError, EOFError) as error:
                raise ImageFailure(f"{path} is not an image archive: {error}") from error
            copy.flush()
            yield Path(copy.name)


class _Reader:
    def __init__(self, archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> None:
        self._archive = archive
        self._members = members

    def open(self, name: str) -> BinaryIO:
        member = self._members.get(name)
        content = self._archive.extractfile(member) if member else None
        if content is None:
            raise ImageFailure(f"the image archive is broken: {name} is missing")
        return cast(BinaryIO, content)

    def read(self, name: str) -> bytes:
        with self.open(name) as content:
            return content.read()


def _docker(reader: _Reader) -> list[Found]:
    found = []
    for entry in formats.decode_docker(reader.read("manifest.json")):
        configuration = reader.read(entry.config)
        found.append(
            Found(
                configuration=configuration,
                document=formats.decode_image(configuration),
                names=tuple(entry.repo_tags or ()),
                layers=tuple(_opener(reader.open, name) for name in entry.layers),
            )
        )
    return found


def _opener(open_: Callable[[str], BinaryIO], name: str) -> Opener:
    return lambda: open_(name)


def _layout(
    read: Callable[[str], bytes], open_: Callable[[str], BinaryIO], platform: formats.Platform
) -> list[Found]:
    """An OCI layout: every entry of its index, nested indexes resolved for ``platform``."""
    found = []
    for descriptor in formats.decode_manifest(read("index.json")).manifests or ():
        name = _annotated_name(descriptor.annotations or {})
        manifest = formats.decode_manifest(_blob(read, descriptor.digest))
        while manifest.manifests is not None:
            chosen = formats.choose_platform(manifest.manifests, platform)
            manifest = formats.decode_manifest(_blob(read, chosen.digest))
        found.append(_from_manifest(read, open_, manifest, descriptor.digest, name))
    return found


def _annotated_name(annotations: Mapping[str, str]) -> str:
    """The image's name; empty where the annotation holds a bare tag (``latest``), which names nothing."""
    names = [annotations[key] for key in NAME_ANNOTATIONS if key in annotations]
    return next((name for name in names if "/" in name or ":" in name), "")


def _from_manifest(
    read: Callable[[str], bytes],
    open_: Callable[[str], BinaryIO],
    manifest: formats.Manifest,
    digest: str,
    name: str,
) -> Found:
    if manifest.config is None:
        raise ImageFailure("the image manifest names no configuration")
    configuration = _blob(read, manifest.config.digest)
    return Found(
        configuration=configuration,
        document=formats.decode_image(configuration),
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

    manifest = formats.decode_manifest((directory / "manifest.json").read_bytes())
    return _from_manifest(
        lambda name: path(name).read_bytes(), lambda name: path(name).open("rb"), manifest, digest, ""
    )
