"""The real kubectl on an ordinary day: what ``kubectl create`` makes, roll-outs, nodes, waiting, output."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``key.pem`` and ``cert.pem``."""
    folder = tmp_path_factory.mktemp("certificate")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=foo.com -days 2 -keyout key.pem -out cert.pem"
    subprocess.run(made.split(), check=True, capture_output=True, cwd=folder)
    return folder


GENERATORS: dict[str, tuple[str, str, Any]] = {
    "configmap made --from-literal=a=1": ("configmap", "data", {"a": "1"}),
    "secret generic made --from-literal=a=1": ("secret", "data", {"a": "MQ=="}),
    "serviceaccount made": ("serviceaccount", "kind", "ServiceAccount"),
    "role made --verb=get,list --resource=pods,deployments.apps": (
        "role",
        "rules",
        [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
        ],
    ),
    "rolebinding made --clusterrole=view --serviceaccount=everyday:made --user=ann --group=all": (
        "rolebinding",
        "subjects",
        [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "all"},
            {"kind": "ServiceAccount", "name": "made", "namespace": "everyday"},
        ],
    ),
    "clusterrole made --verb=get --resource=nodes": (
        "clusterrole",
        "rules",
        [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
    ),
    "clusterrolebinding made --clusterrole=view --user=ann": (
        "clusterrolebinding",
        "roleRef",
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    ),
    "service clusterip made --tcp=80:8080": (
        "service",
        "spec.ports",
        [{"name": "80-8080", "port": 80, "protocol": "TCP", "targetPort": 8080}],
    ),
    "service clusterip made --clusterip=None": ("service", "spec.clusterIP", "None"),
    "service nodeport made --tcp=80 --node-port=30999": (
        "service",
        "spec.ports",
        [{"name": "80", "nodePort": 30999, "port": 80, "protocol": "TCP", "targetPort": 80}],
    ),
    "service externalname made --external-name=example.com": (
        "service",
        "spec.externalName",
        "example.com",
    ),
    f"deployment made {IMAGE} --replicas=0 --port=80": ("deployment", "spec.replicas", 0),
    f"job made {IMAGE} -- true": ("job", "spec.completions", 1),
    f"cronjob made {IMAGE} --schedule=@yearly -- true": ("cronjob", "spec.schedule", "@yearly"),
    "quota made --hard=pods=3": ("quota", "spec.hard", {"pods": "3"}),
    "poddisruptionbudget made --selector=app=none --max-unavailable=1": (
        "poddisruptionbudget",
        "spec.maxUnavailable",
        1,
    ),
    "priorityclass made --value=7 --preemption-policy=Never": ("priorityclass", "value", 7),
    "poddisruptionbudget made --selector=app=none --min-available=50%": (
        "poddisruptionbudget",
        "spec.minAvailable",
        "50%",
    ),
    "service loadbalancer made --tcp=80": ("service", "spec.type", "LoadBalancer"),
    "role made --verb=get --resource=pods --resource-name=one --resource-name=two": (
        "role",
        "rules",
        [{"apiGroups": [""], "resourceNames": ["one", "two"], "resources": ["pods"], "verbs": ["get"]}],
    ),
    "clusterrole made --verb=get --non-resource-url=/metrics": (
        "clusterrole",
        "rules",
        [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    ),
    "clusterrole made --aggregation-rule=collect=yes": (
        "clusterrole",
        "aggregationRule",
        {"clusterRoleSelectors": [{"matchLabels": {"collect": "yes"}}]},
    ),
    "quota made --hard=pods=3 --scopes=BestEffort": ("quota", "spec.scopes", ["BestEffort"]),
    "secret generic made --type=example.com/key --from-literal=a=1": ("secret", "type", "example.com/key"),
    "namespace made": ("namespace", "status.phase", "Active"),
    "ingress made --rule=foo.com/*=web:80 --default-backend=web:80 --annotation=a=b": (
        "ingress",
        "spec.defaultBackend",
        {"service": {"name": "web", "port": {"number": 80}}},
    ),
    "ingress made --rule=foo.com/bar*=web:80,tls=cert --class=none": (
        "ingress",
        "spec.tls",
        [{"hosts": ["foo.com"], "secretName": "cert"}],
    ),
}


@pytest.mark.parametrize("told", GENERATORS)
def test_create(cluster: RealCluster, told: str) -> None:
    kind, field, value = GENERATORS[told]
    done = cluster.kubectl(*IN, "create", *told.split())
    assert done.endswith("/made created\n")
    stored: Any = cluster.get(kind, "made", *IN)
    for step in field.split("."):
        stored = stored[step]
    assert stored == value
    assert "made" in cluster.kubectl("describe", kind, "made", *IN)
    assert '"made" deleted' in cluster.kubectl("delete", kind, "made", *IN)


def test_create_secrets_of_every_kind(cluster: RealCluster, certificate: Path) -> None:
    files = (f"--cert={certificate / 'cert.pem'}", f"--key={certificate / 'key.pem'}")
    cluster.kubectl("create", "secret", "tls", "made", *files, *IN)
    stored = cluster.get("secret", "made", *IN)
    assert stored["type"] == "kubernetes.io/tls"
    assert base64.b64decode(stored["data"]["tls.crt"]) == (certificate / "cert.pem").read_bytes()
    cluster.kubectl("delete", "secret", "made", *IN)
    account = ("--docker-server=r.example", "--docker-username=u", "--docker-password=p")
    cluster.kubectl("create", "secret", "docker-registry", "made", *account, *IN)
    stored = cluster.get("secret", "made", *IN)
    assert stored["type"] == "kubernetes.io/dockerconfigjson"
    assert json.loads(base64.b64decode(stored["data"][".dockerconfigjson"]))["auths"]["r.example"]["auth"]
    cluster.kubectl("delete", "secret", "made", *IN)


def test_create_a_token_that_the_server_knows(cluster: RealCluster) -> None:
    cluster.kubectl("create", "serviceaccount", "robot", *IN)
    token = cluster.kubectl("create", "token", "robot", *IN, "--duration=10m").strip()
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["sub"] == "system:serviceaccount:everyday:robot"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = json.loads(cluster.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))
    assert answer["status"]["user"]["username"] == "system:serviceaccount:everyday:robot"


