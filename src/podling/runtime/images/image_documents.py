"""The documents images are made of: configurations, manifests and indexes, docker's and OCI's.

Only the fields that decide something are named. Docker's and OCI's forms differ in media types alone,
so one struct reads both. Source: the OCI image specification 1.1 and docker's image specification 1.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from podling.runtime.base import ImageFailure

T = TypeVar("T")

DOCUMENT_BYTES_MAX = 4 << 20
"""The most that a manifest, an index or a configuration may take (containerd's ``MaxManifestSize``,
``iolimits`` of containers/image)."""

INDEX_DEPTH_MAX = 4
"""The most indexes that may lead to a manifest. Builders write one, seldom two."""

LAYERS_MAX = 150
"""The most layers that an image may have: mount(2) takes one page of options, which names about so many.
Docker builds no image of more than 125."""


class RunConfig(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Defaults for an image's containers (``config`` of its configuration)."""

    user: str | None = None
    env: list[str] | None = None
    entrypoint: list[str] | None = None
    cmd: list[str] | None = None
    working_dir: str | None = None
    stop_signal: str | None = None
    volumes: dict[str, dict[str, str]] | None = None
    labels: dict[str, str] | None = None


class RootFs(Struct, frozen=True, kw_only=True):
    diff_ids: list[str] = []


class ImageDocument(Struct, frozen=True, kw_only=True):
    """An image's configuration; the digest of its bytes is the image's id."""

    architecture: str = ""
    os: str = "linux"
    variant: str = ""
    config: RunConfig | None = None
    rootfs: RootFs = RootFs()


class Platform(Struct, frozen=True, kw_only=True):
    architecture: str = ""
    os: str = ""
    variant: str = ""


class Descriptor(Struct, frozen=True, kw_only=True, rename="camel"):
    media_type: str = ""
    digest: str = ""
    size: int = 0
    platform: Platform | None = None
    annotations: dict[str, str] | None = None


class Manifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """A manifest or an index, distinguished by ``manifests``."""

    media_type: str = ""
    config: Descriptor | None = None
    layers: list[Descriptor] = []
    manifests: list[Descriptor] | None = None


class DockerEntry(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One image of a docker archive's ``manifest.json``."""

    config: str
    repo_tags: list[str] | None = None
    layers: list[str] = []


def read_document(stream: BinaryIO, what: str) -> bytes:
    """Read a manifest, an index or a configuration to its end. Raises ``ImageFailure`` if it is too long."""
    data = stream.read(DOCUMENT_BYTES_MAX + 1)
    if len(data) > DOCUMENT_BYTES_MAX:
        raise ImageFailure(f"{what} is longer than {DOCUMENT_BYTES_MAX} bytes")
    return data


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def decode_image(data: bytes) -> ImageDocument:
    return _decode(data, ImageDocument, "image configuration")


def decode_manifest(data: bytes) -> Manifest:
    return _decode(data, Manifest, "image manifest")


def decode_docker(data: bytes) -> list[DockerEntry]:
    return _decode(data, list[DockerEntry], "manifest.json")


def _decode(data: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise ImageFailure(f"{what} cannot be read: {error}") from error


def parse_platform(text: str, architecture: str) -> Platform:
    """``linux/arm64/v8`` in parts; empty means linux on ``architecture``."""
    parts = (text or f"linux/{architecture}").split("/")
    return Platform(
        os=parts[0],
        architecture=parts[1] if len(parts) > 1 else architecture,
        variant=parts[2] if len(parts) > 2 else "",
    )


def choose_platform(entries: Sequence[Descriptor], wanted: Platform) -> Descriptor:
    """Return the entry of an index that runs on ``wanted``. Raises ``ImageFailure`` that lists what there is.

    An exact variant wins over an entry without one, which wins over any other of the architecture;
    entries that are no images (attestations, platform ``unknown``) are passed over.
    """
    images = [entry for entry in entries if entry.platform and entry.platform.os != "unknown"]
    if not images and len(entries) == 1:
        return entries[0]
    fitting = [
        entry
        for entry in images
        if entry.platform
        and entry.platform.os == wanted.os
        and entry.platform.architecture == wanted.architecture
    ]
    if not fitting:
        have = ", ".join(sorted({platform_name(entry.platform) for entry in images if entry.platform}))
        raise ImageFailure(
            f"no match for platform {platform_name(wanted)} in the image's index: it has {have}"
        )
    return min(fitting, key=lambda entry: _variant_rank(entry.platform, wanted))


def _variant_rank(have: Platform | None, wanted: Platform) -> int:
    variant = have.variant if have else ""
    if variant == wanted.variant:
        return 0
    return 1 if not variant else 2


def platform_name(platform: Platform) -> str:
    return "/".join(filter(None, (platform.os, platform.architecture, platform.variant)))
