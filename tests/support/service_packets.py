"""Follows a packet through the rules of the service proxy, as the kernel would with the base of its table.

``Outcome`` has every target that the packet may get, so that a random choice shows as a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from msgspec import Struct

from podling.api.core_v1 import (
    LoadBalancerIngress,
    LoadBalancerStatus,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.network.services import addresses, base_rules, service_ports
from podling.network.services.endpoint_slices import slice_record
from podling.network.services.rendering import NodeView, render
from podling.network.services.rule_table import RuleTable
from podling.network.services.rules import (
    DROP,
    NODE,
    Allow,
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

NODE_ADDRESS = "192.168.0.2"
PODS = "10.180.0.0/24"
NODE_VIEW = NodeView(name="here", addresses=(NODE_ADDRESS,), subnets={"ip": PODS})
LOCAL = (NODE_ADDRESS, "10.180.0.1", "127.0.0.1")


class Outcome(Struct, frozen=True):
    """``targets`` are empty where the packet is not translated; then ``verdict`` says what becomes of it."""

    verdict: str
    targets: frozenset[str] = frozenset()
    masqueraded: bool = False


def sent_to(*targets: str, masqueraded: bool = False) -> Outcome:
    return Outcome("sent", frozenset(targets), masqueraded)


REJECTED = Outcome("rejected")
DROPPED = Outcome("dropped")
PASSED = Outcome("passed")


class _Packet:
    def __init__(self, table: RuleTable, source: str, pods: str, local: Sequence[str]) -> None:
        self.chains = dict(table.chains())
        self.source = source
        self.pods = pods
        self.local = local
        self.masqueraded = False
        self.targets: set[bytes] = set()
        self.remembered: set[str] = set()

    def is_from(self, source: str) -> bool:
        if not source:
            return True
        if source == NODE:
            return self.source in self.local
        return ip_address(self.source) in ip_network(source)

    def run(self, chain: Sequence[Rule], known: frozenset[str] = frozenset()) -> str:
        """Return ``sent``, ``drop`` or ``return``."""
        for rule in chain:
            match rule:
                case MarkForMasquerade(source) if self.is_from(source):
                    self.masqueraded = True
                case GoTo(name, source) if self.is_from(source):
                    return self.run(self.chains[name], known)
                case Allow(source) if self.is_from(source):
                    return "return"
                case Drop():
                    return "drop"
                case Spread(targets):
                    self.targets.update(targets)
                    return "sent"
                case Stick(memory, name) if memory in known:
                    return self.run(self.chains[name], known)
                case Choose(names):
                    for name in names:
                        self.run(self.chains[name], known)
                    return "sent"
                case Remember(memory):
                    self.remembered.add(memory)
                case _:
                    pass
        return "return"


def trace(
    table: RuleTable,
    source: str,
    destination: str,
    port: int,
    *,
    protocol: str = "TCP",
    view: NodeView = NODE_VIEW,
    local: Sequence[str] = LOCAL,
    known: frozenset[str] = frozenset(),
) -> Outcome:
    """Return what becomes of the first packet of a connection."""
    family = addresses.family_of(ip_address(destination).version)
    packet = _Packet(table, source, view.subnets.get(family, ""), local)
    to = ip_address(destination).packed
    by_port = bytes((addresses.PROTOCOLS[protocol], 0, 0, 0)) + port.to_bytes(2, "big") + b"\0\0"

    def look_up(by_address: str, ports: str = "") -> str:
        found = table.verdict(Element(by_address, to + by_port))
        if found is None and ports and destination in local and not ip_address(destination).is_loopback:
            found = table.verdict(Element(ports, by_port))
        return found or ""

    if (firewall := look_up(base_rules.FIREWALL_IPS)) and packet.run(packet.chains[firewall]) == "drop":
        return DROPPED
    is_cluster_ip = table.verdict(Element(base_rules.CLUSTER_IPS, to)) is not None
    if is_cluster_ip and not (packet.pods and packet.is_from(packet.pods)):
        packet.masqueraded = True
    chain = look_up(base_rules.SERVICE_IPS, base_rules.NODE_PORTS)
    if chain and packet.run(packet.chains[chain], known) == "sent":
        hairpin = any(
            table.verdict(Element(base_rules.HAIRPINS, target[:-2] * 2)) == ""
            and target[:-2] == ip_address(source).packed
            for target in packet.targets
        )
        return Outcome("sent", frozenset(map(_shown, packet.targets)), packet.masqueraded or hairpin)
    refused = look_up(base_rules.NO_ENDPOINTS, base_rules.NO_ENDPOINT_PORTS)
    if refused == DROP:
        return DROPPED
    return REJECTED if refused == base_rules.REJECT or is_cluster_ip else PASSED


def _shown(target: bytes) -> str:
    address, port = ip_address(target[:-2]), int.from_bytes(target[-2:], "big")
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"


# ---- objects


def service(name: str = "svc", cluster_ip: str = "172.30.0.41", **wish: object) -> Service:
    """Return a Service of namespace ``ns`` with one port ``p80``, unless ``wish`` says otherwise."""
    spec = {
        "type": "ClusterIP",
        "cluster_ip": cluster_ip,
        "ports": (ServicePort(name="p80", protocol="TCP", port=80),),
        "internal_traffic_policy": "Cluster",
        **{key: value for key, value in wish.items() if key not in ("ingress", "labels")},
    }
    ingress = wish.get("ingress", ())
    labels = wish.get("labels", {})
    assert isinstance(ingress, tuple)
    assert isinstance(labels, dict)
    return Service(
        metadata=ObjectMeta(namespace="ns", name=name, labels=labels),
        spec=ServiceSpec(**spec),  # type: ignore[arg-type]
        status=ServiceStatus(
            load_balancer=LoadBalancerStatus(
                ingress=tuple(
                    each if isinstance(each, LoadBalancerIngress) else LoadBalancerIngress(ip=each)
                    for each in ingress
                )
            )
        ),
    )


def endpoint(
    address: str,
    node: str = "",
    *,
    ready: bool | None = True,
    serving: bool | None = None,
    terminating: bool | None = None,
) -> Endpoint:
    conditions = EndpointConditions(ready=ready, serving=serving, terminating=terminating)
    return Endpoint(addresses=(address,), conditions=conditions, node_name=node or None)


def ending(address: str, node: str = "") -> Endpoint:
    """Return an endpoint that still serves while it terminates."""
    return endpoint(address, node, ready=False, serving=True, terminating=True)


def endpoint_slice(
    *endpoints: Endpoint, name: str = "svc", port: int = 80, family: str = "IPv4"
) -> EndpointSlice:
    return EndpointSlice(
        metadata=ObjectMeta(
            namespace="ns", name=f"{name}-{family.lower()}", labels={"kubernetes.io/service-name": name}
        ),
        address_type=family,
        ports=(EndpointPort(name="p80", protocol="TCP", port=port),),
        endpoints=endpoints,
    )


def rules_of(
    found: Service, *slices: EndpointSlice, view: NodeView = NODE_VIEW, family: str = "ip"
) -> ServiceRules:
    record = service_ports.record_of(found)
    if record is None:
        return ServiceRules()
    return render(record, [slice_record(each) for each in slices], view, family)


def table_of(
    found: Service, *slices: EndpointSlice, view: NodeView = NODE_VIEW, family: str = "ip"
) -> RuleTable:
    """Return the table of one Service."""
    table = RuleTable()
    table.put({Key("ns", found.metadata.name or ""): rules_of(found, *slices, view=view, family=family)})
    return table