def test_create_a_job_from_a_cron_job_and_wait_for_it(cluster: RealCluster) -> None:
    cluster.kubectl("create", "cronjob", "yearly", IMAGE, "--schedule=@yearly", *IN, "--", "true")
    cluster.kubectl("create", "job", "now", "--from=cronjob/yearly", *IN)
    cluster.kubectl("wait", "--for=condition=Complete", "job/now", *IN, "--timeout=60s")
    assert cluster.get("job", "now", *IN)["status"]["succeeded"] == 1
    header, row = cluster.kubectl("get", "job", "now", *IN).splitlines()
    assert header.split() == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
    assert row.split()[:3] == ["now", "Complete", "1/1"]
    cluster.kubectl("delete", "cronjob", "yearly", *IN, "--cascade=foreground")
    assert cluster.try_kubectl("get", "job", "now", *IN).code == 1, "what it made goes with it"


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


def test_autoscale(cluster: RealCluster, deployment: str) -> None:
    cluster.kubectl("autoscale", deployment, *IN, "--min=1", "--max=3", "--cpu-percent=50")
    row = cluster.kubectl("get", "hpa", "web", *IN).splitlines()[1].split()
    assert row[:6] == ["web", "Deployment/web", "cpu:", "<unknown>/50%", "1", "3"]
    assert "Min replicas:" in cluster.kubectl("describe", "hpa", "web", *IN)
    cluster.kubectl("delete", "hpa", "web", *IN)


def test_expose(cluster: RealCluster, deployment: str) -> None:
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


def test_taints(cluster: RealCluster) -> None:
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


def test_top_says_that_there_are_no_metrics(cluster: RealCluster) -> None:
    for what in ("nodes", "pods"):
        done = cluster.try_kubectl("top", what)
        assert (done.code, done.err) == (1, "error: Metrics API not available\n")


def test_the_old_explanation_and_kinds_that_nobody_knows(cluster: RealCluster) -> None:
    """Both read OpenAPI v2, which client-go takes as protobuf only."""
    explained = cluster.kubectl("explain", "--output", "plaintext-openapiv2", "pod.spec.containers.ports")
    assert "containerPort\t<integer> -required-" in explained
    gizmo = json.dumps({"apiVersion": "v1", "kind": "Gizmo", "metadata": {"name": "g"}})
    refused = cluster.try_kubectl("apply", "-f", "-", stdin=gizmo)
    assert 'no matches for kind "Gizmo" in version "v1"' in refused.err


def test_the_health_of_the_control_plane(cluster: RealCluster) -> None:
    asked = cluster.try_kubectl("get", "componentstatuses")
    assert asked.err == "Warning: v1 ComponentStatus is deprecated in v1.19+\n"
    assert [line.split() for line in asked.out.splitlines()] == [
        ["NAME", "STATUS", "MESSAGE", "ERROR"],
        ["scheduler", "Healthy", "ok"],
        ["controller-manager", "Healthy", "ok"],
        ["etcd-0", "Healthy", "ok"],
    ]


def test_what_monitors_read(cluster: RealCluster) -> None:
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
