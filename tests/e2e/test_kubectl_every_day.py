"""The real kubectl on an ordinary day: roll-outs, nodes, waiting, output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import RealCluster, namespace

pytestmark = [pytest.mark.e2e, pytest.mark.root]

SPACE = "everyday"
IN = ("-n", SPACE)
IMAGE = "--image=podling.local/host"
SERVE = "trap 'exit 0' TERM; while true; do sleep 0.1; done"


@pytest.fixture(scope="module", autouse=True)
def space(cluster: RealCluster) -> Iterator[None]:
    """A namespace of this file's own."""
    with namespace(cluster, SPACE):
        yield


def web(replicas: int = 1) -> dict[str, Any]:
    container = {"name": "main", "image": "podling.local/host", "command": ["sh", "-c", SERVE]}
    spec = {"terminationGracePeriodSeconds": 2, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": SPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
        },
    }


@pytest.fixture(scope="module")
def deployment(cluster: RealCluster, space: None) -> str:
    """A deployment that is rolled out; tests leave it at rest."""
    cluster.apply(web())
    rolled_out(cluster)
    return "deployment/web"


def rolled_out(cluster: RealCluster) -> None:
    said = cluster.kubectl("rollout", "status", "deployment/web", *IN, "--timeout=60s")
    assert 'deployment "web" successfully rolled out' in said


