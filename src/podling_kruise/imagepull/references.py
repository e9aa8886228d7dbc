"""Names of images as NodeImages have them: a familiar name, and a tag or digest. Pure.

Upstream: ``NormalizeImageRefToNameTag`` of ``pkg/daemon/util``, over distribution's ``reference``.
"""

from __future__ import annotations

import re

HUB, LEGACY_HUB, LIBRARY = "docker.io", "index.docker.io", "library/"
NAME_LENGTH_MAX = 255
_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = re.compile(rf"(?:{_PART}(?:\.{_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")


class InvalidReference(ValueError):
    """A text that names no image."""


def name_and_tag(reference: str) -> tuple[str, str]:
    """Return the familiar name of an image, and its digest or tag; without either ``latest``.

    Raises ``InvalidReference``.
    """
    rest, at, digest = reference.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise InvalidReference("invalid reference format")
    domain, path = _split(rest)
    tag = ""
    colon = path.rfind(":")
    if colon > path.rfind("/"):
        path, tag = path[:colon], path[colon + 1 :]
        if not _TAG.fullmatch(tag):
            raise InvalidReference("invalid reference format")
    if path != path.lower():
        raise InvalidReference(f"invalid reference format: repository name ({path}) must be lowercase")
    if not _PATH.fullmatch(path) or not _DOMAIN.fullmatch(domain):
        raise InvalidReference("invalid reference format")
    if len(domain) + 1 + len(path) > NAME_LENGTH_MAX:
        raise InvalidReference(f"repository name must not be more than {NAME_LENGTH_MAX} characters")
    name = path.removeprefix(LIBRARY) if domain == HUB else f"{domain}/{path}"
    return name, digest or tag or "latest"


def _split(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        return HUB, name
    return (HUB if first == LEGACY_HUB else first), rest


def full_reference(name: str, tag: str) -> str:
    """Return what is pulled for a name and a tag or digest."""
    return f"{name}@{tag}" if ":" in tag else f"{name}:{tag}"
