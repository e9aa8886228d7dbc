"""The fixed part of the proxy's table: its hooks, and the maps through which Services are found. Pure.

One look-up in a map finds the chain of a Service, however many there are. Upstream: ``setupNFTables`` in
``pkg/proxy/nftables/proxier.go``. Differences: node ports are answered on every address of the node but the
loopback addresses, as with ``--nodeport-addresses 0.0.0.0/0,::/0``; packets to addresses of no Service are
dropped if pods sent them, because the machine may have a network of its own in that range; one set recognises
hairpin connections after translation, instead of a rule for each endpoint; another cluster's pods on the same
machine use their own cluster's Services.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from podling.network.names import Names

CLUSTER_IPS = "cluster-ips"
SERVICE_IPS = "service-ips"
NODE_PORTS = "service-nodeports"
NO_ENDPOINTS = "no-endpoint-services"
NO_ENDPOINT_PORTS = "no-endpoint-nodeports"
FIREWALL_IPS = "firewall-ips"
HAIRPINS = "hairpins"
SETS = (CLUSTER_IPS, SERVICE_IPS, NODE_PORTS, NO_ENDPOINTS, NO_ENDPOINT_PORTS, FIREWALL_IPS, HAIRPINS)

REJECT = "reject-chain"
MARK = "mark-for-masquerade"
MASQUERADE_MARK = 0x4000
"""kube-proxy's mark (its default bit 14): a packet whose connection gets the node's address."""
_BRIDGES = "pl-*"
"""The bridges of all clusters on the machine."""


class Place(Struct, frozen=True):
    """The node's part of the pod network, as far as one table (``ip`` or ``ip6``) needs it."""

    family: str
    table: str
    bridge: str
    subnet: str
    """The addresses of this node's pods; empty where they have none of this family."""
    service_ranges: tuple[str, ...] = ()
    """The ranges of cluster IPs. Packets of pods to addresses in them that no Service has are dropped."""
    guarded_port: int = 0
    """A TCP port of the machine that only the machine itself and pods may use; 0 for none."""
    detects_local: bool = True
    """The addresses of this node's pods are known: other clients of cluster IPs get the node's address."""


class BaseChain(Struct, frozen=True):
    """One chain with its rules, each as ``nft`` reads it."""

    name: str
    hook: str
    rules: tuple[str, ...]

    def comments(self) -> tuple[str, ...]:
        """Return a digest for each rule, by which it is recognised in the kernel."""
        return tuple(hashlib.sha256(f"{self.hook} {rule}".encode()).hexdigest()[:16] for rule in self.rules)


def service_table(names: Names) -> str:
    """Return the name of the proxy's tables."""
    return f"{names.table}_services"


