"""The node's nftables tables for its pods: traffic out of the cluster, and host ports into pods.

``ruleset`` is pure and always renders the whole table, which one transaction puts in place of the old
one: nothing in between can be seen, and a repeat changes nothing. The table is named by the cluster, so
clusters beside each other, and other users of nftables, do not meet.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from podling.machinery.network_ranges import Network
from podling.network import ipv6
from podling.network.blocks import Blocks
from podling.network.leases import Lease
from podling.runtime.base import PortMapping, RuntimeFailure
from podling.runtime.oci import commands

_PROTOCOLS = ("tcp", "udp", "sctp")
_ANY = ("", "0.0.0.0", "::")


def ruleset(table: str, bridge: str, cluster: Network, subnet: Network, leases: Iterable[Lease]) -> str:
    """Return the table of one family as text for ``nft -f``.

    * Pods' traffic to anywhere outside the cluster leaves with the node's address.
    * A host port is answered on the node's addresses from outside, from pods and from the node itself,
      its loopback included; what would come back on a way of its own (from the loopback, or from the pod
      to itself) gets the node's address, so that answers return through the same translation.
    * Packets from pods to the node's loopback addresses are dropped unless they belong to a connection that
      the node itself translated (CVE-2020-8558; kube-proxy has the same rule): ``route_localnet``, which
      host ports on loopback need, would let them through.

    IPv6 has no ``route_localnet``: the kernel itself drops what comes from a pod for ``::1``, and no packet
    to ``::1`` leaves the node, so host ports do not answer there.
    """
    family = "ip" if subnet.version == 4 else "ip6"
    known = [target for lease in leases for target in _targets(lease, subnet.version)]
    jumps = "\n".join(f"    {line}" for line in _jumps(known, family))
    own = ", ".join(f"{address} . {address}" for address in dict.fromkeys(each.address for each in known))
    hairpin = f"    {family} saddr . {family} daddr {{ {own} }} masquerade\n" if own else ""
    local = "fib daddr type local jump hostports"
    output = local if family == "ip" else f"ip6 daddr != ::1 {local}"
    return f"""table {family} {table} {{}}
delete table {family} {table}
table {family} {table} {{
  chain hostports {{
{jumps}
  }}
{_LOOPBACK_GUARD.format(bridge=bridge) if family == "ip" else ""}  chain prerouting {{
    type nat hook prerouting priority -100; policy accept;
    {local}
  }}
  chain output {{
    type nat hook output priority -100; policy accept;
    {output}
  }}
  chain postrouting {{
    type nat hook postrouting priority 100; policy accept;
{hairpin}{_LOOPBACK_SOURCE.format(bridge=bridge) if family == "ip" else ""}\
    {family} saddr {subnet} {family} daddr != {cluster} oifname != "{bridge}" masquerade
  }}
}}
"""


_LOOPBACK_GUARD = """  chain input {{
    type filter hook input priority 0; policy accept;
    iifname "{bridge}" ip daddr 127.0.0.0/8 ct state != {{ established, related }} ct status & dnat == 0 drop
  }}
"""
_LOOPBACK_SOURCE = """    oifname "{bridge}" ip saddr 127.0.0.0/8 masquerade
"""


class _Target(NamedTuple):
    """One host port, and the pod's address of one family behind it."""

    port: PortMapping
    address: str


def _targets(lease: Lease, version: int) -> list[_Target]:
    """Return the host ports of a pod that are answered in one family."""
    address = lease.address if version == 4 else lease.second
    if not address:
        return []
    return [_Target(port, address) for port in lease.ports if _answers(port, version)]


def _answers(port: PortMapping, version: int) -> bool:
    """Return whether a host port is answered in one family: its address says so, or it has none."""
    return port.host_ip in _ANY or (":" in port.host_ip) == (version == 6)


def _jumps(known: list[_Target], family: str) -> list[str]:
    """One verdict map for each protocol and each address, so their number costs nothing."""
    targets: dict[tuple[str, str], list[str]] = {}
    for port, address in known:
        host = "" if port.host_ip in _ANY else port.host_ip
        entry = f"{port.host_port} : {address} . {port.container_port}"
        targets.setdefault((port.protocol.lower(), host), []).append(entry)
    lines = []
    for (protocol, host), entries in sorted(targets.items(), key=lambda item: (item[0][1] == "", item[0])):
        place = f"{family} daddr {host} " if host else ""
        lines.append(f"{place}dnat {family} to {protocol} dport map {{ {', '.join(sorted(entries))} }}")
    return lines


