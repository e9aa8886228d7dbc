"""Every page of metrics, as Prometheus reads it: checked by ``promtool`` and against known events."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, command, shell_pod

pytestmark = [pytest.mark.e2e]

NAMES_OF_KUBERNETES = (
    "apiserver_admission_step_admission_duration_seconds_summary",
    "apiserver_admission_webhook_fail_open_count",
    "apiserver_admission_webhook_rejection_count",
    "apiserver_flowcontrol_latest_s",
    "apiserver_flowcontrol_next_discounted_s_bounds",
    "apiserver_flowcontrol_next_s_bounds",
    "container_memory_failcnt",
    "kubelet_evictions",
    "kubelet_pod_resize_duration_milliseconds",
    "node_ipam_controller_",
)
"""Names that upstream chose before there were conventions."""

NODE_PAGES = ("metrics", "metrics/cadvisor", "metrics/probes", "metrics/resource")

WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "metadata": {"name": "nobody"},
    "webhooks": [
        {
            "name": "nobody.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "failurePolicy": "Ignore",
            "timeoutSeconds": 1,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "matchPolicy": "Exact",
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A cluster in which pods run, one waits, and webhooks of both kinds could not be called."""
    if not shutil.which("promtool") and os.geteuid() != 0:
        pytest.skip("needs promtool, which only root can install")
    runtime = "process" if missing_for_containers() else "oci"
    cluster = RealCluster(tmp_path_factory.mktemp("metrics") / "data", runtime, "--port", "0")
    try:
        cluster.up()
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            cluster.apply(WEBHOOK | {"kind": kind})
        probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
        limits = {"limits": {"cpu": "100m", "memory": "64Mi"}}
        wish = {
            "readinessProbe": probe,
            "resources": limits,
            "volumeMounts": [{"name": "data", "mountPath": "/d"}],
        }
        fill = (
            "echo words; dd if=/dev/zero of=/d/zeros bs=1M count=3; dd if=/dev/zero of=/layer bs=1M count=2; "
        )
        fill += "sleep 3600"
        cluster.apply(shell_pod("probed", fill, container=wish, volumes=[{"name": "data", "emptyDir": {}}]))
        cluster.apply(shell_pod("waits", "true", nodeSelector={"kubernetes.io/hostname": "nowhere"}))
        cluster.wait_ready("probed")
        cluster.kubectl("wait", "pod/waits", "--for=condition=PodScheduled=false", "--timeout=30s")
        cluster.kubectl("create", "secret", "generic", "passed-over", "--from-literal=a=b")
        yield cluster
    finally:
        cluster.remove()


def findings(text: str) -> list[str]:
    """Return promtool's findings about a page, without those that follow from Kubernetes' names."""
    done = command(["promtool", "check", "metrics"], stdin=text)
    lines = [line for line in (done.out + done.err).splitlines() if line.strip()]
    assert done.code in (0, 3), lines  # 3: findings; 1: no page of metrics at all
    return [line for line in lines if not line.startswith(NAMES_OF_KUBERNETES)]


def node_page(cluster: RealCluster, page: str) -> str:
    node = cluster.get("nodes")["items"][0]["metadata"]["name"]
    return cluster.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/{page}")


@pytest.mark.parametrize("page", ["metrics", "metrics/slis"])
def test_promtool_accepts_pages_of_the_api_server(busy: RealCluster, page: str) -> None:
    busy.kubectl("get", "--raw", "/readyz")
    text = busy.kubectl("get", "--raw", f"/{page}")
    assert "# HELP" in text
    assert findings(text) == []


@pytest.mark.parametrize("page", NODE_PAGES)
def test_promtool_accepts_pages_of_the_kubelet(busy: RealCluster, page: str) -> None:
    text = node_page(busy, page)
    assert "# HELP" in text
    assert findings(text) == []


def test_families_that_several_components_count_are_shown_once(busy: RealCluster) -> None:
    lines = busy.kubectl("get", "--raw", "/metrics").splitlines()
    heads = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert sorted(heads) == sorted(set(heads))
    failed_open = [line for line in lines if line.startswith("apiserver_admission_webhook_fail_open_count{")]
    assert sorted(line.rpartition(" ")[0] for line in failed_open) == [
        f'apiserver_admission_webhook_fail_open_count{{name="nobody.example.com",type="{step}"}}'
        for step in ("admit", "validating")
    ]


