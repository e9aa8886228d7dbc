"""The kubelet's metrics, in Prometheus' text format, with Kubernetes' names.

Counted anew from the runtime at each request: nothing is kept, so nothing can drift.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from podling.kubelet.pod_source import PodSource
from podling.kubelet.server_stats import Look

RESOURCE = {
    "container_cpu_usage_seconds_total": (
        "counter",
        "Cumulative cpu time consumed by the container in core-seconds",
    ),
    "container_memory_working_set_bytes": ("gauge", "Current working set of the container in bytes"),
    "container_start_time_seconds": ("gauge", "Start time of the container since unix epoch in seconds"),
    "pod_cpu_usage_seconds_total": ("counter", "Cumulative cpu time consumed by the pod in core-seconds"),
    "pod_memory_working_set_bytes": ("gauge", "Current working set of the pod in bytes"),
    "resource_scrape_error": (
        "gauge",
        "1 if there was an error while getting container metrics, 0 otherwise",
    ),
}
"""The metrics of ``/metrics/resource``: kind and help text."""


async def metrics_text(source: PodSource) -> str:
    """Pods and containers on this node, and what the running ones use."""
    runtime = source.runtime
    states = Counter(container.state.value.lower() for container in await runtime.list_containers())
    ready = sum(sandbox.ready for sandbox in await runtime.list_sandboxes())
    names = {container.id: container for container in await runtime.list_containers()}
    pods = {sandbox.id: sandbox for sandbox in await runtime.list_sandboxes()}
    lines = [
        *_head("kubelet_running_pods", "gauge", "Number of pods that have a running pod sandbox"),
        f"kubelet_running_pods {ready}",
        *_head("kubelet_running_containers", "gauge", "Number of containers currently running"),
        *(
            f'kubelet_running_containers{{container_state="{state}"}} {states[state]}'
            for state in sorted(states)
        ),
        *_head(
            "container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the container"
        ),
    ]
    memory = _head("container_memory_working_set_bytes", "gauge", "Current working set of the container")
    for figures in await runtime.stats():
        container = names.get(figures.container_id)
        pod = pods.get(container.sandbox_id) if container is not None else None
        if container is None or pod is None:
            continue
        labels = f'{{container="{container.name}",namespace="{pod.pod_namespace}",pod="{pod.pod_name}"}}'
        lines.append(f"container_cpu_usage_seconds_total{labels} {figures.cpu_nanoseconds / 1e9:g}")
        memory.append(f"container_memory_working_set_bytes{labels} {figures.memory_working_set_bytes}")
    return "\n".join([*lines, *memory]) + "\n"


def resource_metrics_text(now: Look) -> str:
    """``/metrics/resource``: what metrics-server reads, each sample with its own time."""
    families: dict[str, list[str]] = {
        name: _head(name, kind, text) for name, (kind, text) in RESOURCE.items()
    }

    def add(name: str, labels: str, number: float, at: datetime) -> None:
        families[name].append(f"{name}{{{labels}}} {number:.10g} {int(at.timestamp() * 1000)}")

    for items in now.by_pod().values():
        sandbox = items[0][0]
        pod = f'namespace="{sandbox.pod_namespace}",pod="{sandbox.pod_name}"'
        for _, container, figures in items:
            labels, at = f'container="{container.name}",{pod}', figures.at
            add("container_cpu_usage_seconds_total", labels, figures.cpu_nanoseconds / 1e9, at)
            add("container_memory_working_set_bytes", labels, figures.memory_working_set_bytes, at)
            started = container.started_at or container.created_at
            families["container_start_time_seconds"].append(
                f"container_start_time_seconds{{{labels}}} {started.timestamp():.10g}"
            )
        at = items[0][2].at
        cpu = sum(figures.cpu_nanoseconds for _, _, figures in items) / 1e9
        add("pod_cpu_usage_seconds_total", pod, cpu, at)
        memory = sum(figures.memory_working_set_bytes for _, _, figures in items)
        add("pod_memory_working_set_bytes", pod, memory, at)
    families["resource_scrape_error"].append("resource_scrape_error 0")
    return "\n".join(line for lines in families.values() for line in lines) + "\n"


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
