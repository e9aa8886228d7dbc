"""The kubelet's own metrics and those of resources, in Prometheus' text format with Kubernetes' names.

Gauges are counted anew from the runtime and the pods at each request: nothing is kept, so nothing can drift.

Source of names, labels and help texts: ``pkg/kubelet/metrics/metrics.go``, ``pkg/kubelet/prober``,
``pkg/kubelet/metrics/collectors``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from podling.api.core_v1 import Pod
from podling.kubelet.kubelet_metrics import Histogram, KubeletMetrics
from podling.kubelet.pods.pod_source import PodSource
from podling.kubelet.server.disk_use import DiskUse
from podling.kubelet.server.machine_use import MachineUse
from podling.kubelet.server.metric_families import OWN, PROBES, RESOURCE
from podling.kubelet.server.metrics_page import Page, labels_of
from podling.kubelet.server.snapshot import UsageSnapshot
from podling.kubelet.server.summary_types import VolumeUse
from podling.kubelet.status.conditions import POD_RESIZE_IN_PROGRESS, POD_RESIZE_PENDING
from podling.machinery.conditions import find
from podling.machinery.feature_gates import gate_states
from podling.machinery.pods import is_mirror, is_static, is_terminal


async def metrics_text(
    source: PodSource, gates: Mapping[str, bool], node_name: str = "", disks: DiskUse | None = None
) -> str:
    """Return ``/metrics``: what the kubelet has counted, and what there is now."""
    page, runtime, pods = Page(OWN), source.runtime, source.pods()
    if node_name:
        page.add("kubelet_node_name", labels_of(node=node_name), 1)
    page.add("kubelet_running_pods", "", sum(sandbox.ready for sandbox in await runtime.list_sandboxes()))
    states = Counter(container.state.value.lower() for container in await runtime.list_containers())
    for state in sorted(states):
        page.add("kubelet_running_containers", labels_of(container_state=state), states[state])
    _add_pods(page, pods)
    _add_counters(page, source.metrics)
    if disks is not None:
        _add_disks(page, disks, pods)
    for name, stage, is_on in gate_states(gates):
        page.add("kubernetes_feature_enabled", labels_of(name=name, stage=stage), is_on)
    return page.text()


def _add_pods(page: Page, pods: Iterable[Pod]) -> None:
    own = [pod for pod in pods if not is_mirror(pod)]
    pending: Counter[str] = Counter()
    in_progress = 0
    for pod in own:
        found = find(pod.status.conditions, POD_RESIZE_PENDING)
        if found is not None and found.reason:
            pending[found.reason.lower()] += 1
        in_progress += find(pod.status.conditions, POD_RESIZE_IN_PROGRESS) is not None
    for name, counted in (
        ("kubelet_desired_pods", own),
        ("kubelet_active_pods", [pod for pod in own if not is_terminal(pod)]),
    ):
        kinds = Counter(is_static(pod) for pod in counted)
        for static in (False, True):
            page.add(name, labels_of(static="true" if static else ""), kinds[static])
    for reason in sorted(pending):
        page.add("kubelet_pod_pending_resizes", labels_of(reason=reason), pending[reason])
    page.add("kubelet_pod_in_progress_resizes", "", in_progress)


def _add_counters(page: Page, counted: KubeletMetrics) -> None:
    for static in (False, True):
        labels = labels_of(static="true" if static else "")
        page.add("kubelet_restarted_pods_total", labels, counted.restarted_pods[static])
    page.add("kubelet_orphaned_runtime_pods_total", "", counted.orphans)
    page.add("kubelet_started_pods_total", "", counted.started_pods)
    page.add("kubelet_started_pods_errors_total", "", counted.started_pods_errors)
    page.add("kubelet_started_user_namespaced_pods_total", "", counted.started_with_users)
    page.add("kubelet_started_user_namespaced_pods_errors_total", "", counted.started_with_users_errors)
    for (operation, requirement, resource), number in sorted(counted.requested_resizes.items()):
        labels = labels_of(operation=operation, requirement=requirement, resource=resource)
        page.add("kubelet_container_requested_resizes_total", labels, number)
    for (code, kind), number in sorted(counted.started_containers_errors.items()):
        labels = labels_of(code=code, container_type=kind)
        page.add("kubelet_started_containers_errors_total", labels, number)
    for (kind, code, reason), number in sorted(counted.terminated_containers.items()):
        labels = labels_of(container_type=kind, exit_code=code, reason=reason)
        page.add("kubelet_terminated_containers_total", labels, number)
    for name, label, numbers in (
        ("kubelet_started_containers_total", "container_type", counted.started_containers),
        ("kubelet_pod_infeasible_resizes_total", "reason_detail", counted.infeasible_resizes),
        ("kubelet_pod_deferred_accepted_resizes_total", "retry_trigger", counted.deferred_accepted),
        ("kubelet_evictions", "eviction_signal", counted.evictions),
        ("kubelet_preemptions", "preemption_signal", counted.preemptions),
    ):
        for value in sorted(numbers):
            page.add(name, labels_of(**{label: value}), numbers[value])
    _add_histogram(page, "kubelet_pod_resize_duration_milliseconds", "success", counted.resize_milliseconds)
    for which, moment in (("start", counted.shutdown_started), ("end", counted.shutdown_ended)):
        if moment is not None:
            page.add(f"kubelet_graceful_shutdown_{which}_time_seconds", "", moment)


def _add_histogram(page: Page, name: str, label: str, histogram: Histogram) -> None:
    for value, counts in sorted(histogram.counts.items()):
        total = 0
        for bound, count in zip((*histogram.bounds, float("inf")), counts, strict=True):
            total += count
            text = "+Inf" if bound == float("inf") else f"{bound:g}"
            page.add(name, labels_of(**{label: value}, le=text), total, suffix="_bucket")
        page.add(name, labels_of(**{label: value}), histogram.sums[value], suffix="_sum")
        page.add(name, labels_of(**{label: value}), total, suffix="_count")


def _add_disks(page: Page, disks: DiskUse, pods: Iterable[Pod]) -> None:
    names = {pod.metadata.uid or "": pod for pod in pods}
    claims: dict[tuple[str, str], VolumeUse] = {}
    for volumes in disks.volumes.values():
        for volume in volumes:
            if volume.pvc_ref is not None:
                claims[volume.pvc_ref.namespace, volume.pvc_ref.name] = volume
    for (namespace, claim), volume in sorted(claims.items(), key=lambda item: item[0]):
        labels = labels_of(namespace=namespace, persistentvolumeclaim=claim)
        for name, number in (
            ("capacity_bytes", volume.capacity_bytes),
            ("available_bytes", volume.available_bytes),
            ("used_bytes", volume.used_bytes),
            ("inodes", volume.inodes),
            ("inodes_free", volume.inodes_free),
            ("inodes_used", volume.inodes_used),
        ):
            if number is not None:
                page.add(f"kubelet_volume_stats_{name}", labels, number)
    for (uid, container), number in sorted(disks.logs.items()):
        pod = names.get(uid)
        if pod is not None:
            labels = labels_of(
                uid=uid,
                namespace=pod.metadata.namespace or "",
                pod=pod.metadata.name or "",
                container=container,
            )
            page.add("kubelet_container_log_filesystem_used_bytes", labels, number)


def probe_metrics_text(source: PodSource) -> str:
    """Return ``/metrics/probes``: results of the present pods' probes."""
    page = Page(PROBES)
    for labels, count in source.probe_counts().items():
        page.add("prober_probe_total", labels_of(**labels._asdict()), count)
    return page.text()


