"""What is wrong with containers, as a table: a fragment of a manifest and the causes in the answer."""

from __future__ import annotations

import pytest

from tests.support.manifests import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    LABEL_TEXT,
    NOT_FOUND,
    REQUIRED,
    UNSUPPORTED,
    Cause,
    creation_causes,
    pod,
)

C0 = "spec.containers[0]"


def container(text: str) -> str:
    """A manifest whose only container has these fields, too."""
    return f"spec: {{containers: [{{name: main, image: nginx, {text}}}]}}"


Row = tuple[str, list[Cause]]

CONTAINERS: list[Row] = [
    ("spec: {containers: []}", [("spec.containers", REQUIRED, "Required value")]),
    ("spec: {containers: [{image: nginx}]}", [(f"{C0}.name", REQUIRED, "Required value")]),
    ("spec: {containers: [{name: main}]}", [(f"{C0}.image", REQUIRED, "Required value")]),
    (
        "spec: {containers: [{name: Main_1, image: nginx}]}",
        [(f"{C0}.name", INVALID, f'Invalid value: "Main_1": {LABEL_TEXT}')],
    ),
    (
        "spec: {containers: [{name: a, image: x}, {name: a, image: y}]}",
        [("spec.containers[1].name", DUPLICATE, 'Duplicate value: "a"')],
    ),
    (
        "spec: {initContainers: [{name: main, image: x}]}",
        [("spec.initContainers[0].name", DUPLICATE, 'Duplicate value: "main"')],
    ),
    (
        "spec: {containers: [{name: main, image: ' nginx'}]}",
        [
            (
                f"{C0}.image",
                INVALID,
                'Invalid value: " nginx": must not have leading or trailing whitespace',
            )
        ],
    ),
    (
        container("imagePullPolicy: Sometimes"),
        [
            (
                f"{C0}.imagePullPolicy",
                UNSUPPORTED,
                'Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
            )
        ],
    ),
    (
        container("terminationMessagePolicy: Log"),
        [
            (
                f"{C0}.terminationMessagePolicy",
                UNSUPPORTED,
                'Unsupported value: "Log": supported values: "File", "FallbackToLogsOnError"',
            )
        ],
    ),
    (
        "spec: {ephemeralContainers: [{name: debug, image: busybox}]}",
        [("spec.ephemeralContainers", FORBIDDEN, "Forbidden: cannot be set on create")],
    ),
    (
        "spec: {initContainers: [{name: setup, image: x, readinessProbe: {tcpSocket: {port: 1}}}]}",
        [
            (
                "spec.initContainers[0].readinessProbe",
                FORBIDDEN,
                "Forbidden: may not be set for init containers without restartPolicy=Always",
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
    (container("ports: [{}]"), [(f"{C0}.ports[0].containerPort", REQUIRED, "Required value")]),
    (
        container("ports: [{containerPort: 70000}]"),
        [
            (
                f"{C0}.ports[0].containerPort",
                INVALID,
                "Invalid value: 70000: must be between 1 and 65535, inclusive",
            )
        ],
    ),
    (
        container("ports: [{containerPort: 80, protocol: tcp}]"),
        [
            (
                f"{C0}.ports[0].protocol",
                UNSUPPORTED,
                'Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
            )
        ],
    ),
    (
        container("ports: [{containerPort: 80, name: web}, {containerPort: 81, name: web}]"),
        [(f"{C0}.ports[1].name", DUPLICATE, 'Duplicate value: "web"')],
    ),
    (
        container("ports: [{containerPort: 80, name: a-name-far-too-long}]"),
        [
            (
                f"{C0}.ports[0].name",
                INVALID,
                'Invalid value: "a-name-far-too-long": must be no more than 15 characters',
            )
        ],
    ),
    (
        container("ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81, hostPort: 8080}]"),
        [(f"{C0}.ports[1].hostPort", DUPLICATE, 'Duplicate value: "TCP//8080"')],
    ),
    (
        "spec: {hostNetwork: true, containers: [{name: main, image: x, "
        "ports: [{containerPort: 80, hostPort: 81}]}]}",
        [
            (
                f"{C0}.ports[0].hostPort",
                INVALID,
                "Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
            )
        ],
    ),
]

ENVIRONMENT: list[Row] = [
    (container("env: [{value: x}]"), [(f"{C0}.env[0].name", REQUIRED, "Required value")]),
    (
        container("env: [{name: 'A=B', value: x}]"),
        [
            (
                f"{C0}.env[0].name",
                INVALID,
                'Invalid value: "A=B": a valid environment variable name must consist only of printable '
                "ASCII characters other than '='",
            )
        ],
    ),
    (
        container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]"),
        [
            (
                f"{C0}.env[0].valueFrom.fieldRef.fieldPath",
                UNSUPPORTED,
                'Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", '
                '"metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", '
                '"status.hostIPs", "status.podIP", "status.podIPs"',
            )
        ],
    ),
    (
        container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.containers}}}]"),
        [
            (
                f"{C0}.env[0].valueFrom.fieldRef.fieldPath",
                INVALID,
                'Invalid value: "spec.containers": error converting fieldPath: field label not supported: '
                "spec.containers",
            )
        ],
    ),
    (container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}]"), []),
    (
        container("env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
        [
            (
                f"{C0}.env[0].valueFrom",
                INVALID,
                'Invalid value: "": may not be specified when `value` is not empty',
            )
        ],
    ),
    (
        container("env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]"),
        [(f"{C0}.env[0].valueFrom.secretKeyRef.key", REQUIRED, "Required value")],
    ),
    (
        container("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]"),
        [
            (
                f"{C0}.env[0].valueFrom.resourceFieldRef.resource",
                UNSUPPORTED,
                'Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage"'
                ', "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
            )
        ],
    ),
    (
        container("envFrom: [{prefix: X_}]"),
        [
            (
                f"{C0}.envFrom",
                INVALID,
                'Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
            )
        ],
    ),
]

