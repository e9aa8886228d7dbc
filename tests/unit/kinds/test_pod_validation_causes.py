"""What is wrong with a pod as a whole, as a table: a fragment of a manifest and the causes in the answer."""

from __future__ import annotations

import pytest

from tests.support.causes import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    Cause,
    Row,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import container, creation_causes, pod

C0 = "spec.containers[0]"


SCHEDULING: list[Row] = [
    (
        "spec: {tolerations: [{key: a, operator: Exists, value: b}]}",
        [invalid("spec.tolerations[0].operator", '"b"', "value must be empty when `operator` is 'Exists'")],
    ),
    (
        "spec: {tolerations: [{value: b}]}",
        [
            invalid(
                "spec.tolerations[0].operator",
                '""',
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        ],
    ),
    (
        "spec: {tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 3}]}",
        [
            invalid(
                "spec.tolerations[0].effect",
                '"NoSchedule"',
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        ],
    ),
    (
        "spec: {schedulingGates: [{name: a}, {name: a}]}",
        [duplicate("spec.schedulingGates[1]", '"a"')],
    ),
    (
        "spec: {nodeName: n1, schedulingGates: [{name: a}]}",
        [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")],
    ),
    (
        "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}}",
        [
            required(
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
                "must have at least one node selector term",
            )
        ],
    ),
    (
        "spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
        "[{weight: 101, podAffinityTerm: {topologyKey: zone, labelSelector: {matchExpressions: "
        "[{key: app, operator: In}]}}}]}}}",
        [
            invalid(
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
                "101",
                "must be in the range 1-100",
            ),
            required(
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
                ".podAffinityTerm.labelSelector.matchExpressions[0].values",
                "must be specified when `operator` is 'In' or 'NotIn'",
            ),
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: Maybe}]}",
        [
            invalid("spec.topologySpreadConstraints[0].maxSkew", "0", "must be greater than zero"),
            unsupported(
                "spec.topologySpreadConstraints[0].whenUnsatisfiable",
                "Maybe",
                "DoNotSchedule",
                "ScheduleAnyway",
            ),
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
        ", {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}",
        [
            duplicate(
                "spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}",
                '"{zone, DoNotSchedule}"',
            )
        ],
    ),
    (
        "spec: {nodeSelector: {'a b': c}}",
        [
            invalid(
                "spec.nodeSelector",
                '"a b"',
                "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
                "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
                "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            )
        ],
    ),
]

SECURITY: list[Row] = [
    (
        "spec: {securityContext: {runAsUser: -1}}",
        [invalid("spec.securityContext.runAsUser", "-1", "must be between 0 and 2147483647, inclusive")],
    ),
    (
        "spec: {securityContext: {sysctls: [{name: net.core.somaxconn, value: '1'}]}, hostNetwork: true}",
        [
            invalid(
                "spec.securityContext.sysctls[0].name",
                '"net.core.somaxconn"',
                "may not be specified when 'hostNetwork' is true",
            )
        ],
    ),
    (
        "spec: {securityContext: {seccompProfile: {type: Localhost}}}",
        [
            required(
                "spec.securityContext.seccompProfile.localhostProfile",
                "must be set when seccomp type is Localhost",
            )
        ],
    ),
    (
        container("securityContext: {allowPrivilegeEscalation: false, privileged: true}"),
        [
            invalid(
                f"{C0}.securityContext",
                '{"allowPrivilegeEscalation":false,"privileged":true}',
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            )
        ],
    ),
    (
        container("securityContext: {procMount: Unmasked}"),
        [
            invalid(
                f"{C0}.securityContext.procMount", '"Unmasked"', "`hostUsers` must be false to use `Unmasked`"
            )
        ],
    ),
    (
        "spec: {hostUsers: false, hostPID: true}",
        [forbidden("spec.hostPID", "when `hostUsers` is false")],
    ),
    (
        "spec: {shareProcessNamespace: true, hostPID: true}",
        [
            invalid(
                "spec.securityContext.shareProcessNamespace",
                "true",
                "ShareProcessNamespace and HostPID cannot both be enabled",
            )
        ],
    ),
    (
        "spec: {os: {name: plan9}}",
        [unsupported("spec.os", "plan9", "linux", "windows")],
    ),
    (
        "spec: {os: {name: windows}, hostPID: true}",
        [forbidden("spec.hostPID", "cannot be set for a windows pod")],
    ),
]

NAMES_AND_DNS: list[Row] = [
    ("spec: {hostname: Web}", [invalid("spec.hostname", '"Web"', LABEL_TEXT)]),
    (
        "spec: {priorityClassName: High_1}",
        [invalid("spec.priorityClassName", '"High_1"', SUBDOMAIN_TEXT)],
    ),
    (
        "spec: {dnsPolicy: None}",
        [required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")],
    ),
    (
        "spec: {dnsPolicy: Cluster}",
        [
            unsupported(
                "spec.dnsPolicy", "Cluster", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"
            )
        ],
    ),
    (
        "spec: {dnsConfig: {nameservers: [1.1.1.1, 8.8.8.8, 9.9.9.9, x]}}",
        [
            invalid(
                "spec.dnsConfig.nameservers",
                '["1.1.1.1","8.8.8.8","9.9.9.9","x"]',
                "must not have more than 3 nameservers",
            ),
            invalid(
                "spec.dnsConfig.nameservers[3]",
                '"x"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
        ],
    ),
    (
        "spec: {hostAliases: [{ip: nowhere, hostnames: [a_b]}]}",
        [
            invalid(
                "spec.hostAliases[0].ip",
                '"nowhere"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
            invalid("spec.hostAliases[0].hostnames[0]", '"a_b"', SUBDOMAIN_TEXT),
        ],
    ),
    (
        "metadata: {annotations: {controller.kubernetes.io/pod-deletion-cost: cheap}}",
        [
            invalid(
                "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]",
                '"cheap"',
                "must be a 32bit integer",
            )
        ],
    ),
]

TABLES = (SCHEDULING, SECURITY, NAMES_AND_DNS)


@pytest.mark.parametrize(("manifest", "expected"), [row for table in TABLES for row in table])
def test_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