def resource_metrics_text(now: UsageSnapshot, machine: MachineUse | None = None) -> str:
    """Return ``/metrics/resource``: samples for metrics-server, each with its own time."""
    page = Page(RESOURCE)
    if machine is not None:
        page.add("node_cpu_usage_seconds_total", "", machine.cpu_nanoseconds / 1e9, machine.at)
        page.add("node_memory_working_set_bytes", "", machine.memory_working_set_bytes, machine.at)
        page.add("node_swap_usage_bytes", "", machine.swap_bytes, machine.at)
    for items in now.by_pod().values():
        sandbox = items[0][0]
        pod = f'namespace="{sandbox.pod_namespace}",pod="{sandbox.pod_name}"'
        for _, container, figures in items:
            labels, at = f'container="{container.name}",{pod}', figures.at
            page.add("container_cpu_usage_seconds_total", labels, figures.cpu_nanoseconds / 1e9, at)
            page.add("container_memory_working_set_bytes", labels, figures.memory_working_set_bytes, at)
            started = container.started_at or container.created_at
            page.add("container_start_time_seconds", labels, started.timestamp())
            page.add("container_swap_usage_bytes", labels, figures.swap_bytes, at)
            limits = container.resources
            if limits is not None and limits.memory_swap_limit is not None:
                most = max(0, limits.memory_swap_limit - (limits.memory_limit or 0))
                page.add("container_swap_limit_bytes", labels, most, at)
        at = items[0][2].at
        cpu = sum(figures.cpu_nanoseconds for _, _, figures in items) / 1e9
        page.add("pod_cpu_usage_seconds_total", pod, cpu, at)
        memory = sum(figures.memory_working_set_bytes for _, _, figures in items)
        page.add("pod_memory_working_set_bytes", pod, memory, at)
        page.add("pod_swap_usage_bytes", pod, sum(figures.swap_bytes for _, _, figures in items), at)
    page.add("resource_scrape_error", "", 0)
    return page.text()
