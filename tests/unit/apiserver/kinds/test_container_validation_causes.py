"""What is wrong with containers, as a table: a fragment of a manifest and the causes in the answer."""

from __future__ import annotations

import pytest

from tests.support.causes import (
    LABEL_TEXT,
    Cause,
    Row,
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)
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

ENVIRONMENT: list[Row] = [
    (container("env: [{value: x}]"), [required(f"{C0}.env[0].name")]),
    (
        container("env: [{name: 'A=B', value: x}]"),
        [
            invalid(
                f"{C0}.env[0].name",
                '"A=B"',
                "a valid environment variable name must consist only of printable ASCII characters other "
                "than '='",
            )
        ],
    ),
    (
        container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]"),
        [
            unsupported(
                f"{C0}.env[0].valueFrom.fieldRef.fieldPath",
                "status.phase",
                "metadata.name",
                "metadata.namespace",
                "metadata.uid",
                "spec.nodeName",
                "spec.serviceAccountName",
                "status.hostIP",
                "status.hostIPs",
                "status.podIP",
                "status.podIPs",
            )
        ],
    ),
    (
        container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.containers}}}]"),
        [
            invalid(
                f"{C0}.env[0].valueFrom.fieldRef.fieldPath",
                '"spec.containers"',
                "error converting fieldPath: field label not supported: spec.containers",
            )
        ],
    ),
    (container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}]"), []),
    (
        container("env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
        [invalid(f"{C0}.env[0].valueFrom", '""', "may not be specified when `value` is not empty")],
    ),
    (
        container("env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]"),
        [required(f"{C0}.env[0].valueFrom.secretKeyRef.key")],
    ),
    (
        container("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]"),
        [
            unsupported(
                f"{C0}.env[0].valueFrom.resourceFieldRef.resource",
                "limits.gpu",
                "limits.cpu",
                "limits.ephemeral-storage",
                "limits.memory",
                "requests.cpu",
                "requests.ephemeral-storage",
                "requests.memory",
            )
        ],
    ),
    (
        container("envFrom: [{prefix: X_}]"),
        [invalid(f"{C0}.envFrom", '""', "must specify one of: `configMapRef` or `secretRef`")],
    ),
]

PROBES: list[Row] = [
    (
        container("livenessProbe: {periodSeconds: 5}"),
        [required(f"{C0}.livenessProbe", "must specify a handler type")],
    ),
    (
        container("livenessProbe: {exec: {command: [x]}, tcpSocket: {port: 80}}"),
        [forbidden(f"{C0}.livenessProbe.tcpSocket", "may not specify more than 1 handler type")],
    ),
    (
        container("livenessProbe: {exec: {command: [x]}, successThreshold: 2}"),
        [invalid(f"{C0}.livenessProbe.successThreshold", "2", "must be 1")],
    ),
    (
        container("readinessProbe: {exec: {command: [x]}, terminationGracePeriodSeconds: 5}"),
        [
            invalid(
                f"{C0}.readinessProbe.terminationGracePeriodSeconds",
                "5",
                "must not be set for readinessProbes",
            )
        ],
    ),
    (
        container("startupProbe: {httpGet: {port: 0}, failureThreshold: -1}"),
        [
            invalid(f"{C0}.startupProbe.httpGet.port", "0", "must be between 1 and 65535, inclusive"),
            invalid(f"{C0}.startupProbe.failureThreshold", "-1", "must be greater than or equal to 0"),
        ],
    ),
    (
        container("lifecycle: {preStop: {sleep: {seconds: 31}}}"),
        [
            invalid(
                f"{C0}.lifecycle.preStop.sleep",
                "31",
                "must be non-negative and less than terminationGracePeriodSeconds (30)",
            )
        ],
    ),
    (
        container("lifecycle: {postStart: {exec: {}}}"),
        [required(f"{C0}.lifecycle.postStart.exec.command")],
    ),
    (
        container("lifecycle: {stopSignal: SIGUSR1}"),
        [forbidden(f"{C0}.lifecycle.stopSignal", "may not be set for containers with empty `spec.os.name`")],
    ),
]

