"""What is wrong with a pod as a whole, as a table: a fragment of a manifest and the causes in the answer."""

from __future__ import annotations

import pytest

from tests.support.manifests import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    LABEL_TEXT,
    REQUIRED,
    SUBDOMAIN_TEXT,
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

SCHEDULING: list[Row] = [
    (
        "spec: {tolerations: [{key: a, operator: Exists, value: b}]}",
        [
            (
                "spec.tolerations[0].operator",
                INVALID,
                'Invalid value: "b": value must be empty when `operator` is \'Exists\'',
            )
        ],
    ),
    (
        "spec: {tolerations: [{value: b}]}",
        [
            (
                "spec.tolerations[0].operator",
                INVALID,
                'Invalid value: "": operator must be Exists when `key` is empty, which means '
                '"match all values and all keys"',
            )
        ],
    ),
    (
        "spec: {tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 3}]}",
        [
            (
                "spec.tolerations[0].effect",
                INVALID,
                "Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        ],
    ),
    (
        "spec: {schedulingGates: [{name: a}, {name: a}]}",
        [("spec.schedulingGates[1]", DUPLICATE, 'Duplicate value: "a"')],
    ),
    (
        "spec: {nodeName: n1, schedulingGates: [{name: a}]}",
        [
            (
                "spec.nodeName",
                FORBIDDEN,
                "Forbidden: cannot be set until all schedulingGates have been cleared",
            )
        ],
    ),
    (
        "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}}",
        [
            (
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
                REQUIRED,
                "Required value: must have at least one node selector term",
            )
        ],
    ),
    (
        "spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
        "[{weight: 101, podAffinityTerm: {topologyKey: zone, labelSelector: {matchExpressions: "
        "[{key: app, operator: In}]}}}]}}}",
        [
            (
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
                INVALID,
                "Invalid value: 101: must be in the range 1-100",
            ),
            (
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
                ".podAffinityTerm.labelSelector.matchExpressions[0].values",
                REQUIRED,
                "Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ),
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: Maybe}]}",
        [
            (
                "spec.topologySpreadConstraints[0].maxSkew",
                INVALID,
                "Invalid value: 0: must be greater than zero",
            ),
            (
                "spec.topologySpreadConstraints[0].whenUnsatisfiable",
                UNSUPPORTED,
                'Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"',
            ),
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
        ", {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}",
        [
            (
                "spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}",
                DUPLICATE,
                'Duplicate value: "{zone, DoNotSchedule}"',
            )
        ],
    ),
    ("spec: {nodeSelector: {'a b': c}}", [
        ("spec.nodeSelector", INVALID,
         "Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and "
         "must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
         "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')")
    ]),
]  # fmt: skip

SECURITY: list[Row] = [
    (
        "spec: {securityContext: {runAsUser: -1}}",
        [
            (
                "spec.securityContext.runAsUser",
                INVALID,
                "Invalid value: -1: must be between 0 and 2147483647, inclusive",
            )
        ],
    ),
    (
        "spec: {securityContext: {sysctls: [{name: net.core.somaxconn, value: '1'}]}, hostNetwork: true}",
        [
            (
                "spec.securityContext.sysctls[0].name",
                INVALID,
                "Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true",
            )
        ],
    ),
    (
        "spec: {securityContext: {seccompProfile: {type: Localhost}}}",
        [
            (
                "spec.securityContext.seccompProfile.localhostProfile",
                REQUIRED,
                "Required value: must be set when seccomp type is Localhost",
            )
        ],
    ),
    (
        container("securityContext: {allowPrivilegeEscalation: false, privileged: true}"),
        [
            (
                f"{C0}.securityContext",
                INVALID,
                'Invalid value: {"allowPrivilegeEscalation":false,"privileged":true}: cannot set '
                "`allowPrivilegeEscalation` to false and `privileged` to true",
            )
        ],
    ),
    (
        container("securityContext: {procMount: Unmasked}"),
        [
            (
                f"{C0}.securityContext.procMount",
                INVALID,
                'Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
            )
        ],
    ),
    (
        "spec: {hostUsers: false, hostPID: true}",
        [("spec.hostPID", FORBIDDEN, "Forbidden: when `hostUsers` is false")],
    ),
    (
        "spec: {shareProcessNamespace: true, hostPID: true}",
        [
            (
                "spec.securityContext.shareProcessNamespace",
                INVALID,
                "Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
            )
        ],
    ),
    (
        "spec: {os: {name: plan9}}",
        [("spec.os", UNSUPPORTED, 'Unsupported value: "plan9": supported values: "linux", "windows"')],
    ),
    (
        "spec: {os: {name: windows}, hostPID: true}",
        [("spec.hostPID", FORBIDDEN, "Forbidden: cannot be set for a windows pod")],
    ),
]

NAMES_AND_DNS: list[Row] = [
    ("spec: {hostname: Web}", [("spec.hostname", INVALID, f'Invalid value: "Web": {LABEL_TEXT}')]),
    (
        "spec: {priorityClassName: High_1}",
        [("spec.priorityClassName", INVALID, f'Invalid value: "High_1": {SUBDOMAIN_TEXT}')],
    ),
    (
        "spec: {dnsPolicy: None}",
        [("spec.dnsConfig", REQUIRED, "Required value: must provide `dnsConfig` when `dnsPolicy` is None")],
    ),
    (
        "spec: {dnsPolicy: Cluster}",
        [
            (
                "spec.dnsPolicy",
                UNSUPPORTED,
                'Unsupported value: "Cluster": supported values: "ClusterFirstWithHostNet", "ClusterFirst", '
                '"Default", "None"',
            )
        ],
    ),
    (
        "spec: {dnsConfig: {nameservers: [1.1.1.1, 8.8.8.8, 9.9.9.9, x]}}",
        [
            (
                "spec.dnsConfig.nameservers",
                INVALID,
                'Invalid value: ["1.1.1.1","8.8.8.8","9.9.9.9","x"]: must not have more than 3 nameservers',
            ),
            (
                "spec.dnsConfig.nameservers[3]",
                INVALID,
                'Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            ),
        ],
    ),
    (
        "spec: {hostAliases: [{ip: nowhere, hostnames: [a_b]}]}",
        [
            (
                "spec.hostAliases[0].ip",
                INVALID,
                'Invalid value: "nowhere": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            ),
            ("spec.hostAliases[0].hostnames[0]", INVALID, f'Invalid value: "a_b": {SUBDOMAIN_TEXT}'),
        ],
    ),
    (
        "metadata: {annotations: {controller.kubernetes.io/pod-deletion-cost: cheap}}",
        [
            (
                "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]",
                INVALID,
                'Invalid value: "cheap": must be a 32bit integer',
            )
        ],
    ),
]

TABLES = (SCHEDULING, SECURITY, NAMES_AND_DNS)


@pytest.mark.parametrize(("manifest", "expected"), [row for table in TABLES for row in table])
def test_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
