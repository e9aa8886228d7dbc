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
                "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
                '"{zone, DoNotSchedule}"',
            )
        ],
    ),
    (
        "metadata: {labels: {rev: '7'}}\n"
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, "
        "matchLabelKeys: [rev], labelSelector: {matchLabels: {rev: '7'}}}]}",
        [
            invalid(
                "spec.topologySpreadConstraints[0][0]",
                '"rev"',
                "exists in both matchLabelKeys and labelSelector",
            )
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, "
        "matchLabelKeys: [a b], nodeTaintsPolicy: ''}]}",
        [
            unsupported("spec.topologySpreadConstraints[0].nodeTaintsPolicy", "", "Honor", "Ignore"),
            forbidden(
                "spec.topologySpreadConstraints[0].matchLabelKeys",
                "must not be specified when labelSelector is not set",
            ),
        ],
    ),
    (
        "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, "
        "matchLabelKeys: [a], mismatchLabelKeys: [a], labelSelector: {}}]}}}",
        [
            invalid(
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
                ".matchLabelKeys[0]",
                '"a"',
                "exists in both matchLabelKeys and mismatchLabelKeys",
            )
        ],
    ),
    ("spec: {preemptionPolicy: ''}", [required("spec.preemptionPolicy")]),
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
        "spec: {hostUsers: false, containers: [{name: main, image: x, volumeDevices: "
        "[{name: v, devicePath: /dev/x}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}",
        [forbidden("spec.containers[0].volumeDevices", "when `hostUsers` is false")],
    ),
    (
        "spec: {hostnameOverride: a.b, setHostnameAsFQDN: true, hostNetwork: true}",
        [
            forbidden("spec.hostnameOverride", "may not be specified when setHostnameAsFQDN is true"),
            forbidden("spec.hostnameOverride", "may not be specified when hostNetwork is true"),
        ],
    ),
    (
        "spec: {tolerations: [{key: a, operator: Lt, value: '5'}]}",
        [unsupported("spec.tolerations[0].operator", "Lt", "Equal", "Exists", "Lt", "Gt")],
    ),
    (
        "spec: {os: {name: windows}, resources: {claims: [{name: x}]}}",
        [forbidden("spec.resources", "may not be set for a windows pod")],
    ),
    (
        "spec: {resources: {limits: {memory: 1Gi, hugepages-2Mi: 2Mi}, "
        "requests: {memory: 1Gi, hugepages-2Mi: 2Mi}}, containers: [{name: main, image: x, resources: "
        "{limits: {cpu: 1, hugepages-2Mi: 4Mi}, requests: {cpu: 1, hugepages-2Mi: 4Mi}}}]}",
        [
            invalid(
                "spec.resources.requests[hugepages-2Mi]",
                '"2Mi"',
                "must be greater than or equal to aggregate container requests of 4Mi",
            ),
            invalid(
                "spec.resources.limits[hugepages-2Mi]",
                '"2Mi"',
                "must be greater than or equal to aggregate container limits of 4Mi",
            ),
            invalid(
                "spec.resources.containers[0][hugepages-2Mi].limits",
                '"4Mi"',
                "must be less than or equal to pod limits of 2Mi",
            ),
        ],
    ),
    *(
        (
            f"spec: {{hostUsers: false, {field}: true}}",
            [forbidden(f"spec.{shown}", "when `hostUsers` is false")],
        )
        for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
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
        "spec: {securityContext: {fsGroupChangePolicy: '', supplementalGroupsPolicy: x}}",
        [
            unsupported("spec.securityContext.fsGroupChangePolicy", "", "Always", "OnRootMismatch"),
            unsupported("spec.securityContext.supplementalGroupsPolicy", "x", "Merge", "Strict"),
        ],
    ),
]