def test_scale_restart_set_image_and_undo(cluster: RealCluster, deployment: str) -> None:
    assert cluster.kubectl("scale", deployment, *IN, "--replicas=2") == "deployment.apps/web scaled\n"
    rolled_out(cluster)
    assert cluster.get(deployment, *IN)["status"]["readyReplicas"] == 2
    refused = cluster.try_kubectl("scale", deployment, *IN, "--replicas=1", "--current-replicas=5")
    assert "Expected replicas to be 5, was 2" in refused.err
    cluster.kubectl("scale", deployment, *IN, "--replicas=1")
    rolled_out(cluster)

    assert cluster.kubectl("rollout", "restart", deployment, *IN) == "deployment.apps/web restarted\n"
    rolled_out(cluster)
    template = cluster.get(deployment, *IN)["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]

    cluster.kubectl("set", "image", deployment, *IN, "main=podling.local/host:latest")
    cluster.kubectl("set", "env", deployment, *IN, "COLOUR=blue")
    rolled_out(cluster)
    assert cluster.kubectl("exec", *IN, deployment, "--", "sh", "-c", "echo $COLOUR") == "blue\n"
    history = cluster.kubectl("rollout", "history", deployment, *IN)
    assert history.splitlines()[1].split() == ["REVISION", "CHANGE-CAUSE"]
    assert cluster.kubectl("rollout", "undo", deployment, *IN, "--to-revision=1").endswith("rolled back\n")
    rolled_out(cluster)
    container = cluster.get(deployment, *IN)["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], "env" in container) == ("podling.local/host", False)


def test_pause_and_resume(cluster: RealCluster, deployment: str) -> None:
    cluster.kubectl("rollout", "pause", deployment, *IN)
    assert "already paused" in cluster.try_kubectl("rollout", "pause", deployment, *IN).err
    assert cluster.try_kubectl("rollout", "restart", deployment, *IN).code == 1
    cluster.kubectl("rollout", "resume", deployment, *IN)
    rolled_out(cluster)


def test_autoscale_creates_an_autoscaler(cluster: RealCluster, deployment: str) -> None:
    cluster.kubectl("autoscale", deployment, *IN, "--min=1", "--max=3", "--cpu-percent=50")
    row = cluster.kubectl("get", "hpa", "web", *IN).splitlines()[1].split()
    assert row[:6] == ["web", "Deployment/web", "cpu:", "<unknown>/50%", "1", "3"]
    assert "Min replicas:" in cluster.kubectl("describe", "hpa", "web", *IN)
    cluster.kubectl("delete", "hpa", "web", *IN)


def test_expose_creates_a_service(cluster: RealCluster, deployment: str) -> None:
    assert cluster.kubectl("expose", deployment, *IN, "--port=80") == "service/web exposed\n"
    selected = cluster.get("service", "web", *IN)["spec"]["selector"]
    assert selected == {"app": "web"}
    described = cluster.kubectl("describe", "service", "web", *IN)
    assert "Selector:                 app=web" in described
    cluster.kubectl("delete", "service", "web", *IN)


def test_run_once_and_wait_for_its_end(cluster: RealCluster) -> None:
    made = cluster.kubectl("run", "once", *IN, IMAGE, "--restart=Never", "--", "echo", "hello")
    assert made == "pod/once created\n"
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/once", *IN, "--timeout=60s")
    assert cluster.kubectl("logs", "once", *IN) == "hello\n"
    assert cluster.get("pod", "once", *IN)["metadata"]["labels"] == {"run": "once"}
    cluster.kubectl("delete", "pod", "once", *IN, "--wait=false")
    cluster.kubectl("wait", "--for=delete", "pod/once", *IN, "--timeout=60s")
    shown = cluster.try_kubectl(
        "run", "once", *IN, IMAGE, "-i", "--rm", "--restart=Never", "--", "cat", stdin="in\n"
    )
    assert "in\n" in shown.out
    assert cluster.try_kubectl("get", "pod", "once", *IN).code == 1


def test_wait_gives_up(cluster: RealCluster, deployment: str) -> None:
    late = cluster.try_kubectl("wait", "--for=delete", deployment, *IN, "--timeout=1s")
    assert "timed out waiting for the condition on deployments/web" in late.err
    late = cluster.try_kubectl("wait", "--for=jsonpath={.spec.replicas}=9", deployment, *IN, "--timeout=1s")
    assert late.code == 1
    met = cluster.kubectl("wait", "--for=condition=Available", deployment, *IN)
    assert met == "deployment.apps/web condition met\n"


def test_taints_are_added_and_removed(cluster: RealCluster) -> None:
    node = cluster.kubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
    assert cluster.kubectl("taint", "nodes", node, "a=b:NoSchedule") == f"node/{node} tainted\n"
    try:
        again = cluster.try_kubectl("taint", "nodes", node, "a=c:NoSchedule")
        assert "already has a taint(s) with same effect(s) and --overwrite is false" in again.err
        assert "Taints:             a=b:NoSchedule" in cluster.kubectl("describe", "node", node)
        cluster.kubectl("run", "unwanted", *IN, IMAGE, "--", "true")
        cluster.kubectl(
            "wait", "--for=jsonpath={.status.conditions[0].reason}=Unschedulable", "pod/unwanted", *IN
        )
        assert "had untolerated taint" in cluster.kubectl("describe", "pod", "unwanted", *IN)
        cluster.kubectl("delete", "pod", "unwanted", *IN)
    finally:
        assert cluster.kubectl("taint", "nodes", node, "a-") == f"node/{node} untainted\n"
    assert 'taint "a" not found' in cluster.try_kubectl("taint", "nodes", node, "a-").err


def test_cordon_drain_and_uncordon(cluster: RealCluster, deployment: str) -> None:
    node = cluster.kubectl("get", "nodes", "-o", "name").strip()
    before = cluster.kubectl("get", "pods", *IN, "-l", "app=web", "-o", "name")
    budget = ("poddisruptionbudget", "strict")
    cluster.kubectl("create", *budget, *IN, "--selector=app=web", "--min-available=1")
    cluster.kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", "/".join(budget), *IN)
    drain = ("drain", node, "--pod-selector=app=web", "--ignore-daemonsets")
    try:
        refused = cluster.try_kubectl(*drain, "--timeout=2s")
        assert "Cannot evict pod as it would violate the pod's disruption budget." in refused.err
        assert "SchedulingDisabled" in cluster.kubectl("get", node)
        cluster.kubectl("delete", *budget, *IN)
        drained = cluster.kubectl(*drain, "--timeout=60s")
        assert f"{before.strip()} evicted" in drained
        assert f"{node} drained" in drained
        after = cluster.kubectl("get", "pods", *IN, "-l", "app=web").splitlines()[1].split()
        assert after[1:3] == ["0/1", "Pending"], "the replacement waits for a node"
    finally:
        assert cluster.kubectl("uncordon", node) == f"{node} uncordoned\n"
    rolled_out(cluster)
    assert cluster.kubectl("cordon", node, "--dry-run=server").endswith("cordoned (server dry run)\n")


def test_sorted_and_templated_output(cluster: RealCluster) -> None:
    for name, value in (("z", "1"), ("a", "3"), ("m", "2")):
        cluster.kubectl("create", "configmap", f"sorted-{name}", *IN, f"--from-literal=v={value}")
        cluster.kubectl("label", "configmap", f"sorted-{name}", *IN, "set=sorted")
    chosen = ("get", "configmaps", *IN, "-l", "set=sorted")
    by_value = cluster.kubectl(*chosen, "--sort-by=.data.v", "-o", "name").split()
    assert by_value == [f"configmap/sorted-{name}" for name in "zma"]
    template = '{{range .items}}{{.metadata.name}}={{index .data "v"}};{{end}}'
    assert cluster.kubectl(*chosen, "-o", f"go-template={template}") == "sorted-a=3;sorted-m=2;sorted-z=1;"
    paths = "jsonpath={range .items[*]}{.metadata.name}{'\\n'}{end}"
    assert cluster.kubectl(*chosen, "-o", paths).split() == ["sorted-a", "sorted-m", "sorted-z"]
    columns = cluster.kubectl(*chosen, "--no-headers", "-o", "custom-columns=V:.data.v", "--sort-by=.data.v")
    assert columns.split() == ["1", "2", "3"]
    assert cluster.kubectl(*chosen, "--show-labels", "-L", "set").splitlines()[1].split()[-2:] == [
        "sorted",
        "set=sorted",
    ]
    assert cluster.kubectl("delete", "configmaps", *IN, "-l", "set=sorted").count("deleted") == 3


def test_openapi_v2_explains_kinds_and_unknown_kinds_are_refused(cluster: RealCluster) -> None:
    """Both read OpenAPI v2, which client-go takes as protobuf only."""
    explained = cluster.kubectl("explain", "--output", "plaintext-openapiv2", "pod.spec.containers.ports")
    assert "containerPort\t<integer> -required-" in explained
    gizmo = json.dumps({"apiVersion": "v1", "kind": "Gizmo", "metadata": {"name": "g"}})
    refused = cluster.try_kubectl("apply", "-f", "-", stdin=gizmo)
    assert 'no matches for kind "Gizmo" in version "v1"' in refused.err


def test_component_statuses_are_healthy(cluster: RealCluster) -> None:
    asked = cluster.try_kubectl("get", "componentstatuses")
    assert asked.err == "Warning: v1 ComponentStatus is deprecated in v1.19+\n"
    assert [line.split() for line in asked.out.splitlines()] == [
        ["NAME", "STATUS", "MESSAGE", "ERROR"],
        ["scheduler", "Healthy", "ok"],
        ["controller-manager", "Healthy", "ok"],
        ["etcd-0", "Healthy", "ok"],
    ]


def test_metrics_have_upstream_names(cluster: RealCluster) -> None:
    said = cluster.kubectl("get", "--raw", "/metrics")
    names = {line.split()[2] for line in said.splitlines() if line.startswith("# TYPE ")}
    assert names >= {
        "apiserver_request_total",
        "apiserver_watch_events_total",
        "apiserver_storage_objects",
        "apiserver_storage_size_bytes",
        "etcd_requests_total",
        "etcd_request_duration_seconds",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "rest_client_requests_total",
        "workqueue_depth",
        "workqueue_longest_running_processor_seconds",
    }
    lines = said.splitlines()
    for start in (
        'workqueue_adds_total{name="replicaset"} ',
        'rest_client_requests_total{code="201",host="127.0.0.1:',
        'etcd_requests_total{group="coordination.k8s.io",operation="create",resource="leases"} ',
    ):
        assert any(line.startswith(start) for line in lines), start
    (size,) = (line for line in lines if line.startswith("apiserver_storage_size_bytes{"))
    assert float(size.split()[-1]) > 0


def test_flow_schemas_are_those_of_every_cluster(cluster: RealCluster) -> None:
    lines = [line.split() for line in cluster.kubectl("get", "flowschemas").splitlines()]
    columns = "NAME PRIORITYLEVEL MATCHINGPRECEDENCE DISTINGUISHERMETHOD AGE MISSINGPL"
    assert lines[0] == columns.split()
    assert ["exempt", "exempt", "1", "<none>", "False"] in [line[:4] + line[5:] for line in lines]
    assert len(lines) == 1 + 13
    levels = cluster.kubectl("get", "prioritylevelconfigurations", "--no-headers").splitlines()
    shown = {line.split()[0]: line.split()[1:6] for line in levels}
    assert shown["exempt"] == ["Exempt", "<none>", "<none>", "<none>", "<none>"]
    assert shown["workload-low"] == ["Limited", "100", "128", "6", "50"]
    assert shown["catch-all"] == ["Limited", "5", "<none>", "<none>", "<none>"]


@pytest.mark.parametrize("kind", ["DaemonSet", "StatefulSet"])
def test_rollout_history_shows_the_change_cause(cluster: RealCluster, kind: str) -> None:
    wanted = {**web(), "kind": kind}
    name = {"name": f"history-{kind.lower()}", "namespace": SPACE}
    cause = {"kubernetes.io/change-cause": "first roll-out"}
    wanted["metadata"] = {**name, "annotations": cause}
    selector = {"matchLabels": {"app": name["name"]}}
    template = {**wanted["spec"]["template"], "metadata": {"labels": selector["matchLabels"]}}
    wanted["spec"] = {"selector": selector, "template": template}
    cluster.apply(wanted)
    target = f"{kind.lower()}/{name['name']}"
    cluster.kubectl("rollout", "status", target, *IN, "--timeout=60s")
    assert "1         first roll-out" in cluster.kubectl("rollout", "history", target, *IN)
    cluster.kubectl("delete", target, *IN)
