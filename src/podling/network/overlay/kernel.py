"""The overlay's part of the kernel's state: compares it with a plan and makes it so. Blocking.

Every call reads what the kernel has and changes only what differs, so a call repairs what another program
deleted. Routes are known by their metric, which is the cluster's; all others are left alone.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from podling.network import kernel_settings
from podling.network.netlink import interfaces, links, wire
from podling.network.netlink.connection import Netlink
from podling.network.netlink.wire import Message
from podling.network.overlay import messages
from podling.network.overlay.messages import Device, FoundRoute, Owner
from podling.network.overlay.overlay_plan import ForwardingEntry, Neighbour, Plan, Route

_NAME_DIGITS = 10
_METRIC_BASE = 0x50000000


class OverlayNames(Struct, frozen=True):
    """The names of the overlay of one cluster on this machine."""

    device: str
    owner: Owner

    @staticmethod
    def of(cluster_id: str) -> OverlayNames:
        digest = hashlib.sha256(cluster_id.encode()).digest()
        device = f"pvx-{digest.hex()[:_NAME_DIGITS]}"
        return OverlayNames(device, Owner(_METRIC_BASE | int.from_bytes(digest[:3], "big")))


class Outcome(Struct, frozen=True):
    """``changes``: what was missing or wrong, for people. ``problems``: what cannot be made."""

    changes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def apply(names: OverlayNames, plan: Plan, mtu: int) -> Outcome:
    """Make the kernel's state what ``plan`` says. Raises ``OSError``."""
    changes: list[str] = []
    with Netlink() as kernel:
        device = _device(kernel, names, plan, mtu, changes)
        if device is not None:
            changes += _addresses(kernel, device.index, plan)
            changes += _entries(kernel, device.index, plan)
        routes = _routes(kernel, names, plan, device)
        return Outcome((*changes, *routes.changes), routes.problems)


def remove(names: OverlayNames) -> None:
    """Remove device and routes; succeeds where there are none. Raises ``OSError``."""
    apply(names, Plan(), 0)


def _device(kernel: Netlink, names: OverlayNames, plan: Plan, mtu: int, changes: list[str]) -> Device | None:
    """Return the tunnel device, made or corrected; None if the plan has none."""
    found = find_device(kernel, names.device)
    if found is not None and (plan.tunnel is None or not found.leads_like(plan.tunnel)):
        kernel.request([links.delete_link(names.device)])
        changes.append(f"the tunnel {names.device} was not wanted or had other settings")
        found = None
    if plan.tunnel is None:
        return None
    if found is None:
        kernel.request([messages.add_tunnel(names.device, plan.tunnel, mtu)])
        changes.append(f"the tunnel {names.device} was missing")
        found = find_device(kernel, names.device)
        assert found is not None, "the kernel has just made it"
    if not found.is_up:
        kernel.request([links.set_up(found.index)])
        changes.append(f"the tunnel {names.device} was down")
    if found.mtu != mtu:
        kernel.request([messages.set_mtu(found.index, mtu)])
        changes.append(f"the tunnel {names.device} had the MTU {found.mtu}")
    if plan.tunnel.source is not None:
        kernel.request([links.add_address(found.index, plan.tunnel.source.packed, 32)])
    _settings(names.device, has_ipv6=6 in plan.families)
    return found


def find_device(kernel: Netlink, name: str) -> Device | None:
    """Return the device of this name as the kernel has it. Raises ``OSError``."""
    if not interfaces.index_of(name):
        return None
    payloads = kernel.dump(wire.RTM_GETLINK, wire.LINK.pack(0, 0, 0, 0, 0), name)
    return next((found for each in payloads if (found := messages.device_of(each, name))), None)


def _settings(device: str, *, has_ipv6: bool) -> None:
    """Refuse redirects and router advertisements from peers, and IPv6 where pods have none."""
    wanted = {
        f"/proc/sys/net/ipv4/conf/{device}/send_redirects": "0",
        f"/proc/sys/net/ipv4/conf/{device}/accept_redirects": "0",
        f"/proc/sys/net/ipv6/conf/{device}/accept_ra": "0",
        f"/proc/sys/net/ipv6/conf/{device}/accept_redirects": "0",
        f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6": "0" if has_ipv6 else "1",
    }
    for path, text in wanted.items():
        with suppress(FileNotFoundError):  # a kernel without IPv6
            if Path(path).read_text().strip() != text:
                kernel_settings.write(path, text)