PROBES: list[Row] = [
    (
        container("livenessProbe: {periodSeconds: 5}"),
        [(f"{C0}.livenessProbe", REQUIRED, "Required value: must specify a handler type")],
    ),
    (
        container("livenessProbe: {exec: {command: [x]}, tcpSocket: {port: 80}}"),
        [
            (
                f"{C0}.livenessProbe.tcpSocket",
                FORBIDDEN,
                "Forbidden: may not specify more than 1 handler type",
            )
        ],
    ),
    (
        container("livenessProbe: {exec: {command: [x]}, successThreshold: 2}"),
        [(f"{C0}.livenessProbe.successThreshold", INVALID, "Invalid value: 2: must be 1")],
    ),
    (
        container("readinessProbe: {exec: {command: [x]}, terminationGracePeriodSeconds: 5}"),
        [
            (
                f"{C0}.readinessProbe.terminationGracePeriodSeconds",
                INVALID,
                "Invalid value: 5: must not be set for readinessProbes",
            )
        ],
    ),
    (
        container("startupProbe: {httpGet: {port: 0}, failureThreshold: -1}"),
        [
            (
                f"{C0}.startupProbe.httpGet.port",
                INVALID,
                "Invalid value: 0: must be between 1 and 65535, inclusive",
            ),
            (
                f"{C0}.startupProbe.failureThreshold",
                INVALID,
                "Invalid value: -1: must be greater than or equal to 0",
            ),
        ],
    ),
    (
        container("lifecycle: {preStop: {sleep: {seconds: 31}}}"),
        [
            (
                f"{C0}.lifecycle.preStop.sleep",
                INVALID,
                "Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
            )
        ],
    ),
    (
        container("lifecycle: {postStart: {exec: {}}}"),
        [(f"{C0}.lifecycle.postStart.exec.command", REQUIRED, "Required value")],
    ),
    (
        container("lifecycle: {stopSignal: SIGUSR1}"),
        [
            (
                f"{C0}.lifecycle.stopSignal",
                FORBIDDEN,
                "Forbidden: may not be set for containers with empty `spec.os.name`",
            )
        ],
    ),
]

