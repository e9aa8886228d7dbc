"""Detailed measurement of all pods and containers of one runtime. Blocking: to be called in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from podling.runtime.figures import ContainerFigures, InterfaceFigures, PodFigures, RuntimeFigures
from podling.runtime.oci.host import Host
from podling.runtime.oci.measuring.cgroup_figures import cgroup_figures, open_files_of
from podling.runtime.oci.records import ContainerRecord, SandboxRecord
from podling.runtime.proc_net import interfaces


def measured(
    host: Host, sandboxes: Sequence[SandboxRecord], running: Sequence[ContainerRecord], at: datetime
) -> RuntimeFigures:
    """Return the figures of these pods and containers; what has ended meanwhile has zeros."""
    pids = {record.sandbox_id: record.pid for record in running}
    return RuntimeFigures(
        at=at,
        pods=tuple(
            PodFigures(
                sandbox_id=record.id,
                cgroup=record.cgroup,
                figures=cgroup_figures(host.cgroups, record.cgroup),
                interfaces=_interfaces(record, pids.get(record.id) or record.init_pid),
            )
            for record in sandboxes
        ),
        containers=tuple(
            ContainerFigures(
                container_id=record.id,
                cgroup=record.cgroup,
                figures=cgroup_figures(host.cgroups, record.cgroup),
                open_files=open_files_of(record.pid),
            )
            for record in running
        ),
    )


def _interfaces(record: SandboxRecord, pid: int) -> tuple[InterfaceFigures, ...]:
    """Return the interfaces of a pod's network, as one of its processes sees them; empty without one."""
    if record.namespaces.host_network or not pid:
        return ()
    try:
        return interfaces(Path(f"/proc/{pid}/net/dev").read_text())
    except OSError:
        return ()
