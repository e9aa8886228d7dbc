"""Tests of the defaults of pods and templates."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod, PodTemplate
from podling.apiserver.kinds.pod.pod_defaults import default_pod, default_pod_template
from podling.machinery.encoding import codec
from tests.support.manifests import PLAIN_POD, obj, pod


def plain(made: Any) -> Any:
    return codec.to_plain(made)


def test_minimal_pod_gets_all_defaults() -> None:
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
def test_defaults_of_container_are_filled_in(manifest: str, field: str, expected: Any) -> None:
    assert plain(pod(manifest))["spec"]["containers"][0][field] == expected


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
def test_pod_level_requests_default_to_containers_or_limit(
    resources: str, containers: str, requests: dict[str, str]
) -> None:
    made = pod(f"spec: {{resources: {resources}, containers: [{{name: a, image: x, {containers}}}]}}")
    assert made.spec.resources is not None
    assert made.spec.resources.requests == requests


def test_negative_grace_of_pod_is_one_and_that_of_template_stays() -> None:
    made = pod("spec: {terminationGracePeriodSeconds: -1}")
    assert made.spec.termination_grace_period_seconds == 1
    template = PodTemplate().template
    template = structs.replace(template, spec=structs.replace(made.spec, termination_grace_period_seconds=-1))
    assert default_pod_template(template).spec.termination_grace_period_seconds == -1


def test_defaulting_twice_changes_nothing() -> None:
    once = default_pod(obj(Pod, "spec: {volumes: [{name: v}], hostNetwork: true}", PLAIN_POD))
    assert default_pod(once) is once


def test_template_lacks_defaults_of_real_pods() -> None:
    fragment = "template: {spec: {containers: [{name: a, image: x, resources: {limits: {cpu: 1}}}]}}"
    template = default_pod_template(obj(PodTemplate, fragment).template)
    assert template.spec.restart_policy == "Always"
    assert template.spec.enable_service_links is None
    assert template.spec.containers[0].resources.requests == {}
