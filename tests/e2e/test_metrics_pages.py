"""Every page of metrics, as Prometheus reads it: checked by ``promtool`` and against known events."""

from __future__ import annotations

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
        cluster.apply(shell_pod("probed", "sleep 3600", container={"readinessProbe": probe}))
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
