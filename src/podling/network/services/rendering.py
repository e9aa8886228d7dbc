"""The rules that follow from a Service, its endpoints and the node. Pure.

Upstream: ``syncProxyRules`` in ``pkg/proxy/nftables/proxier.go``. Differences: a chain sends to its endpoints
by one map of addresses, unless it has session affinity, which needs a chain for each endpoint.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from msgspec import Struct

from podling.api.core_v1 import Node
from podling.network.services import addresses, base_rules
from podling.network.services.endpoint_slices import PortEndpoint, SliceRecord, endpoints_of
from podling.network.services.rules import (
    DROP,
    MEMORY,
    NODE,
    Allow,
    Chain,
    Choose,
    Drop,
    Element,
    GoTo,
    MarkForMasquerade,
    Remember,
    Rule,
    ServiceRules,
    Spread,
    Stick,
)
from podling.network.services.service_ports import FamilyRecord, PortRecord, ServiceRecord
from podling.network.services.topology import Chosen, choose

_ZONE = "topology.kubernetes.io/zone"


class NodeView(Struct, frozen=True):
    """The node, as far as rules depend on it."""

    name: str
    zone: str = ""
    addresses: tuple[str, ...] = ()
    """The node's own addresses: those of its status."""
    subnets: dict[str, str] = {}
    """The addresses of the node's pods, by family."""


def node_view(node: Node, subnets: dict[str, str]) -> NodeView:
    """Return the view of a node whose pods have addresses in ``subnets``."""
    return NodeView(
        name=node.metadata.name or "",
        zone=node.metadata.labels.get(_ZONE, ""),
        addresses=tuple(
            each.address for each in node.status.addresses if each.type in ("InternalIP", "ExternalIP")
        ),
        subnets=subnets,
    )


def render(
    service: ServiceRecord, slices: Sequence[SliceRecord], node: NodeView, family: str
) -> ServiceRules:
    """Return the rules of a Service in the table of one family."""
    found = next((each for each in service.families if each.family == family), None)
    if found is None:
        return ServiceRules()
    collected = _Collected()
    for port in service.ports:
        endpoints = endpoints_of(slices, family, port.name, port.protocol, node.name)
        chosen = choose(
            endpoints,
            uses_cluster=service.uses_cluster_endpoints(found, port),
            uses_local=service.uses_local_endpoints(found, port),
            node=node.name,
            zone=node.zone,
        )
        _Port(service, found, port, chosen, node, collected).render()
    return ServiceRules(collected.chains, collected.elements, collected.memories)


class _Collected:
    def __init__(self) -> None:
        self.chains: dict[str, Chain] = {}
        self.elements: dict[Element, str] = {}
        self.memories: dict[str, int] = {}


def port_name(service: ServiceRecord, port: PortRecord) -> str:
    """Return the name of a Service's port as kube-proxy writes it in chains: ``ns1/svc1/tcp/p80``."""
    return f"{service.key.namespace}/{service.key.name}/{port.protocol.lower()}/{port.name}"


def digested(name: str) -> str:
    """Return ``name`` behind a digest of it, which keeps similar names apart for the eye."""
    digest = base64.b32encode(hashlib.sha256(name.encode()).digest()).decode()
    return f"{digest[:8]}-{name}"


