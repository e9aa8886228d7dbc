"""The settings of a cluster, which its data directory keeps between runs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podling.controllers.options import ControllerOptions
from podling.machinery.feature_gates import parse_gates
from podling.machinery.network_ranges import (
    CLUSTER_CIDR,
    NODE_PORTS,
    SERVICE_RANGE,
    VXLAN,
    NetworkRanges,
    network_ranges,
)
from podling.machinery.node_masks import NodeMasks
from podling.node.node_options import NodeOptions


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that a cluster keeps between runs; command-line options override and replace them."""

    port: int = 0
    runtime: str = ""
    runtime_by_default: bool = False
    """The runtime was not chosen by an option: it was the best that worked at the first start."""
    nodes: int = 1
    controllers: str = "*"
    """The controllers that run, as ``kube-controller-manager --controllers`` takes them."""
    extensions: tuple[str, ...] = ()
    """The extensions that are enabled, as ``extensions.loading`` reads them."""
    api_only: bool = False
    """Run the API server and nothing else."""
    static_pod_path: str = ""
    """The directory with the static pods of the first node; empty: none."""
    clock: str = "machine"
    """The clock of the cluster: the ``machine``'s, or a ``virtual`` one, which stands still until wound."""
    processes: str = "one"
    """``one`` process for all parts, or ``several``."""
    api_workers: int = 0
    """Further processes of the API server, which serve reads; 0 for none."""
    cluster_cidr: str = CLUSTER_CIDR
    """The ranges of pods' addresses, the default family first."""
    service_cluster_ip_range: str = SERVICE_RANGE
    """The ranges of Services' addresses, the default family first."""
    service_node_port_range: str = NODE_PORTS
    node_cidr_mask_size: int = 0
    """The mask size of each node's block of pod addresses, in a cluster of one family; 0: the default."""
    node_cidr_mask_size_ipv4: int = 0
    node_cidr_mask_size_ipv6: int = 0
    cni_conf_dir: str = ""
    """The directory with the machine's CNI configuration; empty: Podling makes the pods' network itself."""
    network: str = VXLAN
    """The way of packets to pods of other machines: in tunnels (``vxlan``), or by ``routes``."""
    node_ip: str = ""
    """The addresses of the nodes, the primary one first; empty: the machine's own."""
    advertise_address: str = ""
    """The address at which other machines reach the API server; empty: they are not to reach it."""
    hostname_override: str = ""
    """The name of the first node; empty: the machine's own."""
    node_options: NodeOptions = msgspec.field(default_factory=NodeOptions)
    """The options of the nodes' kubelets."""
    scheduler_config: str = ""
    """The file with the scheduler's configuration, which is read at each start; empty: none."""
    scheduler_document: str = ""
    """The scheduler's configuration as JSON, from a cluster's configuration file; empty: none."""
    admission_control_config_file: str = ""
    """The file with the configuration of admission plugins, which is read at each start; empty: none."""
    admission_document: str = ""
    """The same as JSON, from a cluster's configuration file; empty: none."""
    controller_options: ControllerOptions = msgspec.field(default_factory=ControllerOptions)
    identity: str = ""
    """The identity of the last run, to name the cluster when ``identity.json`` is lost."""

    @property
    def is_wound(self) -> bool:
        """Return whether the cluster has a clock of its own."""
        return self.clock == "virtual"

    @property
    def node_masks(self) -> NodeMasks:
        """The sizes of nodes' blocks of pod addresses."""
        return NodeMasks(
            self.node_cidr_mask_size, self.node_cidr_mask_size_ipv4, self.node_cidr_mask_size_ipv6
        )

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The gates of ``--feature-gates`` that differ from their defaults, for every component."""
        return parse_gates(self.node_options.feature_gates)

    def ranges(self) -> NetworkRanges:
        """Return the address ranges and node ports. Raises ``ValueError`` for a record that was edited."""
        return network_ranges(
            self.cluster_cidr, self.service_cluster_ip_range, self.service_node_port_range, self.node_masks
        )
