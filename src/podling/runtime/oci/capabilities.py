"""The Linux capabilities of a container.

The default set is the one that container runtimes have shared since docker's first releases. ``add`` and
``drop`` follow the CRI: ``ALL`` first, then single additions, then single removals. A capability that this
machine itself lacks (a node that runs in a container or a restricted virtual machine) is left out of
``ALL``; adding it by name is an error, because the kernel would refuse it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from podling.runtime.base import RuntimeFailure, Security

_NUMBERED = """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE
AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
PERFMON BPF CHECKPOINT_RESTORE
"""

NAMES = tuple(f"CAP_{name}" for name in _NUMBERED.split())
"""Every capability, at the position of its number in the kernel."""

DEFAULT = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FSETID",
    "CAP_FOWNER",
    "CAP_MKNOD",
    "CAP_NET_RAW",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETFCAP",
    "CAP_SETPCAP",
    "CAP_NET_BIND_SERVICE",
    "CAP_SYS_CHROOT",
    "CAP_KILL",
    "CAP_AUDIT_WRITE",
)


def container_capabilities(security: Security, available: Collection[str]) -> tuple[str, ...]:
    """Return the capabilities of a container, in the kernel's order. Raises ``RuntimeFailure``."""
    everything = {name for name in NAMES if name in available}
    if security.privileged:
        return tuple(name for name in NAMES if name in everything)
    add = [_full_name(name) for name in security.add_capabilities]
    drop = [_full_name(name) for name in security.drop_capabilities]
    chosen = set(DEFAULT) & everything
    if "CAP_ALL" in add:
        chosen = set(everything)
    if "CAP_ALL" in drop:
        chosen = set()
    for name in add:
        if name == "CAP_ALL":
            continue
        if name not in NAMES:
            raise RuntimeFailure(f'unknown capability "{name}"')
        if name not in available:
            raise RuntimeFailure(f"capability {name} cannot be given: this node does not have it itself")
        chosen.add(name)
    chosen -= set(drop)
    return tuple(name for name in NAMES if name in chosen)


def _full_name(name: str) -> str:
    upper = name.upper()
    return upper if upper.startswith("CAP_") else f"CAP_{upper}"


def available_here() -> frozenset[str]:
    """Return the capabilities in this process' bounding set."""
    status = Path("/proc/self/status").read_text()
    bits = int(status.partition("CapBnd:")[2].split(maxsplit=1)[0], 16)
    return frozenset(name for number, name in enumerate(NAMES) if bits >> number & 1)
