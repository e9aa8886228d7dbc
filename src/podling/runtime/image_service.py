"""The images of one node, as every runtime offers them: CRI's image service with our own types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from msgspec import Struct


class Credentials(Struct, frozen=True, kw_only=True):
    """Credentials for an image's registry; the kubelet tries them in order."""

    username: str = ""
    password: str = ""
    identity_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that is here."""

    id: str
    """``sha256:...`` of its configuration."""
    tags: tuple[str, ...] = ()
    """Full names, ``docker.io/library/busybox:1.28``."""
    digests: tuple[str, ...] = ()
    """Full names with digest, ``docker.io/library/busybox@sha256:...``."""
    size_bytes: int = 0
    user: str = ""
    """The image's USER: empty, a UID or a name."""
    stop_signal: str = ""
    volumes: tuple[str, ...] = ()
    pinned: bool = False
    in_use: bool = field(default=False, compare=False)
    """Set by ``list_images``: containers of any node that shares these images hold it."""
    local: bool = field(default=False, compare=False)
    """Set by ``image_status``: the image got the name here, from a loaded archive or because it is built in.
    No
    registry has it, so no pull policy contacts one."""


class ImageService(Protocol):
    """The images of one node. Names are as users write them: ``busybox`` means
    ``docker.io/library/busybox:latest``.
    """

    async def image_status(self, name: str) -> Image | None:
        """Return the image by name, digest or id, or None. Raises ``ImageFailure`` (``InvalidImageName``)."""
        ...

    async def pull(self, name: str, credentials: Sequence[Credentials] = (), *, platform: str = "") -> Image:
        """Fetch an image, or refresh its tag. Raises ``ImageFailure``."""
        ...

    async def load(self, archive: Path, names: Sequence[str] = ()) -> tuple[Image, ...]:
        """Take in a docker or OCI archive; ``names`` tag its (only) image in place of the archive's
        own tags. Raises ``ImageFailure``."""
        ...

    async def list_images(self) -> tuple[Image, ...]: ...

    async def remove_image(self, name: str) -> None:
        """Remove a tag, and the image with its last one. Raises ``NotFound``."""
        ...
