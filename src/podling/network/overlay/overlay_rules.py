"""The nftables table that admits only known peers to the pods' network. Pure.

* Packets from the tunnel must come from the hardware address of a peer, with a source in its blocks.
* Packets with a source in a peer's blocks must come from the tunnel; with direct routes, from where the route
  to the peer leads.
* Tunnel packets of this cluster from machines that are no peers are dropped. So are those that pods send to
  any node: they would carry a packet with a source that nothing has checked.
* Tunnel packets between nodes are not tracked; their contents are.

Only packets with the cluster's VNI are judged, because other programs may have tunnels on the same port.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address

from podling.network.overlay.overlay_plan import VXLAN_ID, VXLAN_PORT, Address, Plan, hardware_address

_OURS = f"udp dport {VXLAN_PORT} @th,96,24 {VXLAN_ID}"
"""Tunnel packets of this cluster: the VNI follows 8 bytes of UDP and 4 of flags."""


def overlay_table(table: str) -> str:
    """Return the name of the table beside the node's own ``table``."""
    return f"{table}_overlay"


def removal(table: str) -> str:
    """Return what removes the table, also where there is none, as text for ``nft -f``."""
    name = overlay_table(table)
    return f"table inet {name} {{}}\ndelete table inet {name}\n"


def ruleset(table: str, tunnel: str, plan: Plan) -> str:
    """Return the table for ``plan``, as text for ``nft -f``. ``tunnel`` is the name of the tunnel device."""
    chains = [
        _chain(
            "prerouting", "prerouting priority -300", [*_spoofed(tunnel, plan), *_untracked(plan, "saddr")]
        ),
        _chain("input", "input priority 0", _strangers(plan)),
        _chain("output", "output priority -300", _untracked(plan, "daddr")),
        _chain("forward", "forward priority 0", _from_pods(plan)),
    ]
    return f"{removal(table)}table inet {overlay_table(table)} {{\n{''.join(chains)}}}\n"


def _chain(name: str, hook: str, rules: Iterable[str]) -> str:
    lines = "".join(f"    {rule}\n" for rule in rules)
    return f"  chain {name} {{\n    type filter hook {hook}; policy accept;\n{lines}  }}\n"


def _spoofed(tunnel: str, plan: Plan) -> Iterable[str]:
    for version, word in ((4, "ip"), (6, "ip6")):
        blocks = [
            (hardware_address(peer.address), block)
            for peer in plan.peers
            for block in peer.blocks
            if block.version == version
        ]
        if plan.tunnel is not None:
            pairs = [f"{hardware.hex(':')} . {block}" for hardware, block in blocks]
            known = f"ether saddr . {word} saddr != {_set(pairs)}" if pairs else f"meta nfproto ipv{version}"
            yield f'iifname "{tunnel}" {known} drop'
        if blocks:
            theirs = f"{word} saddr {_set(str(block) for _, block in blocks)}"
            wrong = f'iifname != "{tunnel}"' if plan.tunnel is not None else "fib saddr . iif oif missing"
            yield f"{theirs} {wrong} drop"


def _untracked(plan: Plan, end: str) -> Iterable[str]:
    if plan.tunnel is not None:
        word = _word(plan.tunnel.local)
        local = "daddr" if end == "saddr" else "saddr"
        peers = _set(str(peer.address) for peer in plan.peers)
        yield f"{word} {local} {plan.tunnel.local} {word} {end} {peers} {_OURS} notrack"


def _strangers(plan: Plan) -> Iterable[str]:
    """Drop tunnel packets of machines that are no peers, those of pods of this machine among them."""
    if plan.tunnel is not None:
        word = _word(plan.tunnel.local)
        yield f"{word} saddr != {_set(str(peer.address) for peer in plan.peers)} {_OURS} drop"
        yield f"meta nfproto {'ipv6' if word == 'ip' else 'ipv4'} {_OURS} drop"
    yield from _from_pods(plan)


def _from_pods(plan: Plan) -> Iterable[str]:
    if plan.tunnel is None:
        return
    nodes = [plan.tunnel.local, *(peer.address for peer in plan.peers)]
    word = _word(plan.tunnel.local)
    own = [str(block) for block in plan.own_blocks if _word(block.network_address) == word]
    if own:
        yield (f"{word} saddr {_set(own)} {word} daddr {_set(map(str, nodes))} udp dport {VXLAN_PORT} drop")


def _set(elements: Iterable[str]) -> str:
    return f"{{ {', '.join(sorted(elements))} }}"


def _word(address: Address) -> str:
    return "ip" if isinstance(address, IPv4Address) else "ip6"
