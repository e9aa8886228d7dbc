"""The kubelet's metrics of a simulated machine."""

from __future__ import annotations

from podling import clock
from podling.kubelet.server.server_metrics import (
    container_metrics_text,
    metrics_text,
    probe_metrics_text,
    resource_metrics_text,
)
from podling.kubelet.server.server_stats import take_snapshot
from tests.unit.kubelet.server.machines import machine


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


async def test_own_metrics_count_pods_and_containers() -> None:
    lines = (await metrics_text(await machine(), {"CustomCPUCFSQuotaPeriod": True})).splitlines()
    assert 'kubernetes_feature_enabled{name="CustomCPUCFSQuotaPeriod",stage="ALPHA"} 1' in lines
    assert 'kubernetes_feature_enabled{name="SidecarContainers",stage=""} 1' in lines
    assert "kubelet_running_pods 2" in lines
    assert 'kubelet_running_containers{container_state="running"} 2' in lines
    assert not any("container_cpu" in line for line in lines)
