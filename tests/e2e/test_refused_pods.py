"""Pods that cannot be: refused with 422 before a node sees them, or reported as errors of their container."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import RealCluster, shell_pod
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.root]

Plain = dict[str, Any]
PROBE = {"exec": {"command": ["true"]}}
TAKEN = {"name": "x", "mountPath": "/x"}

INVALID: list[tuple[str, Plain, Plain, str]] = [
    ("own-users-host-network", {"hostUsers": False, "hostNetwork": True}, {}, "spec.hostNetwork"),
    ("own-users-host-pid", {"hostUsers": False, "hostPID": True}, {}, "spec.HostPID"),
    ("own-users-host-ipc", {"hostUsers": False, "hostIPC": True}, {}, "spec.HostIPC"),
    (
        "limit-below-request",
        {},
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        "spec.containers[0].resources.requests",
    ),
    (
        "privileged-without-escalation",
        {},
        {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        "spec.containers[0].securityContext",
    ),
    ("mount-of-no-volume", {}, {"volumeMounts": [TAKEN]}, "spec.containers[0].volumeMounts[0].name"),
    (
        "same-path-twice",
        {"volumes": [{"name": "x", "emptyDir": {}}]},
        {"volumeMounts": [TAKEN, TAKEN]},
        "spec.containers[0].volumeMounts[1].mountPath",
    ),
    (
        "sub-path-out-of-the-volume",
        {"volumes": [{"name": "x", "emptyDir": {}}]},
        {"volumeMounts": [{**TAKEN, "subPath": "../up"}]},
        "spec.containers[0].volumeMounts.subPath",
    ),
    (
        "two-sources-of-a-volume",
        {"volumes": [{"name": "x", "emptyDir": {}, "configMap": {"name": "c"}}]},
        {},
        "spec.volumes[0].configMap",
    ),
    (
        "probe-with-two-handlers",
        {},
        {"livenessProbe": {**PROBE, "tcpSocket": {"port": 80}}},
        "spec.containers[0].livenessProbe.tcpSocket",
    ),
    (
        "liveness-with-two-successes",
        {},
        {"livenessProbe": {**PROBE, "successThreshold": 2}},
        "spec.containers[0].livenessProbe.successThreshold",
    ),
    ("negative-deadline", {"activeDeadlineSeconds": -1}, {}, "spec.activeDeadlineSeconds"),
    ("unknown-policy", {"restartPolicy": "Sometimes"}, {}, "spec.restartPolicy"),
    (
        "huge-pages-without-limit",
        {},
        {"resources": {"requests": {"hugepages-2Mi": "2Mi"}}},
        "spec.containers[0].resources.limits",
    ),
]


@pytest.mark.parametrize(("name", "spec", "container", "field"), INVALID, ids=[each[0] for each in INVALID])
def test_invalid_pod_is_refused_before_a_node_sees_it(
    cluster: RealCluster, name: str, spec: Plain, container: Plain, field: str
) -> None:
    body = json.dumps(shell_pod(name, "true", container=container, **spec)).encode()
    code, status, _ = cluster.request("POST", "/api/v1/namespaces/default/pods", body)
    assert (code, status["reason"]) == (422, "Invalid")
    assert field in [cause["field"] for cause in status["details"]["causes"]]
    assert cluster.try_kubectl("get", "pod", name).code == 1


UNTIL_STOPPED = "trap 'exit 0' TERM; sleep 3600 & wait"
ON_THE_NODE: list[tuple[str, Plain, Plain, str, str]] = [
    (
        "root",
        {},
        {"securityContext": {"runAsNonRoot": True}},
        "CreateContainerConfigError",
        "container has runAsNonRoot and image will run as root",
    ),
    (
        "late-key",
        {},
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "of-the-test", "key": "late"}}}]},
        "CreateContainerConfigError",
        "couldn't find key late in Secret default/of-the-test",
    ),
    ("no-program", {}, {"command": ["/none"]}, "CrashLoopBackOff", "back-off"),
    (
        "no-image",
        {},
        {"image": "example.com/none:1", "imagePullPolicy": "Never"},
        "ErrImageNeverPull",
        'Container image "example.com/none:1" is not present with pull policy of Never',
    ),
]


@pytest.fixture(scope="module")
def tried(cluster: RealCluster) -> Iterator[RealCluster]:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "of-the-test"}}
    pods = [
        shell_pod(name, UNTIL_STOPPED, container=container, **spec)
        for name, spec, container, _, _ in ON_THE_NODE
    ]
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret, *pods, neighbour()]})
    cluster.kubectl("apply", "-f", "-", stdin=everything)
    try:
        yield cluster
    finally:
        cluster.kubectl("delete", "-f", "-", "--grace-period=1", stdin=everything)


def neighbour() -> Plain:
    return shell_pod("neighbour", UNTIL_STOPPED)


def waiting(cluster: RealCluster, name: str) -> Plain:
    (status,) = cluster.get("pod", name)["status"].get("containerStatuses") or [{"state": {}}]
    found: Plain = status["state"].get("waiting", {})
    return found


@pytest.mark.parametrize(
    ("name", "reason", "message"),
    [(name, reason, message) for name, _, _, reason, message in ON_THE_NODE],
    ids=[each[0] for each in ON_THE_NODE],
)
def test_error_of_the_node_is_the_reason_of_its_container_alone(
    tried: RealCluster, name: str, reason: str, message: str
) -> None:
    until(lambda: waiting(tried, name).get("reason") == reason)
    assert message in waiting(tried, name)["message"]
    tried.wait_ready("neighbour")


def test_pod_starts_by_itself_once_its_key_is_there(tried: RealCluster) -> None:
    patch = json.dumps({"stringData": {"late": "here"}})
    tried.kubectl("patch", "secret", "of-the-test", "-p", patch)
    tried.wait_ready("late-key")
    assert tried.kubectl("exec", "late-key", "--", "sh", "-c", "echo $A") == "here\n"