def chains(place: Place) -> tuple[BaseChain, ...]:
    """Return the chains of the base, those first that others jump to."""
    ip = place.family
    by_address = f"{ip} daddr . meta l4proto . th dport vmap"
    # The kernel routes nothing from a loopback address to an endpoint of another machine.
    loopback = "127.0.0.0/8" if ip == "ip" else "::1"
    by_port = f"{ip} daddr != {loopback} fib daddr type local meta l4proto . th dport vmap"
    new = "ct state new jump"
    before = "type filter hook {} priority -110; policy accept;"
    after = "type filter hook {} priority 0; policy accept;"
    nat = "type nat hook {} priority {}; policy accept;"
    mark = f"{MASQUERADE_MARK:#x}"
    outside = f"{ip} saddr != {place.subnet} " if place.subnet else ""
    strangers = f'iifname != "lo" iifname != "{_BRIDGES}" tcp dport {place.guarded_port} drop'
    guard = (strangers,) if place.guarded_port else ()
    others = f'iifname "{_BRIDGES}" iifname != "{place.bridge}"'
    foreign = (f"{outside}{ip} daddr @{CLUSTER_IPS} jump {MARK}",) if place.detects_local else ()
    ranges = ", ".join(place.service_ranges)
    unallocated = (f'iifname "{place.bridge}" {ip} daddr {{ {ranges} }} drop',) if ranges else ()
    return (
        BaseChain(REJECT, "", ("reject",)),
        BaseChain(MARK, "", (f"meta mark set meta mark or {mark}",)),
        BaseChain(
            "endpoints-check", "", (f"{by_address} @{NO_ENDPOINTS}", f"{by_port} @{NO_ENDPOINT_PORTS}")
        ),
        BaseChain("cluster-ips-check", "", (f"{ip} daddr @{CLUSTER_IPS} reject",)),
        BaseChain("firewall-check", "", (f"{by_address} @{FIREWALL_IPS}",)),
        BaseChain("nodeports", "", (f"{by_port} @{NODE_PORTS}",)),
        BaseChain(
            "services",
            "",
            (
                *foreign,
                f"{by_address} @{SERVICE_IPS}",
                "goto nodeports",
            ),
        ),
        BaseChain(
            "masquerading",
            "",
            (
                f"ct status dnat {ip} saddr . {ip} daddr @{HAIRPINS} masquerade fully-random",
                f"meta mark and {mark} == 0 return",
                f"meta mark set meta mark xor {mark}",
                "masquerade fully-random",
            ),
        ),
        BaseChain("filter-prerouting-pre-dnat", before.format("prerouting"), (f"{new} firewall-check",)),
        BaseChain("filter-output-pre-dnat", before.format("output"), (f"{new} firewall-check",)),
        BaseChain("filter-input", after.format("input"), (*guard, f"{new} endpoints-check")),
        BaseChain(
            "filter-forward",
            after.format("forward"),
            (f"{others} return", f"{new} endpoints-check", f"{new} cluster-ips-check", *unallocated),
        ),
        BaseChain(
            "filter-output", after.format("output"), (f"{new} endpoints-check", f"{new} cluster-ips-check")
        ),
        BaseChain(
            "nat-prerouting",
            nat.format("prerouting", -100),
            (f"{others} goto nodeports", "jump services"),
        ),
        BaseChain("nat-output", nat.format("output", -100), ("jump services",)),
        BaseChain("nat-postrouting", nat.format("postrouting", 100), ("jump masquerading",)),
    )


def base_text(place: Place) -> str:
    """Return the base for ``nft -f``: what exists keeps its elements, and rules are written anew."""
    head = f"{place.family} {place.table}"
    lines = [f"add table {head}"]
    lines += [
        f"add {kind} {head} {name} {{ {definition}; }}" for name, kind, definition in _sets(place.family)
    ]
    known = chains(place)
    for chain in known:
        hook = f" {{ {chain.hook} }}" if chain.hook else ""
        lines += [f"add chain {head} {chain.name}{hook}", f"flush chain {head} {chain.name}"]
    for chain in known:
        for rule, comment in zip(chain.rules, chain.comments(), strict=True):
            lines.append(f'add rule {head} {chain.name} {rule} comment "{comment}"')
    return "\n".join(lines) + "\n"


def removal_text(families: Sequence[str], table: str) -> str:
    """Return what removes the tables of these families, whether they exist or not."""
    return "".join(f"add table {family} {table}\ndelete table {family} {table}\n" for family in families)


def _sets(family: str) -> tuple[tuple[str, str, str], ...]:
    address = {"ip": "ipv4_addr", "ip6": "ipv6_addr"}[family]
    by_address = f"type {address} . inet_proto . inet_service : verdict"
    by_port = "type inet_proto . inet_service : verdict"
    return (
        (CLUSTER_IPS, "set", f"type {address}"),
        (SERVICE_IPS, "map", by_address),
        (NODE_PORTS, "map", by_port),
        (NO_ENDPOINTS, "map", by_address),
        (NO_ENDPOINT_PORTS, "map", by_port),
        (FIREWALL_IPS, "map", by_address),
        (HAIRPINS, "set", f"type {address} . {address}"),
    )
