"""Admission of sysctls: safe ones, and those that the node's configuration allows. Pure.

Upstream: ``pkg/kubelet/sysctl``. Only settings that the kernel keeps for each namespace are ever allowed:
others would change the node.
"""

from __future__ import annotations

from collections.abc import Iterable

from podling.runtime.sysctl_names import dots_between_parts, namespace_of

SAFE_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)


def forbidden_sysctl(
    name: str, allowed: Iterable[str], *, host_network: bool = False, host_ipc: bool = False
) -> str:
    """Return why a pod may not set ``name``; empty if it may.

    ``allowed`` are names, or beginnings of names before a ``*``.
    """
    dotted = dots_between_parts(name)
    namespace = namespace_of(dotted)
    if not namespace or not (dotted in SAFE_SYSCTLS or any(_matches(dotted, each) for each in allowed)):
        return f'"{dotted}" not allowlisted'
    if (namespace == "Net" and host_network) or (namespace == "IPC" and host_ipc):
        return f'"{dotted}" not allowed with host {namespace} enabled'
    return ""


def _matches(name: str, pattern: str) -> bool:
    dotted = dots_between_parts(pattern)
    return name.startswith(dotted[:-1]) if dotted.endswith("*") else name == dotted
