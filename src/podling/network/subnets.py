"""The subnets of this machine's nodes, also while their bridges are missing.

Routes show the subnets in use only as long as the bridges exist. A node that starts at such a
moment would take the subnet of another, whose repaired bridge then has the same route. So each node keeps
a file with its subnet. The file counts while the node's own state is there: both are below /run, and the
remains of a vanished node block no other.
"""

from __future__ import annotations

import os
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path

from podling.machinery.network_ranges import Network

DIRECTORY = Path("/run/podling-subnets")
_IPV6 = ".ipv6"


def reserve(name: str, subnet: Network, state: Path, directory: Path = DIRECTORY) -> None:
    """Keep ``subnet`` for the node ``name`` as long as ``state`` exists, in place of its last one of the same
    family. Raises ``OSError``."""
    directory.mkdir(mode=0o700, exist_ok=True)
    file = directory / _file_name(name, subnet.version)
    fresh = directory / f".{file.name}"
    fresh.write_bytes(f"{subnet}\n".encode() + os.fsencode(state))
    fresh.replace(file)


def _file_name(name: str, version: int) -> str:
    return name if version == 4 else f"{name}{_IPV6}"


def release(name: str, directory: Path = DIRECTORY) -> None:
    """Give the subnets of the node ``name`` up. Raises ``OSError``."""
    for version in (4, 6):
        (directory / _file_name(name, version)).unlink(missing_ok=True)


def reserved_by_others(name: str, directory: Path = DIRECTORY) -> list[Network]:
    """Return the subnets of all nodes but ``name``. Raises ``OSError``."""
    found = []
    with suppress(FileNotFoundError):
        for file in sorted(directory.iterdir()):
            if file.name.removesuffix(_IPV6) == name or file.name.startswith("."):
                continue
            subnet, _, state = file.read_bytes().partition(b"\n")
            with suppress(ValueError):
                if os.path.exists(state):
                    found.append(ip_network(subnet.decode()))
    return found