class _Port:
    """The rules of one port of a Service."""

    def __init__(
        self,
        service: ServiceRecord,
        family: FamilyRecord,
        port: PortRecord,
        chosen: Chosen,
        node: NodeView,
        collected: _Collected,
    ) -> None:
        self._service = service
        self._family = family
        self._port = port
        self._chosen = chosen
        self._node = node
        self._collected = collected
        self._plain = port_name(service, port)
        self._base = digested(self._plain)
        self._protocol = addresses.PROTOCOLS[port.protocol]
        self._pods = node.subnets.get(family.family, "")

    def render(self) -> None:
        chosen = self._chosen
        if chosen.cluster:
            self._policy_chain("service", chosen.cluster)
        if chosen.local:
            self._policy_chain("local", chosen.local)
        self._hairpins()
        self._element(base_rules.CLUSTER_IPS, self._family.cluster_ip, "")
        self._internal()
        if self._family.is_external(self._port):
            self._external()

    # ---- chains

    def _name(self, kind: str) -> str:
        return f"{kind}-{self._base}"

    def _policy_chain(self, kind: str, endpoints: tuple[PortEndpoint, ...]) -> None:
        targets = tuple(each.target for each in endpoints)
        if self._service.affinity_seconds:
            chain = self._affinity(targets)
        else:
            chain = (Spread(targets, self._protocol),)
        self._collected.chains[self._name(kind)] = chain

    def _affinity(self, targets: tuple[bytes, ...]) -> Chain:
        """Return the rules that send a client to the endpoint that it got before, else to any.

        Each endpoint has a chain and a memory of its own, which it loses when it goes.
        """
        sticks: list[Rule] = []
        chains: list[str] = []
        for target in targets:
            base = digested(f"{self._plain}__{addresses.in_name(target)}")
            chain, memory = f"endpoint-{base}", f"{MEMORY}{base}"
            self._collected.chains[chain] = (Remember(memory), Spread((target,), self._protocol))
            self._collected.memories[memory] = self._service.affinity_seconds
            sticks.append(Stick(memory, chain))
            chains.append(chain)
        return (*sticks, Choose(tuple(chains)))

    def _external_chain(self, local_policy: bool, has_endpoints: bool) -> Chain:
        """Return the rules for traffic to other addresses than the cluster's own.

        Under policy ``Cluster`` the endpoint may be on another node, so the answer has to come back here.
        Under ``Local`` the client's address is kept; what the node's own pods and the node send may go
        anywhere, as if it came back from a load balancer outside.
        """
        if not local_policy:
            return (MarkForMasquerade(), GoTo(self._name("service")))
        rules: list[Rule] = []
        if self._pods:
            rules.append(GoTo(self._name("service"), self._pods))
        rules += [MarkForMasquerade(NODE), GoTo(self._name("service"), NODE)]
        if has_endpoints:
            rules.append(GoTo(self._name("local")))
        return tuple(rules)

    # ---- elements

    def _element(self, name: str, key: bytes, verdict: str) -> None:
        self._collected.elements[Element(name, key)] = verdict

    def _by_address(self, address: bytes) -> bytes:
        return address + self._by_port(self._port.port)

    def _by_port(self, port: int) -> bytes:
        """Return protocol and port as a key holds them: each in a word of four bytes."""
        return bytes((self._protocol, 0, 0, 0)) + port.to_bytes(2, "big") + b"\0\0"

    def _hairpins(self) -> None:
        """A connection that comes back to its own client needs another source address.

        Where the addresses of the node's pods are unknown, the endpoints on the node are taken for them.
        """
        own = ip_network(self._pods) if self._pods else None
        for each in (*self._chosen.cluster, *self._chosen.local):
            address = addresses.address_of(each.target)
            if each.is_local if own is None else ip_address(address) in own:
                self._element(base_rules.HAIRPINS, address + address, "")

    def _verdict(self, usable: bool) -> str:
        """Return the verdict on traffic without an endpoint: it is refused, or dropped where policy
        ``Local`` keeps it from endpoints that exist."""
        if usable:
            return ""
        return DROP if self._chosen.has_any else base_rules.REJECT

    def _internal(self) -> None:
        local = self._service.internal_local
        usable = bool(self._chosen.local) if local else self._chosen.has_any
        key = self._by_address(self._family.cluster_ip)
        if usable:
            self._element(base_rules.SERVICE_IPS, key, self._name("local" if local else "service"))
        else:
            self._element(base_rules.NO_ENDPOINTS, key, self._verdict(usable))

    def _external(self) -> None:
        local = self._service.external_local
        usable = bool(self._chosen.local) if local else self._chosen.has_any
        chain = self._name("external")
        if self._chosen.has_any:
            self._collected.chains[chain] = self._external_chain(local, usable)
        firewall = self._firewall()
        for address in (*self._family.external_ips, *self._family.load_balancer_vips):
            key = self._by_address(address)
            if self._chosen.has_any:
                self._element(base_rules.SERVICE_IPS, key, chain)
            if not usable:
                self._element(base_rules.NO_ENDPOINTS, key, self._verdict(usable))
        if firewall:
            for address in self._family.load_balancer_vips:
                self._element(base_rules.FIREWALL_IPS, self._by_address(address), firewall)
        if self._port.node_port:
            key = self._by_port(self._port.node_port)
            if self._chosen.has_any:
                self._element(base_rules.NODE_PORTS, key, chain)
            if not usable:
                self._element(base_rules.NO_ENDPOINT_PORTS, key, self._verdict(usable))

    def _firewall(self) -> str:
        """Make the chain that lets only ``loadBalancerSourceRanges`` through; return its name.

        A node within the ranges also sends from the load balancer's address, where that is one of its own.
        """
        family, ranges = self._family, self._family.source_ranges
        if not ranges or not family.load_balancer_vips:
            return ""
        allowed = list(ranges)
        own = [addresses.packed(each, family.family) for each in self._node.addresses]
        networks = [ip_network(each) for each in ranges]
        if any(ip_address(address) in network for address in filter(None, own) for network in networks):
            allowed += [str(ip_network(vip)) for vip in family.load_balancer_vips]
        name = self._name("firewall")
        self._collected.chains[name] = (*(Allow(each) for each in allowed), Drop())
        return name
