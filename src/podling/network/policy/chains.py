"""Rules of the kernel, made from one direction of one policy. Pure.

A chain accepts what its policy allows and returns otherwise. Its name follows from its contents, so a chain
never changes, and equal policies share one. Each match states the **peer** (the source of ingress, the
destination of egress) and the port of the destination.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address

from msgspec import Struct

from podling.network.policy.policies import PORT_MAX, AddressRange, PolicyRule, PortChoice
from podling.network.policy.values import (
    EVERY_POD,
    INGRESS,
    Members,
    NamedPort,
    NodeFacts,
    Selection,
    digest,
    family_of,
)

DNS_NAMESPACE = "kube-system"
DNS_LABELS = {"k8s-app": "kube-dns"}
DNS_PORTS = (
    NamedPort("dns", "UDP", 53),
    NamedPort("dns-tcp", "TCP", 53),
    NamedPort("metrics", "TCP", 9153),
)
"""The cluster's DNS runs on the node without a pod. Policies see a pod of these properties in its place."""


class Match(Struct, frozen=True, kw_only=True):
    """Accepts packets that fulfil every condition that is set."""

    family: int = 0
    """4 or 6; 0 for both, where no address is compared."""
    peers: str = ""
    """The peer's address is in this set."""
    ranges: tuple[tuple[int, int], ...] = ()
    """The peer's address is in one of these ranges."""
    protocol: str = ""
    ports: tuple[tuple[int, int], ...] = ()
    """The destination's port is in one of these ranges."""
    targets: str = ""
    """The destination's address and port together are in this set."""


class Chain(Struct, frozen=True, kw_only=True):
    """One direction of a policy."""

    direction: str
    matches: tuple[Match, ...]

    @property
    def name(self) -> str:
        return f"{self.direction}_policy_{digest(self)}"


class Group(Struct, frozen=True, kw_only=True):
    """Pods to which the same chains apply in one direction. What none of them accepts is dropped."""

    direction: str
    chains: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.direction}_pods_{digest(self)}"


class Compiled(Struct, frozen=True, kw_only=True):
    """A chain with the sets that it reads."""

    chain: Chain
    members: tuple[Members, ...]


class Context(Struct, frozen=True, kw_only=True):
    """The cluster and the node, as far as a chain depends on them."""

    facts: NodeFacts = NodeFacts()
    dns_namespace: Mapping[str, str] | None = None
    """The labels of the namespace of the cluster's DNS; None while they are unknown."""


def compile_chain(direction: str, namespace: str, rules: Iterable[PolicyRule], context: Context) -> Compiled:
    """Return the chain of one direction of a policy in ``namespace``."""
    members: dict[Members, None] = {}
    matches: dict[Match, None] = {}
    for rule in rules:
        for port in rule.ports:
            maker = _Maker(direction, namespace, port, context, members)
            matches.update(dict.fromkeys(maker.matches(rule)))
    return Compiled(chain=Chain(direction=direction, matches=tuple(matches)), members=tuple(members))


class _Maker:
    """Makes the matches for one choice of ports; adds the sets that they read to ``members``."""

    def __init__(
        self,
        direction: str,
        namespace: str,
        port: PortChoice,
        context: Context,
        members: dict[Members, None],
    ) -> None:
        self._ingress = direction == INGRESS
        self._own = Selection(namespace=namespace)
        self._port = port
        self._context = context
        self._members = members

    def matches(self, rule: PolicyRule) -> Iterator[Match]:
        if rule.anywhere:
            yield from self._anywhere()
        for selection in rule.selections:
            yield from self._selected(selection)
        for family in self._context.facts.families:
            if ranges := tuple((each.first, each.last) for each in rule.ranges if each.family == family):
                yield self._match(family, ranges=ranges, named=EVERY_POD)
        if not self._ingress:
            yield from self._dns(rule)

    def _anywhere(self) -> Iterator[Match]:
        if not self._port.name:
            yield Match(protocol=self._port.protocol, ports=self._port.ranges)
            return
        for family in self._context.facts.families:
            yield self._match(family, named=EVERY_POD)

    def _selected(self, selection: Selection) -> Iterator[Match]:
        for family in self._context.facts.families:
            if self._port.name and not self._ingress:  # the set of targets implies the peer
                yield self._match(family, named=selection)
            else:
                yield self._match(family, peers=self._set(Members(selection=selection), family))

    def _match(
        self,
        family: int,
        *,
        peers: str = "",
        ranges: tuple[tuple[int, int], ...] = (),
        named: Selection = EVERY_POD,
    ) -> Match:
        """``named``: the destinations whose ports of a name count, in egress; in ingress the policy's own."""
        port, targets = self._port, ""
        if port.name:
            selection = self._own if self._ingress else named
            wanted = Members(selection=selection, protocol=port.protocol, port=port.name)
            targets = self._set(wanted, family)
        return Match(
            family=family,
            peers=peers,
            ranges=ranges,
            protocol=port.protocol,
            ports=port.ranges,
            targets=targets,
        )

    def _set(self, members: Members, family: int) -> str:
        self._members[members] = None
        return f"{members.name}_{family}"

    def _dns(self, rule: PolicyRule) -> Iterator[Match]:
        """Matches for the cluster's DNS, where the rule would select its pods or has its port by name."""
        for address in self._context.facts.dns:
            if family_of(address) not in self._context.facts.families or not self._allows_dns(rule, address):
                continue
            number = int(ip_address(address))
            for protocol in ("TCP", "UDP"):
                if ports := self._dns_ports(protocol):
                    yield Match(
                        family=family_of(address),
                        ranges=((number, number),),
                        protocol=protocol,
                        ports=tuple((each, each) for each in ports),
                    )

    def _allows_dns(self, rule: PolicyRule, address: str) -> bool:
        labels = self._context.dns_namespace
        if any(each.matches(DNS_NAMESPACE, labels, DNS_LABELS) for each in rule.selections):
            return True
        return bool(self._port.name) and (rule.anywhere or _contains(rule.ranges, address))

    def _dns_ports(self, protocol: str) -> list[int]:
        port = self._port
        if port.protocol and port.protocol != protocol:
            return []
        known = [each for each in DNS_PORTS if each.protocol == protocol]
        if port.name:
            return [each.number for each in known if each.name == port.name]
        ranges = port.ranges or ((0, PORT_MAX),)
        return [each.number for each in known if any(a <= each.number <= b for a, b in ranges)]


def _contains(ranges: Iterable[AddressRange], address: str) -> bool:
    parsed = ip_address(address)
    return any(each.family == parsed.version and each.first <= int(parsed) <= each.last for each in ranges)


def group_of(direction: str, chains: Iterable[str]) -> Group:
    """Return the group of pods to which these chains apply."""
    return Group(direction=direction, chains=tuple(sorted(set(chains))))