RESOURCES: list[Row] = [
    (
        container("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
        [
            (
                f"{C0}.resources.requests",
                INVALID,
                'Invalid value: "2": must be less than or equal to cpu limit of 1',
            )
        ],
    ),
    (
        container("resources: {requests: {memory: -1Mi}}"),
        [
            (
                f"{C0}.resources.requests[memory]",
                INVALID,
                'Invalid value: "-1Mi": must be greater than or equal to 0',
            )
        ],
    ),
    (
        container("resources: {limits: {gpu: 1}}"),
        [
            (
                f"{C0}.resources.limits[gpu]",
                INVALID,
                'Invalid value: "gpu": must be a standard resource type or fully qualified',
            ),
            (
                f"{C0}.resources.limits[gpu]",
                INVALID,
                'Invalid value: "gpu": must be a standard resource for containers',
            ),
            (
                f"{C0}.resources.requests[gpu]",
                INVALID,
                'Invalid value: "gpu": must be a standard resource type or fully qualified',
            ),
            (
                f"{C0}.resources.requests[gpu]",
                INVALID,
                'Invalid value: "gpu": must be a standard resource for containers',
            ),
        ],
    ),
    (
        container("resources: {requests: {nvidia.com/gpu: 1}}"),
        [
            (
                f"{C0}.resources.limits",
                REQUIRED,
                "Required value: Limit must be set for non overcommitable resources",
            )
        ],
    ),
    (
        container("resources: {limits: {nvidia.com/gpu: 500m}}"),
        [
            (f"{C0}.resources.limits[nvidia.com/gpu]", INVALID, 'Invalid value: "500m": must be an integer'),
            (
                f"{C0}.resources.requests[nvidia.com/gpu]",
                INVALID,
                'Invalid value: "500m": must be an integer',
            ),
        ],
    ),
    (
        container("resources: {limits: {hugepages-2Mi: 4Mi}}"),
        [(f"{C0}.resources", FORBIDDEN, "Forbidden: HugePages require cpu or memory")],
    ),
    (
        container("resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]"),
        [
            (
                f"{C0}.resizePolicy",
                UNSUPPORTED,
                'Unsupported value: "disk": supported values: "cpu", "memory"',
            )
        ],
    ),
    (
        "spec: {resources: {requests: {cpu: 1}}, containers: [{name: main, image: x, "
        "resources: {requests: {cpu: 2}}}]}",
        [
            (
                "spec.resources.requests[cpu]",
                INVALID,
                'Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
            )
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: one}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: tpu}]}}]}",
        [
            (
                f"{C0}.resources.claims[0]",
                NOT_FOUND,
                'Not found: "tpu": must be one of the names in pod.spec.resourceClaims: gpu',
            )
        ],
    ),
    (
        "spec: {resourceClaims: [{name: gpu, resourceClaimName: one}], containers: [{name: main, image: x, "
        "resources: {claims: [{name: gpu, request: A}]}}]}",
        [(f"{C0}.resources.claims[0].request", INVALID, f'Invalid value: "A": {LABEL_TEXT}')],
    ),
]

RESTARTS: list[Row] = [
    (
        "spec: {restartPolicy: Sometimes}",
        [
            (
                "spec.restartPolicy",
                UNSUPPORTED,
                'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
            )
        ],
    ),
    (
        container("restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]"),
        [
            (
                f"{C0}.restartPolicy",
                REQUIRED,
                "Required value: must specify restartPolicy when restart rules are used",
            )
        ],
    ),
    (
        container("restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In}}]"),
        [],
    ),
    ("spec: {activeDeadlineSeconds: 0}", [
        ("spec.activeDeadlineSeconds", INVALID,
         "Invalid value: 0: must be between 1 and 2147483647, inclusive")
    ]),
]  # fmt: skip

TABLES = (CONTAINERS, PORTS, ENVIRONMENT, PROBES, RESOURCES, RESTARTS)


@pytest.mark.parametrize(("manifest", "expected"), [row for table in TABLES for row in table])
def test_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected


def test_a_plain_pod_is_fine() -> None:
    assert creation_causes(pod("")) == []
