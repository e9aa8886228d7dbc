"""Image names: from what users write to one full spelling, so that equal images compare equal.

``busybox`` is ``docker.io/library/busybox:latest``; a name with a digest keeps it and gets no tag of
its own. The grammar and its messages are distribution's reference package's.
"""

from __future__ import annotations

import re

from msgspec import Struct

from podling.runtime.base import ImageFailure

DEFAULT_DOMAIN = "docker.io"
LEGACY_DOMAIN = "index.docker.io"
NAME_LENGTH_MAX = 255

_DOMAIN = re.compile(
    r"(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
    r"(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
)
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}")
_ID = re.compile(r"(?:sha256:)?([a-f0-9]{64})")


class Reference(Struct, frozen=True):
    """A parsed image name. ``tag`` and ``digest`` are empty where not given."""

    domain: str
    path: str
    tag: str = ""
    digest: str = ""

    @property
    def repository(self) -> str:
        """``docker.io/library/busybox``."""
        return f"{self.domain}/{self.path}"

    @property
    def full(self) -> str:
        """The one spelling: with the digest where there is one, else with the tag."""
        if self.digest:
            return f"{self.repository}@{self.digest}"
        return f"{self.repository}:{self.tag}"

    def at(self, digest: str) -> str:
        """This repository's name for ``digest``."""
        return f"{self.repository}@{digest}"


def image_id(name: str) -> str:
    """``name`` as an image id (``sha256:...``) if it is one, else ``""``."""
    found = _ID.fullmatch(name)
    return f"sha256:{found.group(1)}" if found else ""


def parse(name: str) -> Reference:
    """Parse and complete ``name``. Raises ``ImageFailure`` with reason ``InvalidImageName``."""
    rest, at, digest = name.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise _invalid(name, "invalid reference format")
    if _ID.fullmatch(rest) and not at:
        raise _invalid(name, f"invalid repository name ({rest}), cannot specify 64-byte hexadecimal strings")
    domain, path = _split_domain(rest)
    colon = path.rfind(":")
    tag = ""
    if colon > path.rfind("/"):
        path, tag = path[:colon], path[colon + 1 :]
        if not _TAG.fullmatch(tag):
            raise _invalid(name, "invalid reference format")
    if domain == DEFAULT_DOMAIN and "/" not in path:
        path = f"library/{path}"
    if path.lower() != path:
        raise _invalid(name, f"invalid reference format: repository name ({path}) must be lowercase")
    if not _PATH.fullmatch(path) or not _DOMAIN.fullmatch(domain):
        raise _invalid(name, "invalid reference format")
    if len(domain) + 1 + len(path) > NAME_LENGTH_MAX:
        raise _invalid(name, f"repository name must not be more than {NAME_LENGTH_MAX} characters")
    return Reference(domain, path, tag or ("" if digest else "latest"), digest)


def _split_domain(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost" or first.lower() != first):
        return DEFAULT_DOMAIN, name
    return (DEFAULT_DOMAIN if first == LEGACY_DOMAIN else first), rest


def _invalid(name: str, why: str) -> ImageFailure:
    return ImageFailure(f'couldn\'t parse image name "{name}": {why}', "InvalidImageName")
