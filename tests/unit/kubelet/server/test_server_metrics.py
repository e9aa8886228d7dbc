"""The kubelet's metrics of a simulated machine."""

from __future__ import annotations

from podling import clock
from podling.api.core_v1 import Pod, PodCondition, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.server.disk_use import DiskUse
from podling.kubelet.server.server_metrics import metrics_text, probe_metrics_text, resource_metrics_text
from podling.kubelet.server.snapshot import take_snapshot
from podling.kubelet.server.summary_types import ClaimReference, FsUse, VolumeUse
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


async def test_counters_of_the_kubelet_have_kubernetes_names() -> None:
    source, counted = await machine(), KubeletMetrics()
    source.metrics = counted
    counted.requested_resizes.update([("increase", "limits", "cpu"), ("increase", "limits", "cpu")])
    counted.infeasible_resizes["swap_limitation"] += 1
    counted.deferred_accepted["pods_removed"] += 1
    for milliseconds in (3, 15, 50_000):
        counted.resize_milliseconds.observe("true", milliseconds)
    counted.count_start(own_users=True)
    counted.count_start(own_users=True, failed=True)
    counted.count_start(own_users=False)
    counted.restarted_pods[True] += 2
    counted.orphans += 1
    counted.evictions["memory.available"] += 2
    counted.shutdown_started, counted.shutdown_ended = 1700000000.0, 1700000030.0
    resized = 'operation="increase",requirement="limits",resource="cpu"'
    lines = (await metrics_text(source, {}, "node-1")).splitlines()
    for line in (
        'kubelet_node_name{node="node-1"} 1',
        'kubelet_restarted_pods_total{static=""} 0',
        'kubelet_restarted_pods_total{static="true"} 2',
        "kubelet_orphaned_runtime_pods_total 1",
        "kubelet_started_pods_total 2",
        "kubelet_started_pods_errors_total 1",
        "kubelet_started_user_namespaced_pods_total 1",
        "kubelet_started_user_namespaced_pods_errors_total 1",
        f"kubelet_container_requested_resizes_total{{{resized}}} 2",
        'kubelet_pod_infeasible_resizes_total{reason_detail="swap_limitation"} 1',
        'kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pods_removed"} 1',
        'kubelet_pod_resize_duration_milliseconds_bucket{success="true",le="10"} 1',
        'kubelet_pod_resize_duration_milliseconds_bucket{success="true",le="20"} 2',
        'kubelet_pod_resize_duration_milliseconds_bucket{success="true",le="+Inf"} 3',
        'kubelet_pod_resize_duration_milliseconds_sum{success="true"} 50018',
        'kubelet_pod_resize_duration_milliseconds_count{success="true"} 3',
        'kubelet_evictions{eviction_signal="memory.available"} 2',
        "kubelet_graceful_shutdown_start_time_seconds 1700000000",
        "kubelet_graceful_shutdown_end_time_seconds 1700000030",
        "kubelet_pod_in_progress_resizes 0",
    ):
        assert line in lines, line


async def test_volumes_of_claims_and_logs_are_measured() -> None:
    source = await machine()
    source.own_pods = (pod_with_resizes(),)
    now = clock.now()
    volume = VolumeUse(now, 1, 4, 3, name="data", pvc_ref=ClaimReference("mine", "default"))
    scratch = VolumeUse(now, 1, 4, 3, name="scratch")
    disks = DiskUse(FsUse(now), None, {("uid-web", "busy"): 6}, {"uid-web": [volume, scratch]})
    lines = (await metrics_text(source, {}, "", disks)).splitlines()
    labels = 'namespace="default",persistentvolumeclaim="mine"'
    found = [line for line in lines if line.startswith("kubelet_volume_stats")]
    assert found == [
        f"kubelet_volume_stats_capacity_bytes{{{labels}}} 4",
        f"kubelet_volume_stats_available_bytes{{{labels}}} 1",
        f"kubelet_volume_stats_used_bytes{{{labels}}} 3",
    ]
    own = 'uid="uid-web",namespace="default",pod="web",container="busy"'
    assert f"kubelet_container_log_filesystem_used_bytes{{{own}}} 6" in lines


def pod_with_resizes() -> Pod:
    conditions = (
        PodCondition(type="PodResizePending", status="True", reason="Deferred"),
        PodCondition(type="PodResizeInProgress", status="True"),
    )
    metadata = ObjectMeta(name="web", namespace="default", uid="uid-web")
    return Pod(metadata=metadata, status=PodStatus(conditions=conditions))


async def test_present_resizes_and_pods_are_counted() -> None:
    source = await machine()
    source.own_pods = (pod_with_resizes(),)
    lines = (await metrics_text(source, {})).splitlines()
    assert 'kubelet_pod_pending_resizes{reason="deferred"} 1' in lines
    assert "kubelet_pod_in_progress_resizes 1" in lines
    assert 'kubelet_desired_pods{static=""} 1' in lines
    assert 'kubelet_active_pods{static="true"} 0' in lines