def _addresses(kernel: Netlink, index: int, plan: Plan) -> list[str]:
    """Correct the tunnel's own addresses; return what was wrong.

    They are the first of the node's blocks, which no pod has. A connection from outside that a Service leads
    to a pod of a peer gets such an address: the peer takes in packets from the node's blocks only.
    """
    wanted = {block.network_address for block in plan.own_blocks if block.version in plan.families}
    found = set()
    for version in plan.families:
        body = messages.own_addresses_request(version)
        payloads = kernel.dump(wire.RTM_GETADDR, body, "addresses")
        found |= {own for each in payloads if (own := messages.own_address_of(each, index))}
    requests = [messages.own_address(index, address, delete=True) for address in found - wanted]
    requests += [messages.own_address(index, address) for address in wanted - found]
    _request(kernel, requests)
    return [f"the tunnel's address {request.about} was missing or wrong" for request in requests]


def _entries(kernel: Netlink, index: int, plan: Plan) -> list[str]:
    """Correct the neighbours and forwarding entries of the tunnel; return what was wrong."""
    wanted: frozenset[Neighbour | ForwardingEntry] = frozenset({*plan.neighbours, *plan.forwarding})
    payloads = kernel.dump(wire.RTM_GETNEIGH, messages.forwarding_request(index), "forwarding entries")
    for version in sorted(plan.families | {4}):
        body = messages.neighbours_request(version, index)
        payloads += kernel.dump(wire.RTM_GETNEIGH, body, "neighbours")
    found = {entry for each in payloads if (entry := messages.neighbour_of(each, index))}
    requests = [messages.neighbour(index, entry, delete=True) for entry in found - wanted]
    requests += [messages.neighbour(index, entry) for entry in wanted - found]
    _request(kernel, requests)
    return [f"the tunnel's entry for {request.about} was missing or wrong" for request in requests]


def _routes(kernel: Netlink, names: OverlayNames, plan: Plan, device: Device | None) -> Outcome:
    """Correct our routes; return what was wrong, and the blocks that the machine routes elsewhere."""
    found: list[FoundRoute] = []
    for version in (4, 6):
        with suppress(OSError):  # a kernel without IPv6
            payloads = kernel.dump(wire.RTM_GETROUTE, messages.routes_request(version), "routes")
            found += [each for data in payloads if (each := messages.route_of(data, names.owner))]
    taken = {each.route.block: each.index for each in found if not each.is_ours}
    problems = [
        f"{route.block} of another node is already routed elsewhere on this machine"
        for route in sorted(plan.routes, key=str)
        if route.block in taken
    ]
    wanted = {route for route in plan.routes if route.block not in taken}
    ours = [each for each in found if each.is_ours]
    right = {each.route for each in ours if device is None or each.index == device.index}
    blocks = {route.block for route in wanted}
    stale = [each.route for each in ours if each.route.block not in blocks]
    index = device.index if device is not None else 0
    requests = [messages.route(0, each, names.owner, on_link=False, delete=True) for each in stale]
    _request(kernel, requests)
    changes = [f"the route to {request.about} was stale" for request in requests]
    for missing in sorted(wanted - right, key=str):
        try:
            kernel.request([messages.route(index, missing, names.owner, on_link=device is not None)])
            changes.append(f"the route to {missing.block} was missing or wrong")
        except OSError as error:
            problems.append(_unreachable(missing, error, by_tunnel=device is not None))
    return Outcome(tuple(changes), tuple(problems))


def _unreachable(route: Route, error: OSError, *, by_tunnel: bool) -> str:
    hint = "" if by_tunnel else "; --network routes needs nodes that share a link"
    return f"{route.block} cannot be routed by {route.gateway}: {error.strerror}{hint}"


def _request(kernel: Netlink, requests: list[Message]) -> None:
    """Carry out requests, each by itself: one datagram cannot hold those of many peers."""
    for request in requests:
        with suppress(FileNotFoundError, ProcessLookupError):  # deleted by another program meanwhile
            kernel.request([request])
