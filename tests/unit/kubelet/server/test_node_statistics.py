"""What pods use, as the kubelet tells it: from two looks at a simulated machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from podling import clock
from podling.api.core_v1 import Pod
from podling.kubelet.probes.prober import ProbeLabels
from podling.kubelet.server.server_metrics import (
    container_metrics_text,
    metrics_text,
    probe_metrics_text,
    resource_metrics_text,
)
from podling.kubelet.server.server_stats import summary, take_snapshot
from podling.runtime.base import ContainerSpec, Runtime, SandboxSpec
from podling.runtime.sim import ContainerScript, SimRuntime, Usage
from podling.runtime.sim.script import ANNOTATION_PREFIX, annotation

PROBES = {
    ProbeLabels("Readiness", "successful", "busy", "web", "default", "uid-web"): 3,
    ProbeLabels("Liveness", "failed", "busy", "web", "default", "uid-web"): 1,
}


class Source:
    """Pods of a runtime that no kubelet looks after."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        return None

    def pods(self) -> tuple[Pod, ...]:
        return ()

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        return None

    def sandbox_id(self, pod: Pod) -> str | None:
        return None

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        return None

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        return PROBES


async def machine() -> Source:
    """One pod with a busy and an idle container, one with nothing but a sandbox."""
    runtime = SimRuntime()
    image = await runtime.images.pull("app")
    for name in ("web", "empty"):
        sandbox = await runtime.run_sandbox(
            SandboxSpec(
                pod_uid=f"uid-{name}", pod_name=name, pod_namespace="default", log_directory=Path("/logs")
            )
        )
        usage = {"busy": Usage(cpu_millicores=500, memory_bytes=1000), "idle": Usage(memory_bytes=10)}
        for container, use in usage.items() if name == "web" else ():
            script = annotation(ContainerScript(usage=(use,)))
            spec = ContainerSpec(
                name=container,
                image=image.id,
                image_name="app",
                log_path=Path(f"/logs/{container}"),
                annotations={ANNOTATION_PREFIX + container: script},
            )
            await runtime.start_container(await runtime.create_container(sandbox.id, spec))
    return Source(runtime)


async def test_the_summary_adds_up_and_knows_rates_from_the_second_look_on() -> None:
    source = await machine()
    await clock.sleep(60)
    first = await take_snapshot(source)
    await clock.sleep(10)
    second = await take_snapshot(source)
    before = {container.id: figures for _, container, figures in first.running}
    (alone,) = summary("node", first, {}).pods
    (pod,) = summary("node", second, before).pods
    assert alone.cpu.usage_nano_cores is None
    assert (pod.pod_ref.name, pod.cpu.usage_core_nano_seconds, pod.cpu.usage_nano_cores) == (
        "web",
        35_000_000_000,
        500_000_000,
    )
    assert (pod.memory.working_set_bytes, pod.process_stats.process_count) == (1010, 2)


async def test_the_summary_has_kubernetes_names() -> None:
    encoded = msgspec.json.decode(
        msgspec.json.encode(summary("node", await take_snapshot(await machine()), {}))
    )
    assert encoded["node"] == {"nodeName": "node"}
    (pod,) = encoded["pods"]
    assert pod["podRef"] == {"name": "web", "namespace": "default", "uid": "uid-web"}
    assert pod["process_stats"] == {"process_count": 2}
    assert set(pod["containers"][0]) == {"name", "startTime", "cpu", "memory", "rootfs"}
    assert set(pod["memory"]) == {"time", "usageBytes", "workingSetBytes"}


async def test_resource_metrics_carry_their_time() -> None:
    source = await machine()
    await clock.sleep(60)
    lines = resource_metrics_text(await take_snapshot(source)).splitlines()
    milliseconds = int(clock.now().timestamp() * 1000)
    busy = 'container="busy",namespace="default",pod="web"'
    assert f"container_cpu_usage_seconds_total{{{busy}}} 30 {milliseconds}" in lines
    assert f"container_memory_working_set_bytes{{{busy}}} 1000 {milliseconds}" in lines
    assert f"container_start_time_seconds{{{busy}}} {clock.now().timestamp() - 60:.10g}" in lines
    assert f'pod_memory_working_set_bytes{{namespace="default",pod="web"}} 1010 {milliseconds}' in lines
    assert "resource_scrape_error 0" in lines


async def test_container_metrics_have_the_labels_of_cadvisor() -> None:
    source = await machine()
    await clock.sleep(60)
    now = await take_snapshot(source)
    lines = container_metrics_text(now).splitlines()
    milliseconds = int(clock.now().timestamp() * 1000)
    identifier = next(container.id for _, container, _ in now.running if container.name == "busy")
    labels = (
        f'container="busy",id="{identifier}",image="app",name="{identifier}",namespace="default",pod="web"'
    )
    assert f"container_cpu_usage_seconds_total{{{labels}}} 30 {milliseconds}" in lines
    assert f"container_memory_working_set_bytes{{{labels}}} 1000 {milliseconds}" in lines
    assert f"container_processes{{{labels}}} 1 {milliseconds}" in lines


async def test_probe_metrics_count_results() -> None:
    lines = probe_metrics_text(await machine()).splitlines()
    labels = 'container="busy",pod="web",namespace="default",pod_uid="uid-web"'
    assert f'prober_probe_total{{probe_type="Readiness",result="successful",{labels}}} 3' in lines
    assert f'prober_probe_total{{probe_type="Liveness",result="failed",{labels}}} 1' in lines


async def test_the_kubelets_own_metrics_count_pods_and_containers() -> None:
    lines = (await metrics_text(await machine())).splitlines()
    assert "kubelet_running_pods 2" in lines
    assert 'kubelet_running_containers{container_state="running"} 2' in lines
    assert not any("container_cpu" in line for line in lines)
