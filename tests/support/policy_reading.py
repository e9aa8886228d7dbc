"""Two readings of network policies, to be compared: the specification itself, and the compiled tables.

``allows`` reads API objects as the documentation of ``networking.k8s.io/v1`` does, one packet at a time, and
has no structure in common with the compiler. ``passes`` runs a packet through the tables as the kernel would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network

from msgspec import Struct

from podling.api.meta_v1 import LabelSelector
from podling.api.networking_v1 import NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort
from podling.network.policy.chains import Chain, Group, Match
from podling.network.policy.index import PolicyIndex
from podling.network.policy.policies import Policy
from podling.network.policy.tables import Tables
from podling.network.policy.values import NodeFacts, PolicyPod


class Packet(Struct, frozen=True):
    """The first packet of a connection. ``port`` is 0 where the protocol has none (ICMP)."""

    source: str
    destination: str
    protocol: str = "TCP"
    port: int = 80


# ---- the specification


def allows(
    policies: Iterable[NetworkPolicy],
    pods: Sequence[PolicyPod],
    namespaces: Mapping[str, Mapping[str, str]],
    packet: Packet,
) -> bool:
    """Return whether the specification lets a packet pass on this node: its own pods are subjects."""
    if packet.source == packet.destination:
        return True
    known = list(policies)
    sender, receiver = _pod(pods, packet.source), _pod(pods, packet.destination)
    return (
        sender is None
        or not sender.local
        or _direction_allows(known, "Egress", sender, receiver, namespaces, packet)
    ) and (
        receiver is None
        or not receiver.local
        or _direction_allows(known, "Ingress", receiver, sender, namespaces, packet)
    )


def _pod(pods: Sequence[PolicyPod], address: str) -> PolicyPod | None:
    return next((pod for pod in pods if address in pod.addresses), None)


def _direction_allows(
    policies: Sequence[NetworkPolicy],
    direction: str,
    subject: PolicyPod,
    peer: PolicyPod | None,
    namespaces: Mapping[str, Mapping[str, str]],
    packet: Packet,
) -> bool:
    selecting = [
        policy
        for policy in policies
        if policy.metadata.namespace == subject.namespace
        and direction in policy.spec.policy_types
        and _selects(policy.spec.pod_selector, subject.labels)
    ]
    if not selecting:
        return True
    target = subject if direction == "Ingress" else peer
    address = packet.source if direction == "Ingress" else packet.destination
    for policy in selecting:
        rules: list[tuple[Sequence[NetworkPolicyPeer], Sequence[NetworkPolicyPort]]]
        if direction == "Ingress":
            rules = [(each.from_, each.ports) for each in policy.spec.ingress]
        else:
            rules = [(out.to, out.ports) for out in policy.spec.egress]
        for peers, ports in rules:
            if _has_peer(peers, subject.namespace, peer, address, namespaces) and _has_port(
                ports, target, packet
            ):
                return True
    return False


def _has_peer(
    peers: Sequence[NetworkPolicyPeer],
    namespace: str,
    pod: PolicyPod | None,
    address: str,
    namespaces: Mapping[str, Mapping[str, str]],
) -> bool:
    if not peers:
        return True
    for peer in peers:
        if peer.ip_block is not None:
            if _inside(address, peer.ip_block.cidr) and not any(
                _inside(address, hole) for hole in peer.ip_block.except_
            ):
                return True
        elif pod is not None and not pod.ended:
            if peer.namespace_selector is None:
                chosen = pod.namespace == namespace
            else:
                labels = namespaces.get(pod.namespace)
                chosen = labels is not None and _selects(peer.namespace_selector, labels)
            if chosen and (peer.pod_selector is None or _selects(peer.pod_selector, pod.labels)):
                return True
    return False


def _inside(address: str, cidr: str) -> bool:
    network = ip_network(cidr)
    return network.version == ip_address(address).version and ip_address(address) in network


def _has_port(ports: Sequence[NetworkPolicyPort], target: PolicyPod | None, packet: Packet) -> bool:
    if not ports:
        return True
    for port in ports:
        if (port.protocol or "TCP") != packet.protocol:
            continue
        if port.port is None:
            return True
        if isinstance(port.port, int):
            if port.port <= packet.port <= (port.end_port or port.port):
                return True
        elif target is not None and not target.ended:
            named = (port.port, packet.protocol, packet.port)
            if any((each.name, each.protocol, each.number) == named for each in target.ports):
                return True
    return False


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    for each in selector.match_expressions:
        present, among = each.key in labels, labels.get(each.key) in each.values
        holds = {
            "In": present and among,
            "NotIn": not present or not among,
            "Exists": present,
            "DoesNotExist": not present,
        }[each.operator]
        if not holds:
            return False
    return True


# ---- the tables


def compile_tables(
    policies: Iterable[Policy],
    pods: Iterable[PolicyPod],
    namespaces: Mapping[str, Mapping[str, str]],
    facts: NodeFacts,
) -> Tables:
    """Return the tables of a node that learns everything at once."""
    index = PolicyIndex(facts)
    for name, labels in namespaces.items():
        index.put_namespace(name, labels)
    for policy in policies:
        index.put_policy(policy)
    for pod in pods:
        index.put_pod(pod)
    return index.tables()


def passes(tables: Tables, packet: Packet, *, to_node: bool = False) -> bool:
    """Return whether the tables let a packet that is forwarded, or sent to the node, pass."""
    family = ip_address(packet.source).version
    if not to_node and f"{packet.source} . {packet.destination}" in tables.sets[f"self_{family}"]:
        return True
    if not _verdict(tables, tables.sets[f"egress_{family}"].get(packet.source), packet):
        return False
    return to_node or _verdict(tables, tables.sets[f"ingress_{family}"].get(packet.destination), packet)


def _verdict(tables: Tables, name: str | None, packet: Packet) -> bool:
    if name is None:
        return True
    group = tables.chains[name]
    assert isinstance(group, Group)
    for each in group.chains:
        chain = tables.chains[each]
        assert isinstance(chain, Chain)
        peer = packet.source if chain.direction == "ingress" else packet.destination
        if any(_fulfils(tables, match, peer, packet) for match in chain.matches):
            return True
    return False


def _fulfils(tables: Tables, match: Match, peer: str, packet: Packet) -> bool:
    number = int(ip_address(peer))
    return (
        (not match.family or ip_address(peer).version == match.family)
        and (not match.peers or peer in tables.sets[match.peers])
        and (not match.ranges or any(first <= number <= last for first, last in match.ranges))
        and (not match.protocol or match.protocol == packet.protocol)
        and (not match.ports or any(first <= packet.port <= last for first, last in match.ports))
        and (not match.targets or f"{packet.destination} . {packet.port}" in tables.sets[match.targets])
    )
