"""Names of cluster DNS that the kubelet, the nodes and the controllers share."""

from __future__ import annotations

from ipaddress import ip_address

from msgspec import Struct

DOMAIN = "cluster.local"
NAMESPACE, SERVICE = "kube-system", "kube-dns"
ANNOTATION = "podling.dev/cluster-dns"
"""On a Node: where its pods reach its DNS server (``DnsPlace`` as JSON)."""
_NUMBER = 10


class DnsPlace(Struct, frozen=True, rename="camel"):
    """The place of a node's DNS server: ``port`` over UDP and TCP, ``metrics_port`` for its figures."""

    addresses: tuple[str, ...]
    port: int
    metrics_port: int


def dns_service_address(kubernetes_service: str) -> str:
    """Return the address of the Service ``kube-dns``: the tenth of the range whose first one is given.

    ``kubernetes_service`` is the cluster IP of the Service ``kubernetes``. kubeadm chooses the same number.
    """
    return str(ip_address(kubernetes_service) + (_NUMBER - 1))