WINDOWS: list[Row] = [
    (
        "spec: {os: {name: windows}, hostPID: true, hostUsers: true, shareProcessNamespace: false, "
        "securityContext: {runAsUser: 1, seLinuxOptions: {}}}",
        [
            forbidden(field, "cannot be set for a windows pod")
            for field in (
                "spec.securityContext.seLinuxOptions",
                "spec.hostUsers",
                "spec.hostPID",
                "spec.shareProcessNamespace",
                "spec.securityContext.runAsUser",
            )
        ],
    ),
    (
        "spec: {os: {name: linux}, securityContext: {windowsOptions: {}}}",
        [forbidden("spec.securityContext.windowsOptions", "windows options cannot be set for a linux pod")],
    ),
    (
        "spec: {containers: [{name: a, image: x, securityContext: {windowsOptions: {hostProcess: true}}}, "
        "{name: b, image: x}]}",
        [
            invalid(
                "spec",
                '""',
                "If pod contains any hostProcess containers then all containers must be HostProcess "
                "containers",
            ),
            invalid(
                "spec.hostNetwork",
                "false",
                "hostNetwork must be true if pod contains any hostProcess containers",
            ),
        ],
    ),
    (
        "spec: {hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true}}}",
        [],
    ),
    (
        "spec: {securityContext: {windowsOptions: {hostProcess: false}}, "
        "containers: [{name: a, image: x, securityContext: {windowsOptions: {hostProcess: true}}}], "
        "hostNetwork: true}",
        [
            invalid(
                f"{C0}.securityContext.windowsOptions.hostProcess",
                "true",
                "pod hostProcess value must be identical if both are specified, was false",
            )
        ],
    ),
    *(
        (
            f"spec: {{securityContext: {{windowsOptions: {{runAsUserName: '{name}'}}}}}}",
            [invalid("spec.securityContext.windowsOptions.runAsUserName", shown, text) for text in texts],
        )
        for name, shown, texts in (
            ("", '""', ["runAsUserName cannot be an empty string"]),
            ("a\\b\\c", '"a\\\\b\\\\c"', ["runAsUserName cannot contain more than one backslash"]),
            (
                "do:main\\",
                '"do:main\\\\"',
                [
                    "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
                    "runAsUserName's User cannot be empty",
                ],
            ),
            (". .", '". ."', ["runAsUserName's User cannot contain only periods or spaces"]),
            (
                "a@b",
                '"a@b"',
                ["runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"],
            ),
            ("example.com\\user", "", []),
        )
    ),
]

SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io"


def annotated(key: str, value: str, spec: str = "{}") -> str:
    return f"{{metadata: {{annotations: {{{key}: '{value}'}}}}, spec: {spec}}}"


ANNOTATIONS: list[Row] = [
    (annotated(SECCOMP, "docker/default"), []),
    (
        annotated(SECCOMP, "other"),
        [invalid(f"metadata.annotations.{SECCOMP}", '"other"', "must be a valid seccomp profile")],
    ),
    (
        annotated(f"container.{SECCOMP[:-3]}main", "localhost/../x"),
        [invalid(f"metadata.annotations.container.{SECCOMP[:-3]}main", '"../x"', "must not contain '..'")],
    ),
    (
        annotated(SECCOMP, "unconfined", "{securityContext: {seccompProfile: {type: RuntimeDefault}}}"),
        [
            forbidden(
                "spec.securityContext.seccompProfile.type",
                "seccomp type in annotation and field must match",
            )
        ],
    ),
    (
        annotated(f"{APP_ARMOR}/ghost", "other"),
        [
            invalid(f"metadata.annotations[{APP_ARMOR}/ghost]", '"ghost"', "container not found"),
            invalid(
                f"metadata.annotations[{APP_ARMOR}/ghost]",
                '"other"',
                'invalid AppArmor profile name: "other"',
            ),
        ],
    ),
    (
        annotated(
            f"{APP_ARMOR}/main",
            "localhost/a",
            "{containers: [{name: main, image: x, securityContext: {appArmorProfile: "
            "{type: Localhost, localhostProfile: b}}}]}",
        ),
        [
            forbidden(
                f"{C0}.securityContext.appArmorProfile.localhostProfile",
                "apparmor profile in annotation and field must match",
            )
        ],
    ),
    (
        annotated("scheduler.alpha.kubernetes.io/tolerations", '[{"key": "a", "operator": "Near"}]'),
        [
            unsupported(
                "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator",
                "Near",
                "Equal",
                "Exists",
            )
        ],
    ),
]

NAMES_AND_DNS: list[Row] = [
    ("spec: {hostname: Web}", [invalid("spec.hostname", '"Web"', LABEL_TEXT)]),
    ("spec: {runtimeClassName: ''}", [invalid("spec.runtimeClassName", '""', SUBDOMAIN_TEXT)]),
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

TABLES = (SCHEDULING, SECURITY, WINDOWS, ANNOTATIONS, NAMES_AND_DNS)


@pytest.mark.parametrize(("manifest", "expected"), [row for table in TABLES for row in table])
def test_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
