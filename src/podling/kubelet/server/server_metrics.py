"""The kubelet's metrics in Prometheus' text format, with the names of Kubernetes and cAdvisor.

Counted anew from the runtime at each request: nothing is kept, so nothing can drift.

Source of names, labels and help texts: ``pkg/kubelet/metrics``, ``pkg/kubelet/prober``,
``pkg/kubelet/metrics/collectors/resource_metrics.go``, cAdvisor's ``metrics/prometheus.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from podling.kubelet.pods.pod_source import PodSource
from podling.kubelet.server.machine_use import MachineUse
from podling.kubelet.server.server_stats import UsageSnapshot
from podling.machinery.feature_gates import gate_states

Kinds = Mapping[str, tuple[str, str]]
"""Metric families of a page: kind and help text by name."""

OWN: Kinds = {
    "kubelet_running_pods": ("gauge", "[ALPHA] Number of pods that have a running pod sandbox"),
    "kubelet_running_containers": ("gauge", "[ALPHA] Number of containers currently running"),
    "kubernetes_feature_enabled": (
        "gauge",
        "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
    ),
}

PROBES: Kinds = {
    "prober_probe_total": (
        "counter",
        "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
    ),
}

RESOURCE: Kinds = {
    "container_cpu_usage_seconds_total": (
        "counter",
        "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
    ),
    "container_memory_working_set_bytes": (
        "gauge",
        "[STABLE] Current working set of the container in bytes",
    ),
    "container_start_time_seconds": (
        "gauge",
        "[STABLE] Start time of the container since unix epoch in seconds",
    ),
    "node_cpu_usage_seconds_total": (
        "counter",
        "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
    ),
    "node_memory_working_set_bytes": ("gauge", "[STABLE] Current working set of the node in bytes"),
    "pod_cpu_usage_seconds_total": (
        "counter",
        "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
    ),
    "pod_memory_working_set_bytes": ("gauge", "[STABLE] Current working set of the pod in bytes"),
    "resource_scrape_error": (
        "gauge",
        "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
    ),
}
"""The metrics of ``/metrics/resource``."""

CONTAINERS: Kinds = {
    "container_cpu_usage_seconds_total": ("counter", "Cumulative cpu time consumed in seconds."),
    "container_memory_usage_bytes": (
        "gauge",
        "Current memory usage in bytes, including all memory regardless of when it was accessed",
    ),
    "container_memory_working_set_bytes": ("gauge", "Current working set in bytes."),
    "container_processes": ("gauge", "Number of processes running inside the container."),
    "container_start_time_seconds": (
        "gauge",
        "Start time of the container since unix epoch in seconds.",
    ),
    "container_last_seen": ("gauge", "Last time a container was seen by the exporter"),
}
"""The metrics of ``/metrics/cadvisor``: those of cAdvisor that the runtime supports."""


class Page:
    """A page of metrics under construction."""

    def __init__(self, kinds: Kinds) -> None:
        self._families = {name: _head(name, kind, text) for name, (kind, text) in kinds.items()}

    def add(self, name: str, labels: str, number: float, at: datetime | None = None) -> None:
        """Add a sample; ``labels`` are written between the braces."""
        braces = f"{{{labels}}}" if labels else ""
        moment = f" {int(at.timestamp() * 1000)}" if at is not None else ""
        self._families[name].append(f"{name}{braces} {number:.10g}{moment}")

    def text(self) -> str:
        return "\n".join(line for lines in self._families.values() for line in lines) + "\n"


async def metrics_text(source: PodSource, gates: Mapping[str, bool]) -> str:
    """Return ``/metrics``: numbers of pods and containers on this node, and the feature gates."""
    page, runtime = Page(OWN), source.runtime
    page.add("kubelet_running_pods", "", sum(sandbox.ready for sandbox in await runtime.list_sandboxes()))
    states = Counter(container.state.value.lower() for container in await runtime.list_containers())
    for state in sorted(states):
        page.add("kubelet_running_containers", f'container_state="{state}"', states[state])
    for name, stage, is_on in gate_states(gates):
        page.add("kubernetes_feature_enabled", f'name="{name}",stage="{stage}"', is_on)
    return page.text()


def probe_metrics_text(source: PodSource) -> str:
    """Return ``/metrics/probes``: results of the present pods' probes."""
    page = Page(PROBES)
    for labels, count in source.probe_counts().items():
        pairs = zip(labels._fields, labels, strict=True)
        page.add("prober_probe_total", ",".join(f'{name}="{value}"' for name, value in pairs), count)
    return page.text()


def container_metrics_text(now: UsageSnapshot) -> str:
    """Return ``/metrics/cadvisor``: the use of each container."""
    page = Page(CONTAINERS)
    for sandbox, container, figures in now.running:
        pod = f'namespace="{sandbox.pod_namespace}",pod="{sandbox.pod_name}"'
        own = f'id="{container.id}",image="{_escaped(container.image)}",name="{container.id}"'
        labels, at = f'container="{container.name}",{own},{pod}', figures.at
        started = container.started_at or container.created_at
        for name, number in (
            ("container_cpu_usage_seconds_total", figures.cpu_nanoseconds / 1e9),
            ("container_memory_usage_bytes", figures.memory_bytes),
            ("container_memory_working_set_bytes", figures.memory_working_set_bytes),
            ("container_processes", figures.processes),
            ("container_start_time_seconds", started.timestamp()),
            ("container_last_seen", at.timestamp()),
        ):
            page.add(name, labels, number, at)
    return page.text()


def resource_metrics_text(now: UsageSnapshot, machine: MachineUse | None = None) -> str:
    """Return ``/metrics/resource``: samples for metrics-server, each with its own time."""
    page = Page(RESOURCE)
    if machine is not None:
        page.add("node_cpu_usage_seconds_total", "", machine.cpu_nanoseconds / 1e9, machine.at)
        page.add("node_memory_working_set_bytes", "", machine.memory_working_set_bytes, machine.at)
    for items in now.by_pod().values():
        sandbox = items[0][0]
        pod = f'namespace="{sandbox.pod_namespace}",pod="{sandbox.pod_name}"'
        for _, container, figures in items:
            labels, at = f'container="{container.name}",{pod}', figures.at
            page.add("container_cpu_usage_seconds_total", labels, figures.cpu_nanoseconds / 1e9, at)
            page.add("container_memory_working_set_bytes", labels, figures.memory_working_set_bytes, at)
            started = container.started_at or container.created_at
            page.add("container_start_time_seconds", labels, started.timestamp())
        at = items[0][2].at
        cpu = sum(figures.cpu_nanoseconds for _, _, figures in items) / 1e9
        page.add("pod_cpu_usage_seconds_total", pod, cpu, at)
        memory = sum(figures.memory_working_set_bytes for _, _, figures in items)
        page.add("pod_memory_working_set_bytes", pod, memory, at)
    page.add("resource_scrape_error", "", 0)
    return page.text()


def _escaped(value: str) -> str:
    """Return a label's value as Prometheus' format writes it."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
