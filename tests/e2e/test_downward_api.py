"""The downward API inside of containers: every field and resource, in variables and in files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from podling.machinery.quantity import value
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

UNTIL_STOPPED = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
Plain = dict[str, Any]

BOTH = {
    "name": "metadata.name",
    "namespace": "metadata.namespace",
    "uid": "metadata.uid",
    "label": "metadata.labels['tier']",
    "annotation": "metadata.annotations['note']",
}
IN_VARIABLES = {
    "account": "spec.serviceAccountName",
    "node": "spec.nodeName",
    "host_ip": "status.hostIP",
    "host_ips": "status.hostIPs",
    "pod_ip": "status.podIP",
    "pod_ips": "status.podIPs",
}
IN_FILES = {"labels": "metadata.labels", "annotations": "metadata.annotations"}
AMOUNTS = {
    "requests.cpu": ("1m", "250"),
    "limits.cpu": ("1", "2"),
    "requests.memory": ("1Mi", "32"),
    "limits.memory": ("1", str(64 << 20)),
    "requests.ephemeral-storage": ("1Mi", "5"),
    "limits.ephemeral-storage": ("1Ki", "10240"),
}
"""By resource: the divisor, and the value that the container reads."""
RESOURCES = {
    "requests": {"cpu": "250m", "memory": "32Mi", "ephemeral-storage": "5Mi"},
    "limits": {"cpu": "1500m", "memory": "64Mi", "ephemeral-storage": "10Mi"},
}
NOTE = 'two\nlines "quoted"'


def of_field(path: str) -> Plain:
    return {"fieldRef": {"fieldPath": path}}


def of_resource(resource: str, divisor: str, container: str = "main") -> Plain:
    return {"resourceFieldRef": {"containerName": container, "resource": resource, "divisor": divisor}}


def variable(name: str) -> str:
    return name.replace(".", "_").replace("-", "_").upper()


def pod() -> Plain:
    fields = {**BOTH, **IN_VARIABLES}
    env = [{"name": variable(name), "valueFrom": of_field(path)} for name, path in fields.items()]
    env += [
        {"name": variable(name), "valueFrom": of_resource(name, divisor)}
        for name, (divisor, _) in AMOUNTS.items()
    ]
    items = [{"path": name, **of_field(path)} for name, path in {**BOTH, **IN_FILES}.items()]
    items += [{"path": name, **of_resource(name, divisor)} for name, (divisor, _) in AMOUNTS.items()]
    items += [
        {"path": f"free/{name}", **of_resource(f"limits.{name}", "1", "free")} for name in ("cpu", "memory")
    ]
    container = {
        "env": env,
        "resources": RESOURCES,
        "volumeMounts": [{"name": "about", "mountPath": "/about"}],
    }
    made = shell_pod(
        "aware",
        UNTIL_STOPPED,
        container=container,
        volumes=[{"name": "about", "downwardAPI": {"items": items}}],
    )
    free = {**shell_pod("x", UNTIL_STOPPED)["spec"]["containers"][0], "name": "free"}
    made["spec"]["containers"].append(free)
    made["metadata"] |= {"labels": {"tier": "front", "app": "web"}, "annotations": {"note": NOTE}}
    return made


@pytest.fixture(scope="module")
def aware(cluster: RealCluster) -> Iterator[RealCluster]:
    """The cluster with a pod that reads all about itself."""
    cluster.apply(pod())
    try:
        cluster.wait_ready("aware")
        yield cluster
    finally:
        cluster.kubectl("delete", "pod", "aware", "--ignore-not-found", "--grace-period=1")


def read(cluster: RealCluster, path: str) -> str:
    return cluster.kubectl("exec", "aware", "-c", "main", "--", "cat", f"/about/{path}")


def variables(cluster: RealCluster) -> dict[str, str]:
    text = cluster.kubectl("exec", "aware", "-c", "main", "--", "cat", "/proc/1/environ")
    return dict(entry.split("=", 1) for entry in text.split("\0") if entry)


def test_fields_are_in_variables_and_files(aware: RealCluster) -> None:
    found = aware.get("pod", "aware")
    expected = {
        "name": "aware",
        "namespace": "default",
        "uid": found["metadata"]["uid"],
        "label": "front",
        "annotation": NOTE,
    }
    held = variables(aware)
    assert {name: held[variable(name)] for name in BOTH} == expected
    assert {name: read(aware, name) for name in BOTH} == expected


def test_addresses_node_and_account_are_in_variables(aware: RealCluster) -> None:
    found = aware.get("pod", "aware")
    status = found["status"]
    held = variables(aware)
    assert {name: held[variable(name)] for name in IN_VARIABLES} == {
        "account": "default",
        "node": found["spec"]["nodeName"],
        "host_ip": status["hostIP"],
        "host_ips": ",".join(each["ip"] for each in status["hostIPs"]),
        "pod_ip": status["podIP"],
        "pod_ips": ",".join(each["ip"] for each in status["podIPs"]),
    }


def test_all_labels_and_annotations_are_in_files(aware: RealCluster) -> None:
    assert read(aware, "labels") == 'app="web"\ntier="front"'
    lines = read(aware, "annotations").splitlines()
    assert f"note={json.dumps(NOTE)}" in lines, "one line each, escaped"


def test_requests_and_limits_are_in_variables_and_files(aware: RealCluster) -> None:
    held = variables(aware)
    expected = {name: value for name, (_, value) in AMOUNTS.items()}
    assert {name: held[variable(name)] for name in AMOUNTS} == expected
    assert {name: read(aware, name) for name in AMOUNTS} == expected


def test_missing_limit_is_what_the_node_can_give(aware: RealCluster) -> None:
    (node,) = aware.get("nodes")["items"]
    allocatable = node["status"]["allocatable"]
    for name in ("cpu", "memory"):
        assert int(read(aware, f"free/{name}")) == value(allocatable[name])


@pytest.mark.parametrize(("path", "where"), [("spec.nodeName", "volume"), ("metadata.labels", "variable")])
def test_field_of_the_other_form_is_refused(aware: RealCluster, path: str, where: str) -> None:
    made = shell_pod("refused", "")
    if where == "volume":
        made["spec"]["volumes"] = [{"name": "v", "downwardAPI": {"items": [{"path": "p", **of_field(path)}]}}]
    else:
        made["spec"]["containers"][0]["env"] = [{"name": "V", "valueFrom": of_field(path)}]
    refused = aware.try_kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(made))
    assert "fieldRef.fieldPath: " in refused.err
    assert refused.code != 0
