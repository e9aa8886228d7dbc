"""The node's nftables table for its pods: traffic out of the cluster, and host ports into pods.

``ruleset`` is pure and always renders the whole table, which one transaction puts in place of the old
one: nothing in between can be seen, and a repeat changes nothing. The table is named by the cluster, so
clusters beside each other, and other users of nftables, do not meet.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from ipaddress import IPv4Network

from podling.network.leases import Lease
from podling.runtime.base import PortMapping, RuntimeFailure
from podling.runtime.oci import commands

_PROTOCOLS = ("tcp", "udp", "sctp")
_ANY = ("", "0.0.0.0", "::")
FAMILIES = ("ip", "bridge")
"""``ruleset`` here writes the first, ``guard.ruleset`` the second; both tables have the same name."""


def ruleset(
    table: str, bridge: str, cluster: IPv4Network, subnet: IPv4Network, leases: Iterable[Lease]
) -> str:
    """Return the table as text for ``nft -f``.

    * Pods' traffic to anywhere outside the cluster leaves with the node's address.
    * A host port is answered on the node's addresses from outside, from pods and from the node itself,
      its loopback included; what would come back on a way of its own (from the loopback, or from the pod
      to itself) gets the node's address, so that answers return through the same translation.
    * Packets from pods to the node's loopback addresses are dropped unless they belong to a connection that
      the node itself translated (CVE-2020-8558; kube-proxy has the same rule): ``route_localnet``, which
      host ports on loopback need, would let them through.
    """
    known = list(leases)
    jumps = "\n".join(f"    {line}" for line in _jumps(known))
    own = ", ".join(f"{lease.address} . {lease.address}" for lease in known if lease.ports)
    hairpin = f"    ip saddr . ip daddr {{ {own} }} masquerade\n" if own else ""
    return f"""table ip {table} {{}}
delete table ip {table}
table ip {table} {{
  chain hostports {{
{jumps}
  }}
  chain input {{
    type filter hook input priority 0; policy accept;
    iifname "{bridge}" ip daddr 127.0.0.0/8 ct state != {{ established, related }} ct status & dnat == 0 drop
  }}
  chain prerouting {{
    type nat hook prerouting priority -100; policy accept;
    fib daddr type local jump hostports
  }}
  chain output {{
    type nat hook output priority -100; policy accept;
    fib daddr type local jump hostports
  }}
  chain postrouting {{
    type nat hook postrouting priority 100; policy accept;
{hairpin}    oifname "{bridge}" ip saddr 127.0.0.0/8 masquerade
    ip saddr {subnet} ip daddr != {cluster} oifname != "{bridge}" masquerade
  }}
}}
"""


def _jumps(leases: list[Lease]) -> list[str]:
    """One verdict map for each protocol and each address, so their number costs nothing."""
    targets: dict[tuple[str, str], list[str]] = {}
    for lease in leases:
        for port in lease.ports:
            host = "" if port.host_ip in _ANY else port.host_ip
            entry = f"{port.host_port} : {lease.address} . {port.container_port}"
            targets.setdefault((port.protocol.lower(), host), []).append(entry)
    lines = []
    for (protocol, host), entries in sorted(targets.items(), key=lambda item: (item[0][1] == "", item[0])):
        place = f"ip daddr {host} " if host else ""
        lines.append(f"{place}dnat ip to {protocol} dport map {{ {', '.join(sorted(entries))} }}")
    return lines


def check_ports(lease: Lease, others: Iterable[Lease]) -> None:
    """Raise ``RuntimeFailure`` when a host port of ``lease`` is taken, or is none that can be given."""
    taken = [port for other in others if other.sandbox_id != lease.sandbox_id for port in other.ports]
    for port in lease.ports:
        if port.protocol.lower() not in _PROTOCOLS:
            raise RuntimeFailure(f'host port {port.host_port}: unknown protocol "{port.protocol}"')
        if ":" in port.host_ip and port.host_ip not in _ANY:
            raise RuntimeFailure(f"host port {port.host_port}: pods have no IPv6 here, {port.host_ip} is one")
        if any(_meet(port, other) for other in taken):
            raise RuntimeFailure(
                f"host port {port.host_port}/{port.protocol} is already in use by another pod"
            )


def _meet(one: PortMapping, other: PortMapping) -> bool:
    """Return whether two mappings would answer the same packet."""
    if (one.protocol, one.host_port) != (other.protocol, other.host_port):
        return False
    return one.host_ip == other.host_ip or one.host_ip in _ANY or other.host_ip in _ANY


def forward_rules(listing: str, bridge: str) -> list[list[str]]:
    """Return the rules to add to the machine's FORWARD chain (``listing``: its ``iptables -S``).

    Docker, among others, sets that chain's policy to drop. What one table drops no other can accept, so
    there, and only there, packets from and to the bridge are let through where they would be dropped.
    """
    lines = listing.splitlines()
    if "-P FORWARD DROP" not in lines:
        return []
    return [rule for rule in _forward_rules(bridge) if f"-A {' '.join(rule)}" not in lines]


def _forward_rules(bridge: str) -> list[list[str]]:
    return [["FORWARD", direction, bridge, "-j", "ACCEPT"] for direction in ("-i", "-o")]


async def open_forwarding(bridge: str) -> None:
    """Let pods' packets through a machine that forwards none by itself. Raises ``RuntimeFailure``."""
    if shutil.which("iptables") is None:
        return
    listed = await commands.run(["iptables", "-w", "-S", "FORWARD"], check=False)
    for rule in forward_rules(listed.output, bridge):
        await commands.run(["iptables", "-w", "-I", *rule])


async def close_forwarding(bridge: str) -> None:
    """Undo ``open_forwarding``; succeeds where nothing was done."""
    if shutil.which("iptables") is None:
        return
    listed = await commands.run(["iptables", "-w", "-S", "FORWARD"], check=False)
    for rule in _forward_rules(bridge):
        if f"-A {' '.join(rule)}" in listed.output.splitlines():
            await commands.run(["iptables", "-w", "-D", *rule])


async def apply(text: str) -> None:
    """Put a ruleset in place. Raises ``RuntimeFailure``."""
    await commands.run(["nft", "-f", "-"], stdin=text.encode(), deadline=30.0)


async def listing(table: str) -> str:
    """Return the tables of this name as the kernel has them, without counters.

    Raises ``RuntimeFailure`` when one is missing or cannot be listed.
    """
    texts = [
        await commands.run(["nft", "-s", "list", "table", family, table], deadline=30.0)
        for family in FAMILIES
    ]
    return "\n".join(text.output for text in texts)


async def remove(table: str) -> None:
    """Remove the tables of this name; succeeds where there is none."""
    await apply("".join(f"table {each} {table} {{}}\ndelete table {each} {table}\n" for each in FAMILIES))
