"""The subnets of this machine's nodes, also while their bridges are missing.

Routes show the subnets in use only as long as the bridges exist. A node that starts at such a
moment would take the subnet of another, whose repaired bridge then has the same route. So each node keeps
a file with its subnet. The file counts while the node's own state is there: both are below /run, and the
remains of a vanished node block no other.
"""

from __future__ import annotations

import os
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path

DIRECTORY = Path("/run/podling-subnets")


def reserve(name: str, subnet: IPv4Network, state: Path, directory: Path = DIRECTORY) -> None:
    """Keep ``subnet`` for the node ``name`` as long as ``state`` exists. Raises ``OSError``."""
    directory.mkdir(mode=0o700, exist_ok=True)
    fresh = directory / f".{name}"
    fresh.write_bytes(f"{subnet}\n".encode() + os.fsencode(state))
    fresh.replace(directory / name)


def release(name: str, directory: Path = DIRECTORY) -> None:
    """Give the subnet of the node ``name`` up. Raises ``OSError``."""
    (directory / name).unlink(missing_ok=True)


def reserved_by_others(name: str, directory: Path = DIRECTORY) -> list[IPv4Network]:
    """Return the subnets of all nodes but ``name``. Raises ``OSError``."""
    found = []
    with suppress(FileNotFoundError):
        for file in sorted(directory.iterdir()):
            if file.name == name or file.name.startswith("."):
                continue
            subnet, _, state = file.read_bytes().partition(b"\n")
            with suppress(ValueError):
                if os.path.exists(state):
                    found.append(IPv4Network(subnet.decode()))
    return found