RESOURCES: list[Row] = [
    (
        container("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
        [invalid(f"{C0}.resources.requests", '"2"', "must be less than or equal to cpu limit of 1")],
    ),
    (
        container("resources: {requests: {memory: -1Mi}}"),
        [invalid(f"{C0}.resources.requests[memory]", '"-1Mi"', "must be greater than or equal to 0")],
    ),
    (
        container("resources: {limits: {gpu: 1}}"),
        [
            invalid(
                f"{C0}.resources.limits[gpu]", '"gpu"', "must be a standard resource type or fully qualified"
            ),
            invalid(f"{C0}.resources.limits[gpu]", '"gpu"', "must be a standard resource for containers"),
            invalid(
                f"{C0}.resources.requests[gpu]",
                '"gpu"',
                "must be a standard resource type or fully qualified",
            ),
            invalid(f"{C0}.resources.requests[gpu]", '"gpu"', "must be a standard resource for containers"),
        ],
    ),
    (
        container("resources: {requests: {nvidia.com/gpu: 1}}"),
        [required(f"{C0}.resources.limits", "Limit must be set for non overcommitable resources")],
    ),
    (
        container("resources: {limits: {nvidia.com/gpu: 500m}}"),
        [
            invalid(f"{C0}.resources.limits[nvidia.com/gpu]", '"500m"', "must be an integer"),
            invalid(f"{C0}.resources.requests[nvidia.com/gpu]", '"500m"', "must be an integer"),
        ],
    ),
    (
        container("resources: {limits: {hugepages-2Mi: 4Mi}}"),
        [forbidden(f"{C0}.resources", "HugePages require cpu or memory")],
    ),
    (
        container("resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]"),
        [unsupported(f"{C0}.resizePolicy", "disk", "cpu", "memory")],
    ),
    (
        "spec: {resources: {requests: {cpu: 1}}, containers: [{name: main, image: x, "
        "resources: {requests: {cpu: 2}}}]}",
        [
            invalid(
                "spec.resources.requests[cpu]",
                '"1"',
                "must be greater than or equal to aggregate container requests of 2",
            )
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: one}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: tpu}]}}]}",
        [
            not_found(
                f"{C0}.resources.claims[0]",
                '"tpu"',
                "must be one of the names in pod.spec.resourceClaims: gpu",
            )
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: one}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: gpu, request: A}]}}]}",
        [invalid(f"{C0}.resources.claims[0].request", '"A"', LABEL_TEXT)],
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

VOLUMES: list[Row] = [
    ("spec: {volumes: [{name: v, image: {}}]}", [required("spec.volumes[0].image.reference")]),
    (
        "spec: {volumes: [{name: v, emptyDir: {}, cephfs: {monitors: [a]}, downwardAPI: {}, nfs: {}}]}",
        [
            forbidden(f"spec.volumes[0].{name}", "may not specify more than 1 volume type")
            for name in ("nfs", "cephFS", "downwarAPI")
        ],
    ),
    (
        "spec: {volumes: [{name: v, quobyte: {registry: 'a:1,b:c:2,[::1]:3,d', volume: ''}}]}",
        [
            *[
                invalid(
                    "spec.volumes[0].quobyte.registry",
                    '"a:1,b:c:2,[::1]:3,d"',
                    "must be a host:port pair or multiple pairs separated by commas",
                )
            ]
            * 2,
            required("spec.volumes[0].quobyte.volume"),
        ],
    ),
    (
        container("volumeDevices: [{name: '', devicePath: ../a}]"),
        [
            required(f"{C0}.volumeDevices[0].name"),
            (f"{C0}.volumeDevices[0].name", "FieldValueNotFound", 'Not found: ""'),
            invalid(f"{C0}.volumeDevices[0].devicePath", '"../a"', "can not contain backsteps ('..')"),
        ],
    ),
    (
        "spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: main, image: x, "
        "volumeMounts: [{name: v, mountPath: /v, mountPropagation: '', recursiveReadOnly: ''}]}]}",
        [
            unsupported(
                f"{C0}.volumeMounts.mountPropagation", "", "Bidirectional", "HostToContainer", "None"
            ),
            unsupported(f"{C0}.volumeMounts.recursiveReadOnly", "", "Disabled", "Enabled", "IfPossible"),
        ],
    ),
]

PAGES: list[Row] = [
    (container("resources: {limits: {cpu: 1, hugepages-2Mi: 0}}"), []),
    (
        container("resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi, hugepages-some: 1}}"),
        [
            invalid(f"{C0}.resources.{which}[hugepages-{size}]", f'"{value}"',
                    f"{value} is not positive integer multiple of hugepages-{size}")
            for which in ("limits", "requests")
            for size, value in (("2Mi", "3Mi"), ("some", "1"))
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: x}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: gpu, request: a}, {name: gpu}, {name: gpu, request: b}]}}]}",
        [
            duplicate(f"{C0}.resources.claims[1]", '"gpu"'),
            duplicate(f"{C0}.resources.claims[2]", '"gpu"'),
        ],
    ),
]  # fmt: skip

TABLES = (CONTAINERS, PORTS, ENVIRONMENT, PROBES, RESOURCES, PAGES, RESTARTS, VOLUMES)


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_policies_of_single_init_containers(policy: str) -> None:
    setup = f"initContainers: [{{name: setup, image: x, restartPolicy: {policy}}}]"
    assert creation_causes(pod(f"spec: {{{setup}}}")) == []


@pytest.mark.parametrize(("manifest", "expected"), [row for table in TABLES for row in table])
def test_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected


def test_a_plain_pod_is_fine() -> None:
    assert creation_causes(pod("")) == []
