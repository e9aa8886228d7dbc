"""Finds remains of a cluster's pods on the machine: none may be left after the pods are deleted."""

from __future__ import annotations

import os
from pathlib import Path

from podling.cluster.directory import DataDirectory
from podling.network.names import Names
from podling.node.runtimes import STATE
from podling.runtime.oci import detect
from podling.runtime.oci.cgroups import Cgroups


def remains(directory: Path) -> list[str]:
    """Return processes, mounts, cgroups, namespaces, ports and directories of pods on a cluster's nodes."""
    data = DataDirectory(directory)
    return [
        found
        for index, name in enumerate(data.node_names())
        for found in _of_node(f"{data.id}-{index}", data.node(name))
    ]


def _of_node(identity: str, node: Path) -> list[str]:
    state = STATE / identity
    tops = Cgroups(detect.cgroup_mode()).hierarchies()
    return [
        *_processes(identity, str(node)),
        *_mounts(state, node),
        *_children(*(state / folder for folder in ("containers", "sandboxes", "engine", "exits"))),
        *_children(*(node / "oci" / folder for folder in ("containers", "sandboxes"))),
        *_children(*(node / "kubelet" / folder for folder in ("pods", "logs"))),
        *_children(state / "network" / "leases", Path("/sys/class/net") / Names.of(identity).bridge / "brif"),
        *(str(place) for top in tops for place in (top / f"podling-{identity}").glob("**/pod*")),
    ]


def _processes(identity: str, folder: str) -> list[str]:
    """Return processes in a cgroup of the node's pods, or with the node's directories in their commands."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            groups = Path(entry.path, "cgroup").read_text()
        except OSError:
            continue
        if f"podling-{identity}" in groups or (line and (f"/{identity}/" in line or f"{folder}/" in line)):
            found.append(f"process {entry.name}: {line} {groups}")
    return found


def _mounts(state: Path, node: Path) -> list[str]:
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    of_the_node = f"{state}/host-files/"
    return [
        f"mount {point}"
        for point in points
        if point.startswith((f"{state}/", f"{node}/")) and not point.startswith(of_the_node)
    ]


def _children(*folders: Path) -> list[str]:
    return [str(path) for folder in folders if folder.is_dir() for path in folder.iterdir()]
