"""The rules against pods that lie about who they are: an nftables table on the ports of the bridge.

A pod may send IPv4 and ARP with its own addresses, and nothing else. Without its own MAC and IP address as
the source, a frame could take over a neighbour's or the node's address (ARP and address spoofing). Pods
have no IPv6 address here, so all IPv6 from a pod is dropped: router advertisements (CVE-2020-10749),
redirects, neighbour advertisements, DHCPv6.

The rules cover every address of the subnet, each with the one port that can have it (``port_name``).
So they are written once, and the start of a pod changes nothing here.
"""

from __future__ import annotations

import hashlib
from ipaddress import IPv4Address, IPv4Network

_CLUSTER_DIGITS = 9
_LOOPBACK = "127.0.0.0/8"
_DHCP_SERVER = 67


def hardware_address(address: IPv4Address) -> bytes:
    """Return the hardware address that follows from a pod's address: its next owner is found at once."""
    return b"\x0a\x58" + address.packed


def port_name(cluster_id: str, address: IPv4Address) -> str:
    """Return the name of the bridge port of the pod with ``address``; interface names have 15 characters."""
    return f"{_prefix(cluster_id)}{int(address) & 0xFFFF:04x}"


def _prefix(cluster_id: str) -> str:
    return f"pv{hashlib.sha256(cluster_id.encode()).hexdigest()[:_CLUSTER_DIGITS]}"


def ruleset(table: str, cluster_id: str, subnet: IPv4Network) -> str:
    """Return the table as text for ``nft -f``; it replaces an earlier one in one transaction.

    What a pod may send is filtered further: nothing to the node's loopback addresses (CVE-2020-8558, see
    ``firewall``), no redirects, no answers of a DHCP server.
    """
    own = ", ".join(
        f'"{port_name(cluster_id, address)}" . {hardware_address(address).hex(":")} . {address}'
        for address in list(subnet.hosts())[1:]
    )
    return f"""table bridge {table} {{}}
delete table bridge {table}
table bridge {table} {{
  set pods {{
    type ifname . ether_addr . ipv4_addr
    elements = {{ {own} }}
  }}
  chain prerouting {{
    type filter hook prerouting priority -300; policy accept;
    iifname "{_prefix(cluster_id)}*" goto from_pod
  }}
  chain from_pod {{
    iifname . ether saddr . arp saddr ip @pods iifname . arp saddr ether . arp saddr ip @pods accept
    iifname . ether saddr . ip saddr @pods goto packet_from_pod
    drop
  }}
  chain packet_from_pod {{
    ip daddr {_LOOPBACK} drop
    udp sport {_DHCP_SERVER} drop
    icmp type redirect drop
  }}
}}
"""
