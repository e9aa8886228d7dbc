"""The content of ``/stats/summary``, made of one measurement. Pure.

Usage per second is the difference to the measurement before, so it is absent the first time. A runtime that
does not measure in detail gives CPU, memory, processes and writable layers of containers; a pod is then the
sum of its containers. Source: ``pkg/kubelet/stats/cri_stats_provider.go``, ``stats/helper.go``,
``server/stats/summary.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from podling.kubelet.server.disk_use import DiskUse
from podling.kubelet.server.machine_use import MachineUse
from podling.kubelet.server.snapshot import Item, MeasuredPod, UsageSnapshot
from podling.kubelet.server.summary_types import (
    ContainerUse,
    CpuUse,
    FsUse,
    InterfaceUse,
    IoUse,
    MemoryUse,
    NetworkUse,
    NodeUse,
    PodReference,
    PodUse,
    PressureUse,
    ProcessCount,
    ProcessLimit,
    RuntimeUse,
    Stalled,
    Summary,
    SwapUse,
)
from podling.runtime.figures import CgroupFigures, InterfaceFigures, Pressure, Stall

DEFAULT_INTERFACE = "eth0"
NODE = "node"
"""The name of the node among the samples of CPU time."""


class Sample(Struct, frozen=True):
    """CPU time at a moment."""

    at: datetime
    cpu_nanoseconds: int


Samples = Mapping[str, Sample]
"""Samples by container, by sandbox, and of the node."""


class Measured(Struct, frozen=True):
    """All that a summary is made of. What could not be measured is None."""

    node_name: str
    snapshot: UsageSnapshot
    machine: MachineUse | None = None
    disks: DiskUse | None = None


def samples_of(measured: Measured) -> dict[str, Sample]:
    """Return the samples with which the next measurement computes rates."""
    found = {
        each.container_id: Sample(each.at, each.cpu_nanoseconds) for _, _, each in measured.snapshot.running
    }
    for pod in measured.snapshot.measured_pods():
        found[pod.sandbox.id] = _pod_sample(pod)
    if measured.machine is not None:
        found[NODE] = Sample(measured.machine.at, measured.machine.cpu_nanoseconds)
    return found


def summary(measured: Measured, before: Samples) -> Summary:
    """Return the summary; ``before`` are the samples of an earlier measurement."""
    pods = measured.snapshot.measured_pods()
    return Summary(_node(measured, before), [_pod(pod, measured, before) for pod in pods])


def _node(measured: Measured, before: Samples) -> NodeUse:
    machine, disks = measured.machine, measured.disks
    found = NodeUse(
        measured.node_name,
        fs=disks.node if disks is not None else None,
        runtime=RuntimeUse(disks.images, disks.node) if disks is not None else None,
    )
    if machine is None:
        return found
    at, limit = machine.at, ProcessLimit(machine.at, machine.processes_max, machine.processes)
    free = machine.swap_total_bytes - machine.swap_bytes
    return replace(
        found,
        start_time=machine.started_at,
        cpu=_cpu(Sample(at, machine.cpu_nanoseconds), before.get(NODE)),
        memory=_machine_memory(machine),
        swap=SwapUse(at, free, machine.swap_bytes) if machine.memory_total_bytes else None,
        network=_network(at, machine.interfaces) if machine.interfaces else None,
        rlimit=limit if machine.processes_max else None,
    )


def _machine_memory(machine: MachineUse) -> MemoryUse:
    """Return the memory of the machine; of a simulated one only the working set is known."""
    at, used = machine.at, machine.memory_working_set_bytes
    if not machine.memory_total_bytes:
        return MemoryUse(at, working_set_bytes=used)
    return MemoryUse(
        at,
        available_bytes=max(0, machine.memory_total_bytes - used),
        usage_bytes=machine.memory_bytes,
        working_set_bytes=used,
        rss_bytes=machine.rss_bytes,
        page_faults=machine.page_faults,
        major_page_faults=machine.major_page_faults,
    )


def _pod(pod: MeasuredPod, measured: Measured, before: Samples) -> PodUse:
    sandbox, uid = pod.sandbox, pod.sandbox.pod_uid
    at = pod.items[0][2].at
    found = PodUse(
        pod_ref=PodReference(sandbox.pod_name, sandbox.pod_namespace, uid),
        start_time=sandbox.created_at,
        containers=[_container(item, measured, before) for item in pod.items],
        cpu=_cpu(_pod_sample(pod), before.get(sandbox.id)),
        process_stats=ProcessCount(sum(figures.processes for _, _, figures in pod.items)),
    )
    if pod.figures is None:
        used = sum(figures.memory_bytes for _, _, figures in pod.items)
        working_set = sum(figures.memory_working_set_bytes for _, _, figures in pod.items)
        found = replace(found, memory=MemoryUse(at, usage_bytes=used, working_set_bytes=working_set))
    else:
        own = pod.figures.figures
        found = replace(
            found,
            cpu=_with_pressure(found.cpu, own),
            memory=_memory(at, own, None),
            swap=SwapUse(at, None, own.swap_bytes),
            io=_io(at, own),
            process_stats=ProcessCount(own.processes),
            network=_network(at, pod.figures.interfaces) if pod.figures.interfaces else None,
        )
    if measured.disks is None:
        return found
    return replace(
        found,
        volume=list(measured.disks.volumes.get(uid, ())),
        ephemeral_storage=_ephemeral_storage(found, measured.disks, uid),
    )


def _ephemeral_storage(pod: PodUse, disks: DiskUse, uid: str) -> FsUse:
    """Return the pod's part of the node's disk: layers, logs and scratch volumes."""
    used = disks.scratch.get(uid, 0)
    for container in pod.containers:
        for part in (container.rootfs, container.logs):
            used += part.used_bytes or 0 if part is not None else 0
    node = disks.node
    return FsUse(node.time, node.available_bytes, node.capacity_bytes, used, node.inodes_free, node.inodes)


def _container(item: Item, measured: Measured, before: Samples) -> ContainerUse:
    sandbox, container, figures = item
    at, disks = figures.at, measured.disks
    found = ContainerUse(
        name=container.name,
        start_time=container.started_at or container.created_at,
        cpu=_cpu(Sample(at, figures.cpu_nanoseconds), before.get(container.id)),
        memory=MemoryUse(
            at, usage_bytes=figures.memory_bytes, working_set_bytes=figures.memory_working_set_bytes
        ),
        rootfs=FsUse(at, used_bytes=figures.writable_layer_bytes),
    )
    if disks is not None:
        logs = disks.logs.get((sandbox.pod_uid, container.name), 0)
        found = replace(
            found,
            rootfs=_part_of(disks.node, figures.writable_layer_bytes),
            logs=_part_of(disks.node, logs),
        )
    detail = measured.snapshot.containers.get(container.id)
    if detail is None:
        return found
    own, limits = detail.figures, container.resources
    return replace(
        found,
        cpu=_with_pressure(found.cpu, own),
        memory=_memory(at, own, limits.memory_limit if limits is not None else None),
        swap=SwapUse(at, _swap_left(item, own), own.swap_bytes),
        io=_io(at, own),
    )


def _swap_left(item: Item, own: CgroupFigures) -> int | None:
    """Return the bytes that the container may still swap; None without a limit of memory and swap."""
    limits = item[1].resources
    if limits is None or limits.memory_swap_limit is None:
        return None
    return max(0, limits.memory_swap_limit - (limits.memory_limit or 0) - own.swap_bytes)


def _part_of(node: FsUse, used: int) -> FsUse:
    """Return a part of the node's file system."""
    return FsUse(node.time, node.available_bytes, node.capacity_bytes, used, node.inodes_free, node.inodes)


