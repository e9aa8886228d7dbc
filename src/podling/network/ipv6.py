"""The node's IPv6 settings where pods have IPv6 addresses.

The kernel forwards IPv6 for all interfaces or for none. A machine that forwards takes no router
advertisements any more unless an interface says otherwise (``accept_ra`` 2). Interfaces that took them go on
to take them, so that the machine keeps its own addresses and routes.
Source: Documentation/networking/ip-sysctl.rst.
"""

from __future__ import annotations

from pathlib import Path

from podling.network.kernel_settings import write

_CONF = Path("/proc/sys/net/ipv6/conf")
_FORWARDING = f"{_CONF}/all/forwarding"
_NO_LINK_LOCAL_ADDRESS = "1"
_TAKES = "1"
_TAKES_WHILE_FORWARDING = "2"


def is_supported() -> bool:
    """Return whether the kernel has IPv6."""
    return _CONF.is_dir()


def prepare_node(bridge: str) -> None:
    """Let the bridge have IPv6, and the node forward it. Raises ``OSError``."""
    write(f"{_CONF}/{bridge}/addr_gen_mode", _NO_LINK_LOCAL_ADDRESS)
    for path, value in node_settings(bridge):
        if path == _FORWARDING:
            _keep_router_advertisements(bridge)
        write(path, value)


def node_settings(bridge: str) -> list[tuple[str, str]]:
    """Return the settings that pods need. The bridge takes no part in what pods could advertise on it."""
    own = f"{_CONF}/{bridge}"
    return [
        (f"{own}/accept_ra", "0"),
        (f"{own}/accept_redirects", "0"),
        (f"{own}/disable_ipv6", "0"),
        (_FORWARDING, "1"),
    ]


def _keep_router_advertisements(bridge: str) -> None:
    for folder in _CONF.iterdir():
        setting = folder / "accept_ra"
        if folder.name in (bridge, "all", "lo") or setting.read_text().strip() != _TAKES:
            continue
        if (folder / "forwarding").read_text().strip() == "0":
            write(str(setting), _TAKES_WHILE_FORWARDING)
