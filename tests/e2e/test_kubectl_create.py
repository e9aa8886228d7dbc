"""``kubectl create`` of everything that it has a generator for."""

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

SPACE = "created"
IN = ("-n", SPACE)
IMAGE = "--image=podling.local/host"


@pytest.fixture(scope="module", autouse=True)
def space(cluster: RealCluster) -> Iterator[None]:
    """A namespace of this file's own."""
    with namespace(cluster, SPACE):
        yield


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
    "rolebinding made --clusterrole=view --serviceaccount=created:made --user=ann --group=all": (
        "rolebinding",
        "subjects",
        [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "all"},
            {"kind": "ServiceAccount", "name": "made", "namespace": "created"},
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
def test_create_generates_every_kind(cluster: RealCluster, told: str) -> None:
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
    assert claims["sub"] == "system:serviceaccount:created:robot"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = json.loads(cluster.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))
    assert answer["status"]["user"]["username"] == "system:serviceaccount:created:robot"


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
