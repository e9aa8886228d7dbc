"""NetworkPolicies as they are compiled: selections of pods, ranges of addresses, ports. Pure.

Upstream: ``staging/src/k8s.io/api/networking/v1/types.go`` and "Network Policies" in the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from podling.api.networking_v1 import IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort
from podling.machinery import names
from podling.machinery.selectors import EVERYTHING, NOTHING, LabelSelector, readable_selector
from podling.network.policy.values import Selection

PORT_MAX = 65535


class AddressRange(Struct, frozen=True, order=True):
    """Addresses of one family from ``first`` to ``last``, as numbers."""

    family: int
    first: int
    last: int


class PortChoice(Struct, frozen=True, kw_only=True):
    """Ports of one protocol: all of them, those in ``ranges``, or the one with a ``name``.

    An empty ``protocol`` is any protocol, ICMP included.
    """

    protocol: str = ""
    ranges: tuple[tuple[int, int], ...] = ()
    name: str = ""


class PolicyRule(Struct, frozen=True, kw_only=True):
    """One rule: traffic with any of the peers (all addresses if ``anywhere``) on any of the ports."""

    anywhere: bool = False
    selections: tuple[Selection, ...] = ()
    ranges: tuple[AddressRange, ...] = ()
    ports: tuple[PortChoice, ...] = (PortChoice(),)


class Policy(Struct, frozen=True, kw_only=True):
    """A policy. ``ingress`` or ``egress`` is None where it does not isolate its pods."""

    namespace: str
    name: str
    pods: LabelSelector
    ingress: tuple[PolicyRule, ...] | None
    egress: tuple[PolicyRule, ...] | None

    def rules(self, direction: str) -> tuple[PolicyRule, ...] | None:
        return self.ingress if direction == "ingress" else self.egress


def policy_of(stored: NetworkPolicy) -> Policy:
    """Return the policy in an API object."""
    namespace, spec = stored.metadata.namespace or "", stored.spec
    types = spec.policy_types or (("Ingress", "Egress") if spec.egress else ("Ingress",))
    ingress = tuple(_rule(namespace, rule.from_, rule.ports) for rule in spec.ingress)
    egress = tuple(_rule(namespace, rule.to, rule.ports) for rule in spec.egress)
    return Policy(
        namespace=namespace,
        name=stored.metadata.name or "",
        pods=readable_selector(spec.pod_selector) or NOTHING,
        ingress=ingress if "Ingress" in types else None,
        egress=egress if "Egress" in types else None,
    )


def _rule(
    namespace: str, peers: Sequence[NetworkPolicyPeer], ports: Sequence[NetworkPolicyPort]
) -> PolicyRule:
    selected = (_selection(namespace, peer) for peer in peers if peer.ip_block is None)
    return PolicyRule(
        anywhere=not peers,
        selections=tuple(dict.fromkeys(each for each in selected if each is not None)),
        ranges=ranges_of([peer.ip_block for peer in peers if peer.ip_block is not None]),
        ports=port_choices(ports),
    )


def _selection(namespace: str, peer: NetworkPolicyPeer) -> Selection | None:
    """Return the pods that a peer selects: without a selector of namespaces those of the policy's own."""
    if peer.pod_selector is None and peer.namespace_selector is None:
        return None
    pods = EVERYTHING if peer.pod_selector is None else readable_selector(peer.pod_selector) or NOTHING
    if peer.namespace_selector is None:
        return Selection(namespace=namespace, pods=pods)
    return Selection(namespaces=readable_selector(peer.namespace_selector) or NOTHING, pods=pods)


def ranges_of(blocks: Iterable[IPBlock]) -> tuple[AddressRange, ...]:
    """Return the addresses in any of the blocks, without each block's own exceptions.

    A block with an unreadable part has no addresses: it opens nothing.
    """
    found: list[AddressRange] = []
    for block in blocks:
        whole, holes = _range(block.cidr), [_range(text) for text in block.except_]
        known = sorted(hole for hole in holes if hole is not None)
        if whole is not None and len(known) == len(holes):
            found += _without(whole, known)
    joined: list[AddressRange] = []
    for each in sorted(found):
        last = joined[-1] if joined else None
        if last is not None and last.family == each.family and each.first <= last.last + 1:
            joined[-1] = AddressRange(last.family, last.first, max(last.last, each.last))
        else:
            joined.append(each)
    return tuple(joined)


def _range(cidr: str) -> AddressRange | None:
    parsed = names.parse_cidr(cidr)
    if parsed is None:
        return None
    network = parsed.network
    return AddressRange(network.version, int(network.network_address), int(network.broadcast_address))


def _without(whole: AddressRange, holes: Sequence[AddressRange]) -> list[AddressRange]:
    rest, start = [], whole.first
    for hole in holes:
        if hole.family != whole.family or hole.last < start or hole.first > whole.last:
            continue
        if hole.first > start:
            rest.append(AddressRange(whole.family, start, hole.first - 1))
        start = hole.last + 1
    if start <= whole.last:
        rest.append(AddressRange(whole.family, start, whole.last))
    return rest


def port_choices(ports: Sequence[NetworkPolicyPort]) -> tuple[PortChoice, ...]:
    """Return the ports of a rule, the numbers of each protocol joined. No ports are all traffic."""
    if not ports:
        return (PortChoice(),)
    numbers: dict[str, list[tuple[int, int]]] = {}
    named = []
    for port in ports:
        protocol = port.protocol or "TCP"
        if isinstance(port.port, str):
            named.append(PortChoice(protocol=protocol, name=port.port))
        elif port.port is None:
            numbers.setdefault(protocol, []).append((0, PORT_MAX))
        else:
            numbers.setdefault(protocol, []).append((port.port, port.end_port or port.port))
    numeric = (PortChoice(protocol=each, ranges=_joined(numbers[each])) for each in sorted(numbers))
    return (*numeric, *dict.fromkeys(named))


def _joined(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the ranges sorted and joined; empty for all ports."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return () if joined == [(0, PORT_MAX)] else tuple(joined)
