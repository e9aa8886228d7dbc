"""Facts about the node's machine: size, names, operating system. Read once, when the kubelet starts."""

from __future__ import annotations

import os
import platform
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from podling.kubelet.topology.machine_topology import read_huge_pages
from podling.runtime.platform import architecture
from podling.runtime.security_modules import is_app_armor_enabled

HUGE_PAGES_FOLDER = Path("/sys/kernel/mm/hugepages")
KERNEL_FOLDER = Path("/proc/sys/kernel")


class Machine(Struct, frozen=True, kw_only=True):
    """Facts about the node's machine. Sizes are bytes."""

    cpus: int = 1
    memory: int = 0
    ephemeral_storage: int = 0
    swap: int = 0
    huge_pages: Mapping[int, int] = field(default_factory=lambda: {1 << 30: 0, 2 << 20: 0})
    """Bytes in huge pages by the size of a page."""
    processes: int = 0
    """The largest number of processes and threads; zero if it is unknown."""
    architecture: str = "amd64"
    operating_system: str = "linux"
    os_image: str = ""
    kernel_version: str = ""
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    app_armor: bool = False
    """True if the kernel enforces AppArmor profiles."""
    address: str = "127.0.0.1"


def read_machine(root_dir: Path) -> Machine:
    """Return the facts about this machine; unreadable ones stay empty."""
    meminfo = read_meminfo()
    return Machine(
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=meminfo.get("MemTotal", 0),
        swap=meminfo.get("SwapTotal", 0),
        huge_pages=read_huge_pages(HUGE_PAGES_FOLDER),
        processes=most_processes(),
        ephemeral_storage=_disk_size(root_dir),
        architecture=architecture(),
        operating_system=platform.system().lower(),
        os_image=_os_image(),
        kernel_version=platform.release(),
        machine_id=_first_line("/etc/machine-id"),
        system_uuid=_first_line("/sys/class/dmi/id/product_uuid") or _first_line("/etc/machine-id"),
        boot_id=_first_line("/proc/sys/kernel/random/boot_id"),
        app_armor=is_app_armor_enabled(),
        address=primary_address(),
    )


def primary_address() -> str:
    """Return the address with which the machine reaches others; the loopback address if it reaches none.

    Connecting a datagram socket only looks up the route: nothing is sent.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def most_processes(folder: Path = KERNEL_FOLDER) -> int:
    """Return how many processes and threads the kernel can have; zero if it does not say.

    Upstream: ``pkg/kubelet/stats/pidlimit``.
    """
    texts = (_first_line(str(folder / name)) for name in ("pid_max", "threads-max"))
    return min((int(text) for text in texts if text.isdigit()), default=0)


def read_meminfo() -> dict[str, int]:
    """Return ``/proc/meminfo`` in bytes, by name; without it, the memory size from ``sysconf``."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            return {"MemTotal": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")}
        return {}
    found = {}
    for line in lines:
        name, _, rest = line.partition(":")
        fields = rest.split()
        if fields and fields[0].isdigit():
            found[name] = int(fields[0]) * (1024 if fields[-1] == "kB" else 1)
    return found


def read_swap_areas(path: Path) -> tuple[str, ...]:
    """Return the swap areas in ``/proc/swaps``; a kernel without that file has no swap."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ()
    return tuple(line.split()[0] for line in lines[1:] if line.strip())


def _disk_size(path: Path) -> int:
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).total
    except OSError:
        return 0


def _os_image() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Unknown")
    except OSError:
        return platform.platform()


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
