"""``/metrics/cadvisor``: the use of the node, of pods and of containers, with cAdvisor's names. Pure.

The label ``id`` distinguishes the series: ``/`` is the node, a pod's cgroup has no container's name, and a
container's has all labels. A machine without a figure has no series of it: pressure needs cgroup version 2.
Not shown are load averages (always 0 in a kubelet), and counts that need a walk over all descriptors of all
processes.
Source: cAdvisor's ``lib/metrics/prometheus.go`` with the sets that ``pkg/kubelet/cadvisor`` includes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from podling.kubelet.server.machine_use import MachineUse
from podling.kubelet.server.metric_families import CONTAINERS
from podling.kubelet.server.metrics_page import Page, labels_of
from podling.kubelet.server.snapshot import Item, MeasuredPod, UsageSnapshot
from podling.runtime.base import Container, LinuxResources
from podling.runtime.figures import CgroupFigures, InterfaceFigures

NODE = "/"

PRESSURES = ("cpu", "memory", "io")


def container_metrics_text(now: UsageSnapshot, machine: MachineUse | None = None) -> str:
    """Return the page."""
    page = Page(CONTAINERS)
    if machine is not None:
        _add_node(page, machine)
    for pod in now.measured_pods():
        _add_pod(page, pod)
        for item in pod.items:
            _add_container(page, item, now)
    page.add("container_scrape_error", "", 0)
    return page.text()


def _add_node(page: Page, machine: MachineUse) -> None:
    labels, at = _labels(NODE), machine.at
    page.add("container_cpu_usage_seconds_total", _cpu_labels(NODE), machine.cpu_nanoseconds / 1e9, at)
    page.add("container_memory_working_set_bytes", labels, machine.memory_working_set_bytes, at)
    page.add("container_last_seen", labels, at.timestamp(), at)
    if machine.started_at is not None:
        page.add("container_start_time_seconds", labels, machine.started_at.timestamp())
    if machine.memory_total_bytes:
        page.add("container_memory_usage_bytes", labels, machine.memory_bytes, at)
        page.add("container_memory_rss", labels, machine.rss_bytes, at)
        page.add("container_memory_swap", labels, machine.swap_bytes, at)
        page.add("container_spec_memory_limit_bytes", labels, machine.memory_total_bytes)
        page.add("machine_memory_bytes", "", machine.memory_total_bytes)
        page.add("machine_swap_bytes", "", machine.swap_total_bytes)
    _add_network(page, machine.interfaces, NODE, at)


def _add_pod(page: Page, pod: MeasuredPod) -> None:
    figures = pod.figures
    if figures is None:
        return
    at, sandbox = pod.items[0][2].at, pod.sandbox
    own = {"namespace": sandbox.pod_namespace, "pod": sandbox.pod_name}
    labels = _labels(figures.cgroup, **own)
    _add_figures(page, figures.figures, labels, _cpu_labels(figures.cgroup, **own), at)
    page.add("container_last_seen", labels, at.timestamp(), at)
    page.add("container_start_time_seconds", labels, sandbox.created_at.timestamp())
    _add_network(page, figures.interfaces, figures.cgroup, at, **own)


def _add_container(page: Page, item: Item, now: UsageSnapshot) -> None:
    sandbox, container, figures = item
    detail, at = now.containers.get(container.id), figures.at
    cgroup = detail.cgroup if detail is not None else container.id
    own = {
        "image": container.image,
        "name": container.id,
        "namespace": sandbox.pod_namespace,
        "pod": sandbox.pod_name,
    }
    labels, cpu = _labels(cgroup, container.name, **own), _cpu_labels(cgroup, container.name, **own)
    if detail is not None:
        _add_figures(page, detail.figures, labels, cpu, at)
        page.add("container_ulimits_soft", f'{labels},ulimit="max_open_files"', detail.open_files, at)
        _add_limits(page, container, labels)
    else:
        page.add("container_cpu_usage_seconds_total", cpu, figures.cpu_nanoseconds / 1e9, at)
        page.add("container_memory_usage_bytes", labels, figures.memory_bytes, at)
        page.add("container_memory_working_set_bytes", labels, figures.memory_working_set_bytes, at)
        page.add("container_processes", labels, figures.processes, at)
    page.add("container_start_time_seconds", labels, _start(container).timestamp())
    page.add("container_last_seen", labels, at.timestamp(), at)


def _start(container: Container) -> datetime:
    return container.started_at or container.created_at


def _add_limits(page: Page, container: Container, labels: str) -> None:
    """Add the limits in force; a limit of 0 is none, as with cAdvisor."""
    limits = container.resources or LinuxResources()
    if limits.cpu_shares is not None:
        page.add("container_spec_cpu_shares", labels, limits.cpu_shares)
    if limits.cpu_period is not None:
        page.add("container_spec_cpu_period", labels, limits.cpu_period)
    if limits.cpu_quota is not None:
        page.add("container_spec_cpu_quota", labels, limits.cpu_quota)
    page.add("container_spec_memory_limit_bytes", labels, limits.memory_limit or 0)
    page.add("container_spec_memory_swap_limit_bytes", labels, limits.memory_swap_limit or 0)
    page.add("container_spec_memory_reservation_limit_bytes", labels, 0)


def _add_figures(page: Page, own: CgroupFigures, labels: str, cpu: str, at: datetime) -> None:
    page.add("container_cpu_usage_seconds_total", cpu, own.cpu_nanoseconds / 1e9, at)
    for name, number in _plain(own):
        page.add(name, labels, number, at)
    for kind, number in (("pgfault", own.page_faults), ("pgmajfault", own.major_page_faults)):
        for scope in ("container", "hierarchy"):
            page.add(
                "container_memory_failures_total",
                f'{labels},failure_type="{kind}",scope="{scope}"',
                number,
                at,
            )
    for disk in own.disks:
        of_disk = f'{labels},device="{disk.device}"'
        page.add("container_fs_reads_bytes_total", of_disk, disk.read_bytes, at)
        page.add("container_fs_reads_total", of_disk, disk.reads, at)
        page.add("container_fs_writes_bytes_total", of_disk, disk.written_bytes, at)
        page.add("container_fs_writes_total", of_disk, disk.writes, at)
    for resource in PRESSURES:
        found = own.pressure.get(resource)
        if found is not None:
            stalled, waiting = found.full.total_microseconds, found.some.total_microseconds
            page.add(f"container_pressure_{resource}_stalled_seconds_total", labels, stalled / 1e6, at)
            page.add(f"container_pressure_{resource}_waiting_seconds_total", labels, waiting / 1e6, at)


def _plain(own: CgroupFigures) -> Iterator[tuple[str, float]]:
    yield "container_cpu_user_seconds_total", own.cpu_user_nanoseconds / 1e9
    yield "container_cpu_system_seconds_total", own.cpu_system_nanoseconds / 1e9
    if own.periods:
        yield "container_cpu_cfs_periods_total", own.periods
        yield "container_cpu_cfs_throttled_periods_total", own.throttled_periods
        yield "container_cpu_cfs_throttled_seconds_total", own.throttled_nanoseconds / 1e9
    yield "container_memory_cache", own.cache_bytes
    yield "container_memory_rss", own.rss_bytes
    yield "container_memory_kernel_usage", own.kernel_bytes
    yield "container_memory_mapped_file", own.mapped_file_bytes
    yield "container_memory_swap", own.swap_bytes
    yield "container_memory_failcnt", own.limit_hits
    yield "container_memory_usage_bytes", own.memory_bytes
    yield "container_memory_max_usage_bytes", own.memory_max_bytes
    yield "container_memory_working_set_bytes", own.memory_working_set_bytes
    yield "container_memory_total_active_file_bytes", own.active_file_bytes
    yield "container_memory_total_inactive_file_bytes", own.inactive_file_bytes
    yield "container_processes", own.processes
    yield "container_threads", own.threads
    yield "container_threads_max", own.threads_max
    yield "container_oom_events_total", own.oom_kills


def _add_network(
    page: Page, interfaces: Iterable[InterfaceFigures], cgroup: str, at: datetime, **own: str
) -> None:
    for each in interfaces:
        base = {
            "container": "",
            "id": cgroup,
            "image": "",
            "interface": each.name,
            "name": "",
            "namespace": "",
            "pod": "",
        }
        labels = labels_of(**base | own)
        for direction, numbers in (
            (
                "receive",
                (each.received_bytes, each.received_packets, each.received_dropped, each.received_errors),
            ),
            ("transmit", (each.sent_bytes, each.sent_packets, each.sent_dropped, each.sent_errors)),
        ):
            kinds = ("bytes", "packets", "packets_dropped", "errors")
            for kind, number in zip(kinds, numbers, strict=True):
                page.add(f"container_network_{direction}_{kind}_total", labels, number, at)


def _labels(cgroup: str, container: str = "", **own: str) -> str:
    base = {"container": container, "id": cgroup, "image": "", "name": "", "namespace": "", "pod": ""}
    return labels_of(**base | own)


def _cpu_labels(cgroup: str, container: str = "", **own: str) -> str:
    base = {
        "container": container,
        "cpu": "total",
        "id": cgroup,
        "image": "",
        "name": "",
        "namespace": "",
        "pod": "",
    }
    return labels_of(**base | own)
