"""The rules against pods that lie about who they are: an nftables table on the ports of the bridge.

A pod may send IPv4 and ARP with its own addresses, and nothing else. Without its own MAC and IP address as
the source, a frame could take over a neighbour's or the node's address (ARP and address spoofing).

Where pods have IPv6 addresses they may send IPv6 with these, too, but none of the messages by which
neighbours and routers find each other: solicitations and advertisements (CVE-2020-10749), redirects, and
those of a DHCPv6 server. None is needed, because node and pods have permanent entries for each other
(``bridge``). Elsewhere all IPv6 from a pod is dropped.

The rules cover every address of the subnet, each with the one port that can have it (``port_name``).
So they are written once, and the start of a pod changes nothing here.
"""

from __future__ import annotations

import hashlib
from ipaddress import IPv4Address

from podling.network.blocks import Blocks

_CLUSTER_DIGITS = 9
_LOOPBACK = "127.0.0.0/8"
_DHCP_SERVER = 67
_DHCPV6_SERVER = 547
_NEIGHBOUR_DISCOVERY = "133-137"
"""The ICMPv6 types of RFC 4861: router and neighbour solicitations and advertisements, redirects."""


def hardware_address(address: IPv4Address) -> bytes:
    """Return the hardware address that follows from a pod's address: its next owner is found at once."""
    return b"\x0a\x58" + address.packed


def port_name(cluster_id: str, address: IPv4Address) -> str:
    """Return the name of the bridge port of the pod with ``address``; interface names have 15 characters."""
    return f"{_prefix(cluster_id)}{int(address) & 0xFFFF:04x}"


def _prefix(cluster_id: str) -> str:
    return f"pv{hashlib.sha256(cluster_id.encode()).hexdigest()[:_CLUSTER_DIGITS]}"


def ruleset(table: str, cluster_id: str, blocks: Blocks) -> str:
    """Return the table as text for ``nft -f``; it replaces an earlier one in one transaction.

    A packet goes to the node's own hardware address and never across the bridge to a neighbour, where the
    rules of the IP layer, network policies among them, would not see it. What a pod may send is filtered
    further: nothing to the node's loopback addresses (CVE-2020-8558, see
    ``firewall``), no redirects, no answers of a DHCP server.
    """
    pods = blocks.pod_addresses()
    ports = [
        f'"{port_name(cluster_id, address)}" . {hardware_address(address).hex(":")} . ' for address in pods
    ]
    own = ", ".join(f"{port}{address}" for port, address in zip(ports, pods, strict=True))
    sets = _set("pods", "ipv4_addr", own)
    accepted, chain = "", ""
    if blocks.ipv6 is not None:
        second = ", ".join(
            f"{port}{blocks.second(address)}" for port, address in zip(ports, pods, strict=True)
        )
        sets += _set("pods6", "ipv6_addr", second)
        accepted = "\n    iifname . ether saddr . ip6 saddr @pods6 goto packet6_from_pod"
        chain = _PACKET6
    return f"""table bridge {table} {{}}
delete table bridge {table}
table bridge {table} {{
{sets}  chain prerouting {{
    type filter hook prerouting priority -300; policy accept;
    iifname "{_prefix(cluster_id)}*" goto from_pod
  }}
  chain from_pod {{
    iifname . ether saddr . arp saddr ip @pods iifname . arp saddr ether . arp saddr ip @pods accept
    ether daddr != {hardware_address(blocks.gateway).hex(":")} drop
    iifname . ether saddr . ip saddr @pods goto packet_from_pod{accepted}
    drop
  }}
  chain packet_from_pod {{
    ip daddr {_LOOPBACK} drop
    udp sport {_DHCP_SERVER} drop
    icmp type redirect drop
  }}
{chain}}}
"""


def _set(name: str, kind: str, elements: str) -> str:
    return f"""  set {name} {{
    type ifname . ether_addr . {kind}
    elements = {{ {elements} }}
  }}
"""


_PACKET6 = f"""  chain packet6_from_pod {{
    ip6 daddr ::1 drop
    udp sport {_DHCPV6_SERVER} drop
    icmpv6 type {_NEIGHBOUR_DISCOVERY} drop
  }}
"""
