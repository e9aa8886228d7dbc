"""A network of the test process's own: what it makes there disturbs nothing and vanishes with the process.

Processes of a parallel run share one machine, but a machine has one node: the Services of a second cluster
would catch the packets of the first one's host-network pods, since all clusters have the same addresses.
"""

from __future__ import annotations

import os
import subprocess
from ipaddress import ip_address
from pathlib import Path

from podling.runtime.oci import linux

INTERFACE, OTHER_END = "eth0", "nowhere"
COMMANDS = (
    "ip link set lo up",
    f"ip link add {INTERFACE} type veth peer name {OTHER_END}",
    f"ip link set {INTERFACE} up",
    f"ip link set {OTHER_END} up",
    f"ip address add 192.0.2.2/24 dev {INTERFACE}",
    f"ip address add fd00::2/64 dev {INTERFACE} nodad",
    f"ip route add default via 192.0.2.1 dev {INTERFACE}",
    f"ip -6 route add default via fd00::1 dev {INTERFACE}",
)
"""A loopback device, and a way out of the machine that leads nowhere."""

_RESOLVERS = Path("/etc/resolv.conf")


def enter() -> None:
    """Give the calling thread, and what it starts from now on, a new network. Without root, do nothing."""
    if os.geteuid() != 0:
        return
    linux.unshare(linux.CLONE_NEWNET)
    for each in (*COMMANDS, *_refusals()):
        subprocess.run(each.split(), check=True)


def _refusals() -> list[str]:
    """Return commands that let the machine's name servers refuse: otherwise each unknown name would wait."""
    lines = [line.split() for line in _RESOLVERS.read_text().splitlines()] if _RESOLVERS.exists() else []
    servers = {ip_address(words[1]) for words in lines if words[:1] == ["nameserver"] and len(words) == 2}
    return [f"ip route add unreachable {each}" for each in servers if not each.is_loopback]
