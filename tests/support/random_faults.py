"""Faults of a node: full or write-protected file systems, no descriptors, no network."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random  # noqa: TID251
from urllib.parse import urlsplit

import yaml

from podling.cluster.directory import DataDirectory
from podling.network.names import Names
from podling.node.machine import node_names
from tests.support.clusters import RealCluster
from tests.support.small_disks import SmallDisk

MB = 1 << 20
FREE_DESCRIPTORS = 10
CONNECTIONS = 40

Fault = Callable[[], None]
"""A function that begins or ends a fault."""


class FaultyNode:
    """A cluster of one node whose data, images and logs are on small file systems of their own."""

    def __init__(self, folder: Path) -> None:
        data = folder / "data"
        (node,) = node_names(1)
        self.cluster = RealCluster(data, "oci", "--port", "0")
        self.disks = {
            "data": SmallDisk(folder / "data.img", data, 192 * MB),
            "images": SmallDisk(folder / "images.img", data / "images", 48 * MB),
            "logs": SmallDisk(folder / "logs.img", data / "nodes" / node / "kubelet" / "logs", 48 * MB),
        }
        self._connections: list[socket.socket] = []

    def faults(self) -> Mapping[str, tuple[Fault, Fault]]:
        """Return the start and end of each fault, by name."""
        found: dict[str, tuple[Fault, Fault]] = {}
        for name, disk in self.disks.items():
            found[f"fill {name}"] = (disk.fill, disk.empty)
            found[f"write-protect {name}"] = (disk.write_protect, disk.allow_writes)
        found["exhaust descriptors"] = (self._take_descriptors, self._give_descriptors)
        found["delete bridge"] = (self._delete_bridge, _nothing)
        found["delete table"] = (self._delete_table, _nothing)
        return found

    def remove(self) -> None:
        """Take the cluster down and unmount everything."""
        for disk in self.disks.values():
            disk.allow_writes()
            disk.empty()
        self.cluster.down()
        for disk in reversed(self.disks.values()):
            disk.unmount()

    @property
    def _names(self) -> Names:
        return Names.of(f"{DataDirectory(self.cluster.directory).id}-0")

    def _delete_bridge(self) -> None:
        subprocess.run(["ip", "link", "delete", self._names.bridge], check=False, capture_output=True)

    def _delete_table(self) -> None:
        for family in ("ip", "bridge"):
            table = ["nft", "delete", "table", family, self._names.table]
            subprocess.run(table, check=False, capture_output=True)

    def _take_descriptors(self) -> None:
        """Leave the process a few descriptors, and let clients use them."""
        pid = self.cluster.pid
        used = max((int(name) for name in os.listdir(f"/proc/{pid}/fd")), default=0)
        self._limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + FREE_DESCRIPTORS, self._limits[1]))
        config = yaml.safe_load(self.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
        port = urlsplit(config["server"]).port
        for _ in range(CONNECTIONS):
            with suppress(OSError):
                self._connections.append(socket.create_connection(("127.0.0.1", port), timeout=1))

    def _give_descriptors(self) -> None:
        resource.prlimit(self.cluster.pid, resource.RLIMIT_NOFILE, self._limits)
        while self._connections:
            self._connections.pop().close()


def _nothing() -> None:
    pass


@contextmanager
def faulty_node(folder: Path) -> Iterator[FaultyNode]:
    """Run a node; remove it at the end in any case."""
    node = FaultyNode(folder)
    try:
        node.cluster.up()
        yield node
    finally:
        node.remove()


def drawn(random: Random, faults: Mapping[str, tuple[Fault, Fault]]) -> list[str]:
    """Draw the faults of one round: one, or two of different things at the same time."""
    first, second = random.sample(sorted(faults), 2)
    different = first.rpartition(" ")[2] != second.rpartition(" ")[2]
    return [first, second] if different and random.random() < 0.4 else [first]