def test_scheduler_metrics_count_attempts(busy: RealCluster) -> None:
    lines = busy.kubectl("get", "--raw", "/metrics").splitlines()
    for line in (
        'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0',
        'scheduler_pending_pods{queue="unschedulable"} 1.0',
        'scheduler_unschedulable_pods{plugin="NodeAffinity",profile="default-scheduler"} 1.0',
        'scheduler_cache_size{type="nodes"} 1.0',
        'scheduler_pod_scheduling_attempts_bucket{le="1"} 1.0',
        "scheduler_preemption_attempts_total 1.0",
    ):
        assert line in lines, [each for each in lines if each.startswith("scheduler_")]


def test_probes_and_containers_are_counted(busy: RealCluster) -> None:
    successes = [line for line in node_page(busy, "metrics/probes").splitlines() if "successful" in line]
    [(labels, count)] = [line.rsplit(" ", 1) for line in successes]
    assert 'probe_type="Readiness"' in labels
    assert 'container="main",pod="probed",namespace="default"' in labels
    assert int(count) >= 1
    assert 'container="main"' in node_page(busy, "metrics/cadvisor")


@pytest.mark.skipif(bool(missing_for_containers()), reason="needs cgroups")
def test_summary_shows_what_the_pod_uses(busy: RealCluster) -> None:
    """Each part of the summary, compared with what the pod was made to use."""
    found = json.loads(node_page(busy, "stats/summary"))
    pod = next(each for each in found["pods"] if each["podRef"]["name"] == "probed")
    (main,) = pod["containers"]
    assert 0 < main["memory"]["workingSetBytes"] <= main["memory"]["usageBytes"] <= 64 << 20
    assert main["memory"]["availableBytes"] == (64 << 20) - main["memory"]["workingSetBytes"]
    assert main["memory"]["pageFaults"] > 0
    assert main["cpu"]["usageCoreNanoSeconds"] > 0
    assert pod["cpu"]["usageCoreNanoSeconds"] >= main["cpu"]["usageCoreNanoSeconds"]
    assert 2 << 20 <= main["rootfs"]["usedBytes"] < 3 << 20
    assert 0 < main["logs"]["usedBytes"] <= 64 << 10
    (data,) = [each for each in pod["volume"] if each["name"] == "data"]
    assert 3 << 20 <= data["usedBytes"] < 4 << 20
    assert pod["ephemeral-storage"]["usedBytes"] >= 5 << 20
    assert pod["network"]["name"] == "eth0"
    assert pod["process_stats"]["process_count"] >= 1
    node = found["node"]
    for part in ("cpu", "memory", "fs", "runtime", "rlimit", "network", "swap"):
        assert part in node, part
    assert node["fs"]["usedBytes"] + node["fs"]["availableBytes"] <= node["fs"]["capacityBytes"]
    assert node["rlimit"]["curproc"] > 10
    again = json.loads(node_page(busy, "stats/summary"))
    assert again["node"]["cpu"]["usageNanoCores"] > 0


@pytest.mark.skipif(bool(missing_for_containers()), reason="needs cgroups")
def test_cadvisor_page_counts_what_the_kernel_counts(busy: RealCluster) -> None:
    lines = node_page(busy, "metrics/cadvisor").splitlines()
    own = [line for line in lines if 'pod="probed"' in line and 'container="main"' in line]
    values = {line.partition("{")[0]: float(line.rpartition("}")[2].split()[0]) for line in own}
    assert values["container_spec_memory_limit_bytes"] == 64 << 20
    assert values["container_spec_cpu_quota"] == 10_000
    assert values["container_cpu_cfs_periods_total"] > 0
    assert values["container_memory_cache"] + values["container_memory_rss"] > 0
    assert values["container_threads"] >= values["container_processes"] >= 1
    received = [line for line in lines if line.startswith("container_network_receive_bytes_total{")]
    assert any('pod="probed"' in line for line in received)
    used = [line for line in lines if line.startswith("container_memory_usage_bytes{")]
    assert any('id="/"' in line for line in used)
