"""What a pod gets that its author left out."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Pod, PodTemplate
from podling.apiserver.kinds.pod.image_defaults import image_pull_policy
from podling.apiserver.kinds.pod.pod_defaults import default_pod, default_pod_template
from podling.machinery.encoding import codec
from tests.support.manifests import PLAIN_POD, obj, pod


def plain(made: Any) -> Any:
    return codec.to_plain(made)


def test_everything_of_a_plain_pod() -> None:
    spec = plain(pod(""))["spec"]
    assert spec == {
        "containers": [
            {
                "name": "main",
                "image": "nginx:1.27",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/team/app", "Always"),
        ("registry:5000/team/app:v1", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "0" * 64, "Always"),
        ("NotAnImage", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_only_moving_tags_are_pulled_every_time(image: str, policy: str) -> None:
    assert image_pull_policy(image) == policy


CASES: list[tuple[str, str, Any]] = [
    (
        "spec: {containers: [{name: a, image: x, livenessProbe: {httpGet: {port: 80}}}]}",
        "livenessProbe",
        {
            "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
    ),
    (
        "spec: {containers: [{name: a, image: x, lifecycle: {preStop: {httpGet: {port: http}}}}]}",
        "lifecycle",
        {"preStop": {"httpGet": {"path": "/", "port": "http", "scheme": "HTTP"}}},
    ),
    (
        "spec: {containers: [{name: a, image: x, ports: [{containerPort: 53}]}]}",
        "ports",
        [{"containerPort": 53, "protocol": "TCP"}],
    ),
    (
        "spec: {hostNetwork: true, containers: [{name: a, image: x, ports: [{containerPort: 53}]}]}",
        "ports",
        [{"containerPort": 53, "hostPort": 53, "protocol": "TCP"}],
    ),
    (
        "spec: {containers: [{name: a, image: x, resources: {limits: {cpu: 1, memory: 1Gi}, "
        "requests: {cpu: 500m}}}]}",
        "resources",
        {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
    ),
    (
        "spec: {containers: [{name: a, image: x, env: [{name: E, valueFrom: "
        "{fieldRef: {fieldPath: metadata.name}}}]}]}",
        "env",
        [{"name": "E", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
    ),
]


@pytest.mark.parametrize(("manifest", "field", "expected"), CASES)
def test_a_containers_defaults(manifest: str, field: str, expected: Any) -> None:
    assert plain(pod(manifest))["spec"]["containers"][0][field] == expected


VOLUMES: list[tuple[str, Any]] = [
    ("", {"emptyDir": {}}),
    ("secret: {secretName: s}", {"secret": {"secretName": "s", "defaultMode": 0o644}}),
    ("configMap: {name: c}", {"configMap": {"name": "c", "defaultMode": 0o644}}),
    ("hostPath: {path: /x}", {"hostPath": {"path": "/x", "type": ""}}),
    (
        "projected: {sources: [{serviceAccountToken: {path: t}}]}",
        {
            "projected": {
                "defaultMode": 0o644,
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
            }
        },
    ),
    (
        "downwardAPI: {items: [{path: n, fieldRef: {fieldPath: metadata.name}}]}",
        {
            "downwardAPI": {
                "defaultMode": 0o644,
                "items": [{"path": "n", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
            }
        },
    ),
    ("image: {reference: data}", {"image": {"reference": "data", "pullPolicy": "Always"}}),
]


@pytest.mark.parametrize(("source", "expected"), VOLUMES)
def test_a_volumes_defaults(source: str, expected: Any) -> None:
    made = pod(f"spec: {{volumes: [{{name: v, {source}}}]}}")
    assert plain(made)["spec"]["volumes"] == [{"name": "v", **expected}]


@pytest.mark.parametrize(
    ("resources", "containers", "requests"),
    [
        ("{limits: {cpu: 2}}", "", {"cpu": "2"}),
        ("{limits: {cpu: 2}}", "resources: {requests: {cpu: 500m}}", {"cpu": "500m"}),
        (
            "{requests: {cpu: 1}, limits: {cpu: 2}}",
            "resources: {requests: {cpu: 500m, memory: 1Gi}}",
            {"cpu": "1", "memory": "1Gi"},
        ),
        ("{requests: {cpu: 1}}", "resources: {requests: {cpu: 500m, memory: 1Gi}}", {"cpu": "1"}),
        (
            "{limits: {cpu: 2}}",
            "resources: {limits: {hugepages-2Mi: 4Mi}}",
            {"cpu": "2", "hugepages-2Mi": "4Mi"},
        ),
    ],
)
def test_pod_level_requests_come_from_the_containers_or_the_limit(
    resources: str, containers: str, requests: dict[str, str]
) -> None:
    made = pod(f"spec: {{resources: {resources}, containers: [{{name: a, image: x, {containers}}}]}}")
    assert made.spec.resources is not None
    assert made.spec.resources.requests == requests


def test_defaulting_twice_changes_nothing() -> None:
    once = default_pod(obj(Pod, "spec: {volumes: [{name: v}], hostNetwork: true}", PLAIN_POD))
    assert default_pod(once) is once


def test_a_template_keeps_what_only_a_pod_gets() -> None:
    fragment = "template: {spec: {containers: [{name: a, image: x, resources: {limits: {cpu: 1}}}]}}"
    template = default_pod_template(obj(PodTemplate, fragment).template)
    assert template.spec.restart_policy == "Always"
    assert template.spec.enable_service_links is None
    assert template.spec.containers[0].resources.requests == {}


def test_a_new_pod_is_pending_and_has_its_class() -> None:
    status = pod("status: {phase: Running, message: mine}").status
    assert plain(status) == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_gated_pod_says_so() -> None:
    (condition,) = pod("spec: {schedulingGates: [{name: wait}]}").status.conditions
    assert plain(condition) == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }


def test_match_label_keys_become_part_of_the_selector() -> None:
    made = pod(
        "metadata: {labels: {rev: '7'}}\n"
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,"
        " labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [rev, absent]}]}"
    )
    selector = made.spec.topology_spread_constraints[0].label_selector
    assert plain(selector) == {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "rev", "operator": "In", "values": ["7"]}],
    }