def check_ports(lease: Lease, others: Iterable[Lease], *, has_ipv6: bool = False) -> None:
    """Raise ``RuntimeFailure`` when a host port of ``lease`` is taken, or is none that can be given.

    ``has_ipv6``: whether pods have IPv6 addresses.
    """
    taken = [port for other in others if other.sandbox_id != lease.sandbox_id for port in other.ports]
    for port in lease.ports:
        if port.protocol.lower() not in _PROTOCOLS:
            raise RuntimeFailure(f'host port {port.host_port}: unknown protocol "{port.protocol}"')
        if ":" in port.host_ip and port.host_ip not in _ANY and not has_ipv6:
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


_IPTABLES = {4: "iptables", 6: "ip6tables"}
_LEGACY_TABLES = {4: Path("/proc/net/ip_tables_names"), 6: Path("/proc/net/ip6_tables_names")}


def legacy_tables() -> str:
    """Return the tables of the kernel's older packet filter, beside nftables, of both families."""
    found = []
    for place in _LEGACY_TABLES.values():
        with suppress(OSError):
            found.append(place.read_text())
    return "\n".join(found)


def _programs(version: int) -> list[str]:
    """Return the programs that show a FORWARD chain: iptables on nftables, and the older one if it is used.

    A packet passes both. Listing the older one's chain would load its kernel module.
    """
    name, legacy = _IPTABLES[version], f"{_IPTABLES[version]}-legacy"
    with suppress(OSError):
        if "filter" in _LEGACY_TABLES[version].read_text().split():
            return [each for each in (name, legacy) if shutil.which(each)]
    return [name] if shutil.which(name) else []


async def open_forwarding(bridge: str, version: int = 4) -> None:
    """Let pods' packets through a machine that forwards none by itself. Raises ``RuntimeFailure``."""
    for program in _programs(version):
        listed = await commands.run([program, "-w", "-S", "FORWARD"], check=False)
        for rule in forward_rules(listed.output, bridge):
            await commands.run([program, "-w", "-I", *rule])


async def close_forwarding(bridge: str) -> None:
    """Undo ``open_forwarding`` for every family; succeeds where nothing was done."""
    for program in (*_programs(4), *_programs(6)):
        listed = await commands.run([program, "-w", "-S", "FORWARD"], check=False)
        for rule in _forward_rules(bridge):
            if f"-A {' '.join(rule)}" in listed.output.splitlines():
                await commands.run([program, "-w", "-D", *rule])


async def apply(text: str) -> None:
    """Put a ruleset in place. Raises ``RuntimeFailure``."""
    await commands.run(["nft", "-f", "-"], stdin=text.encode(), deadline=30.0)


def families(blocks: Blocks) -> tuple[str, ...]:
    """Return the families of the node's tables, all of one name.

    ``ruleset`` here writes those of the IP layer, ``guard.ruleset`` that of the bridge.
    """
    return ("ip", "bridge") if blocks.ipv6 is None else ("ip", "ip6", "bridge")


async def listing(table: str, blocks: Blocks) -> str:
    """Return the tables of this name as the kernel has them, without counters.

    Raises ``RuntimeFailure`` when one is missing or cannot be listed.
    """
    texts = [
        await commands.run(["nft", "-s", "list", "table", family, table], deadline=30.0)
        for family in families(blocks)
    ]
    return "\n".join(text.output for text in texts)


def removal(table: str, family: str) -> str:
    """Return the text for ``nft -f`` that removes a table, also one that does not exist."""
    return f"table {family} {table} {{}}\ndelete table {family} {table}\n"


async def remove(table: str) -> None:
    """Remove the tables of this name; succeeds where there is none."""
    every = ("ip", "ip6", "bridge") if ipv6.is_supported() else ("ip", "bridge")
    await apply("".join(removal(table, each) for each in every))


def parts(listing: str, table: str) -> list[tuple[str, str]]:
    """Return family and name of the tables of a node's other components (``listing``: nft's list of tables).

    Their names begin with ``table`` and an underscore.
    """
    found = [line.split() for line in listing.splitlines()]
    return [(words[1], words[2]) for words in found if len(words) == 3 and words[2].startswith(f"{table}_")]


async def remove_parts(table: str) -> None:
    """Remove the tables of the components beside the pod network: Services, policies. Raises
    ``RuntimeFailure``."""
    listed = await commands.run(["nft", "list", "tables"])
    text = "".join(f"delete table {family} {name}\n" for family, name in parts(listed.output, table))
    if text:
        await apply(text)
