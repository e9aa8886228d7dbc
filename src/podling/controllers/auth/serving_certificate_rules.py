"""Rules about certificates of kubelets' servers: which are approved without a person, which are denied. Pure.

The certificates are signed by the authority that also vouches for the API server. So a node gets one for its
own name and its own addresses alone: with the address of another, it could pose as that one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping

from podling.api.certificates_v1 import CertificateSigningRequestSpec
from podling.api.core_v1 import Node
from podling.controllers.auth.certificate_rules import KUBELET_SERVING, NODE_PREFIX, NODES, refusal
from podling.machinery.certificate_requests import Wanted

RESERVED_NAMES = ("localhost", "kubernetes")
"""Names of the API server, also as the first part of a longer one."""


def is_own(spec: CertificateSigningRequestSpec, wanted: Wanted) -> bool:
    """Return whether a node requests a certificate for its own name, as the signer would sign it."""
    return (
        spec.signer_name == KUBELET_SERVING
        and spec.username == wanted.common_name
        and set(NODES) <= set(spec.groups)
        and not refusal(KUBELET_SERVING, wanted, spec.usages)
    )


def denial(wanted: Wanted, taken: Mapping[str, str]) -> str:
    """Return why a node's own request is denied; empty if it is not.

    Args:
        taken: addresses that are not the node's, with the names of those whose they are.
    """
    for address in wanted.addresses:
        if address in taken:
            return f"{address} is the address of {taken[address]}"
        found = ipaddress.ip_address(address)
        if found.is_loopback or found.is_unspecified or found.is_multicast:
            return f"{address} is no address of one machine alone"
    for name in wanted.dns_names:
        if name.partition(".")[0] in RESERVED_NAMES:
            return f"{name} is a name of the API server"
    return ""


def is_plain(wanted: Wanted) -> bool:
    """Return whether a request names the node and addresses, and nothing that a person has to judge."""
    node = wanted.common_name.removeprefix(NODE_PREFIX)
    return bool(wanted.addresses) and set(wanted.dns_names) <= {node}


def taken_addresses(node: str, nodes: Iterable[Node], of_server: Iterable[str]) -> dict[str, str]:
    """Return the addresses of other nodes and of the API server, with their names."""
    found = {
        _canonical(address.address): f"node {each.metadata.name}"
        for each in nodes
        if each.metadata.name != node
        for address in each.status.addresses
        if address.type in ("InternalIP", "ExternalIP")
    }
    return {**found, **dict.fromkeys(map(_canonical, of_server), "the API server")}


def _canonical(address: str) -> str:
    """Return an address as requests have it; text that is none stays."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address