def _memory(at: datetime, own: CgroupFigures, limit: int | None) -> MemoryUse:
    return MemoryUse(
        at,
        available_bytes=max(0, limit - own.memory_working_set_bytes) if limit is not None else None,
        usage_bytes=own.memory_bytes,
        working_set_bytes=own.memory_working_set_bytes,
        rss_bytes=own.rss_bytes,
        page_faults=own.page_faults,
        major_page_faults=own.major_page_faults,
        psi=_pressure(own.pressure.get("memory")),
    )


def _io(at: datetime, own: CgroupFigures) -> IoUse | None:
    found = _pressure(own.pressure.get("io"))
    return IoUse(at, found) if found is not None else None


def _with_pressure(cpu: CpuUse | None, own: CgroupFigures) -> CpuUse | None:
    return replace(cpu, psi=_pressure(own.pressure.get("cpu"))) if cpu is not None else None


def _pressure(found: Pressure | None) -> PressureUse | None:
    return PressureUse(_stalled(found.full), _stalled(found.some)) if found is not None else None


def _stalled(stall: Stall) -> Stalled:
    return Stalled(stall.total_microseconds * 1000, stall.avg10, stall.avg60, stall.avg300)


def _network(at: datetime, interfaces: Iterable[InterfaceFigures]) -> NetworkUse:
    shown = [
        InterfaceUse(each.name, each.received_bytes, each.received_errors, each.sent_bytes, each.sent_errors)
        for each in interfaces
    ]
    for each in shown:
        if each.name == DEFAULT_INTERFACE:
            return NetworkUse(
                at, each.name, each.rx_bytes, each.rx_errors, each.tx_bytes, each.tx_errors, shown
            )
    return NetworkUse(at, interfaces=shown)


def _pod_sample(pod: MeasuredPod) -> Sample:
    at = pod.items[0][2].at
    if pod.figures is not None:
        return Sample(at, pod.figures.figures.cpu_nanoseconds)
    return Sample(at, sum(figures.cpu_nanoseconds for _, _, figures in pod.items))


def _cpu(now: Sample, before: Sample | None) -> CpuUse:
    return CpuUse(now.at, _rate(now, before), now.cpu_nanoseconds)


def _rate(now: Sample, before: Sample | None) -> int | None:
    """Return nanoseconds of CPU time per second since ``before``."""
    if before is None:
        return None
    seconds = (now.at - before.at).total_seconds()
    return max(0, int((now.cpu_nanoseconds - before.cpu_nanoseconds) / seconds)) if seconds > 0 else None
