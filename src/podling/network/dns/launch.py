"""The arguments of the DNS process."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from podling.network.dns.messages import Endpoint

MODULE = "podling.network.dns.server_process"


class Launch(Struct, frozen=True):
    """The arguments of the process. ``descriptors`` are the sockets of ``endpoints``."""

    directory: str
    build: str
    domain: str
    networks: tuple[str, ...]
    """The ranges of pods' addresses, whose questions are answered."""
    endpoints: tuple[Endpoint, ...]
    descriptors: tuple[int, ...]
    resolv_conf: str = ""
    """The file with the node's own servers, until the settings name it."""


def build_of(*settings: str) -> str:
    """Return the mark of this code with these settings.

    A process with another build is replaced when the node starts.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    for each in settings:
        digest.update(f"{each}\n".encode())
    return digest.hexdigest()[:16]
