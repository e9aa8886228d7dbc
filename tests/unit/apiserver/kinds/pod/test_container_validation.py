"""Tests of the validation of containers."""

from __future__ import annotations

import pytest

from tests.support.causes import LABEL_TEXT, Cause, Row, duplicate, forbidden, invalid, required, unsupported
from tests.support.manifests import container, creation_causes, pod

C0 = "spec.containers[0]"
CONTAINERS: list[Row] = [
    ("spec: {containers: []}", [required("spec.containers")]),
    ("spec: {containers: [{image: nginx}]}", [required(f"{C0}.name")]),
    ("spec: {containers: [{name: main}]}", [required(f"{C0}.image")]),
    (
        "spec: {containers: [{name: Main_1, image: nginx}]}",
        [invalid(f"{C0}.name", '"Main_1"', LABEL_TEXT)],
    ),
    (
        "spec: {containers: [{name: a, image: x}, {name: a, image: y}]}",
        [duplicate("spec.containers[1].name", '"a"')],
    ),
    (
        "spec: {initContainers: [{name: main, image: x}]}",
        [duplicate("spec.initContainers[0].name", '"main"')],
    ),
    (
        "spec: {containers: [{name: main, image: ' nginx'}]}",
        [invalid(f"{C0}.image", '" nginx"', "must not have leading or trailing whitespace")],
    ),
    (
        container("imagePullPolicy: Sometimes"),
        [unsupported(f"{C0}.imagePullPolicy", "Sometimes", "Always", "IfNotPresent", "Never")],
    ),
    (
        container("terminationMessagePolicy: Log"),
        [unsupported(f"{C0}.terminationMessagePolicy", "Log", "File", "FallbackToLogsOnError")],
    ),
    (
        "spec: {ephemeralContainers: [{name: debug, image: busybox}]}",
        [forbidden("spec.ephemeralContainers", "cannot be set on create")],
    ),
    (
        "spec: {initContainers: [{name: setup, image: x, readinessProbe: {tcpSocket: {port: 1}}}]}",
        [
            forbidden(
                "spec.initContainers[0].readinessProbe",
                "may not be set for init containers without restartPolicy=Always",
            )
        ],
    ),
    (
        "spec: {initContainers: [{name: side, image: x, restartPolicy: Always, "
        "readinessProbe: {tcpSocket: {port: 1}}}]}",
        [],
    ),
]
PORTS: list[Row] = [
    (container("ports: [{}]"), [required(f"{C0}.ports[0].containerPort")]),
    (
        container("ports: [{containerPort: 70000}]"),
        [invalid(f"{C0}.ports[0].containerPort", "70000", "must be between 1 and 65535, inclusive")],
    ),
    (
        container("ports: [{containerPort: 80, protocol: tcp}]"),
        [unsupported(f"{C0}.ports[0].protocol", "tcp", "SCTP", "TCP", "UDP")],
    ),
    (
        container("ports: [{containerPort: 80, name: web}, {containerPort: 81, name: web}]"),
        [duplicate(f"{C0}.ports[1].name", '"web"')],
    ),
    (
        container("ports: [{containerPort: 80, name: a-name-far-too-long}]"),
        [invalid(f"{C0}.ports[0].name", '"a-name-far-too-long"', "must be no more than 15 characters")],
    ),
    (
        container("ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81, hostPort: 8080}]"),
        [duplicate(f"{C0}.ports[1].hostPort", '"TCP//8080"')],
    ),
    (
        "spec: {hostNetwork: true, containers: [{name: main, image: x, "
        "ports: [{containerPort: 80, hostPort: 81}]}]}",
        [invalid(f"{C0}.ports[0].hostPort", "81", "must match `containerPort` when `hostNetwork` is true")],
    ),
]
RESTARTS: list[Row] = [
    (
        "spec: {restartPolicy: Sometimes}",
        [
            unsupported("spec.restartPolicy", 'Sometimes', 'Always', 'OnFailure', 'Never')
        ],
    ),
    (
        container("restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]"),
        [
            required(f"{C0}.restartPolicy", 'must specify restartPolicy when restart rules are used')
        ],
    ),
    (
        container("restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In}}]"),
        [],
    ),
    (
        container(
            "restartPolicy: Never, restartPolicyRules: [{action: Leave, exitCodes: {}}, {action: Restart}]"
        ),
        [
            unsupported(f"{C0}.restartPolicyRules[0].action", "Leave", "Restart", "RestartAllContainers"),
            unsupported(f"{C0}.restartPolicyRules[0].exitCodes.operator", "", "In", "NotIn"),
            required(f"{C0}.restartPolicyRules[1].exitCodes", "must be specified"),
        ],
    ),
    (
        "spec: {initContainers: [{name: i, image: x, restartPolicyRules: [{action: Restart}]}]}",
        [
            required(
                "spec.initContainers[0].restartPolicy",
                "must specify restartPolicy when restart rules are used",
            )
        ],
    ),
    (
        "spec: {initContainers: [{name: i, image: x, "
        "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]}",
        [
            invalid(
                "spec.initContainers[0].resizePolicy[0].restartPolicy",
                '"RestartContainer"',
                "must not be set to 'RestartContainer' for non-sidecar initContainers",
            )
        ],
    ),
    (
        "spec: {initContainers: [{name: i, image: x, restartPolicy: Always, "
        "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]}",
        [],
    ),
    (
        container("env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: ../a, key: k}}}, "
                  "{name: B, valueFrom: {fileKeyRef: {volumeName: w, path: /a, key: ''}}}]")
        + "\n",
        [
            invalid(f"{C0}.env[0].valueFrom.fileKeyRef.path", '"../a"', "must not contain '..'"),
            required(f"{C0}.env[1].valueFrom.fileKeyRef.key"),
            (f"{C0}.env[0].valueFrom.fileKeyRef.volumeName", "FieldValueNotFound", 'Not found: "v"'),
            (f"{C0}.env[1].valueFrom.fileKeyRef.volumeName", "FieldValueNotFound", 'Not found: "w"'),
        ],
    ),
    ("spec: {activeDeadlineSeconds: 0}", [
        invalid("spec.activeDeadlineSeconds", '0', 'must be between 1 and 2147483647, inclusive')
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "expected"), [*CONTAINERS, *PORTS, *RESTARTS])
def test_invalid_container_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_init_container_may_have_any_restart_policy(policy: str) -> None:
    setup = f"initContainers: [{{name: setup, image: x, restartPolicy: {policy}}}]"
    assert creation_causes(pod(f"spec: {{{setup}}}")) == []


def test_pod_with_one_container_is_valid() -> None:
    assert creation_causes(pod("")) == []
