"""The record of a node that has joined a cluster: which cluster, and as what."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryUnusable
from podling.files.private import replace_file
from podling.machinery.network_ranges import CLUSTER_CIDR, VXLAN, NetworkRanges, network_ranges
from podling.machinery.node_masks import NodeMasks
from podling.node.machine import node_addresses
from podling.node.node_options import NodeOptions
from podling.node.runtimes import NodePlan

FILE = "node.json"
KUBELET_PORT = 10250
"""The port of the kubelet's server, where it is free: firewalls between machines know it."""


class JoinedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that a joined node keeps between runs."""

    server: str
    """The URL of the API server."""
    node_name: str
    node_ip: str = ""
    """The addresses given by an option, the primary one first; empty: the machine's own."""
    addresses: tuple[str, ...] = ()
    """The addresses that were last used."""
    cluster_cidr: str = CLUSTER_CIDR
    """The cluster's ranges of pods' addresses, the default family first."""
    node_masks: NodeMasks = NodeMasks()
    """The sizes of nodes' blocks of these, as the cluster's."""
    network: str = VXLAN
    """The way of packets to pods of other machines, as the cluster's."""
    runtime: str = ""
    static_pod_path: str = ""
    cni_conf_dir: str = ""
    """The directory with the machine's CNI configuration; empty: Podling makes the pods' network itself."""
    extensions: tuple[str, ...] = ()
    """The extensions whose controllers run beside the kubelet, as ``extensions.loading`` reads them."""
    node_options: NodeOptions = msgspec.field(default_factory=NodeOptions)
    """The options of the kubelet."""

    def ranges(self) -> NetworkRanges:
        """Return the cluster's ranges of addresses. Raises ``ValueError`` for a record that was edited."""
        return network_ranges(self.cluster_cidr, masks=self.node_masks)


def read(directory: DataDirectory) -> JoinedSettings | None:
    """Return the record in a directory; None where no node has joined. Raises ``DirectoryUnusable``."""
    path = directory.path / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=JoinedSettings)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise DirectoryUnusable(f"{path} cannot be read: {error}; restore it, or join anew") from error


def write(directory: DataDirectory, settings: JoinedSettings) -> None:
    """Record the settings if they have changed. Raises ``OSError``."""
    if settings != read(directory):
        replace_file(directory.path / FILE, msgspec.json.encode(settings))


def node_plan(directory: DataDirectory, settings: JoinedSettings) -> NodePlan:
    """Return the plan of the node."""
    ranges = settings.ranges()
    return NodePlan(
        name=settings.node_name,
        index=0,
        runtime=settings.runtime,
        root=directory.node(settings.node_name),
        cluster_id=directory.id,
        address=settings.addresses[0],
        second_address="".join(settings.addresses[1:2]),
        pod_ranges=ranges.pods,
        pod_prefixes=ranges.node_prefixes,
        network=settings.network,
        port=KUBELET_PORT,
        static_pod_path=Path(settings.static_pod_path) if settings.static_pod_path else None,
        cni_conf_dir=Path(settings.cni_conf_dir) if settings.cni_conf_dir else None,
        options=settings.node_options,
    )


def current_addresses(settings: JoinedSettings) -> tuple[str, ...]:
    """Return the addresses that the node has now: the given ones, or the one that leads to the API server,
    with one of the other family where pods have both.

    Without a route there, the last ones.
    """
    found = address_towards(settings.server)
    if settings.addresses and not settings.node_ip and not found:
        return settings.addresses
    return node_addresses(settings.ranges().pods, settings.node_ip, found)


def address_towards(url: str) -> str:
    """Return this machine's address on the route to a server; empty without a route. Sends nothing."""
    parts = urlsplit(url)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            found: str = probe.getsockname()[0]
    except OSError:
        return ""
    return found
