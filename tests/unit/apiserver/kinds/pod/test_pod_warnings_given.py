"""What a pod's author is warned of: likely mistakes, and fields that have no effect here."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Pod, PodSpec
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.pod.pod_unsupported import UNSUPPORTED
from tests.support.manifests import NOW, obj, pod, rules

C0 = "spec.containers[0]"

ROWS: list[tuple[str, list[str]]] = [
    ("", []),
    (
        "metadata: {name: web.v1}",
        [
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a "
            "DNS label is recommended: [must not contain dots]"
        ],
    ),
    (
        "spec: {nodeSelector: {beta.kubernetes.io/os: linux}}",
        ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ),
    (
        "spec: {containers: [{name: a, image: x, env: [{name: A, value: '1'}, {name: A, value: '2'}]}]}",
        [f'{C0}.env[1]: hides previous definition of "A", which may be dropped when using apply'],
    ),
    (
        "spec: {containers: [{name: a, image: x, env: [{name: A, value: '1'}, {name: A, value: $(A)2}]}]}",
        [],
    ),
    (
        "spec: {containers: [{name: a, image: x, ports: [{containerPort: 80}, {containerPort: 80}]}]}",
        [f"{C0}.ports[1]: duplicate port definition with {C0}.ports[0]"],
    ),
    (
        "spec: {containers: [{name: a, image: x, ports: [{containerPort: 80}, "
        "{containerPort: 80, hostPort: 81}]}]}",
        [f"{C0}.ports[1]: overlapping port definition with {C0}.ports[0]"],
    ),
    (
        "spec: {containers: [{name: a, image: x, resources: {requests: {memory: 500m}}}]}",
        [f'{C0}.resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer'],
    ),
    (
        "spec: {terminationGracePeriodSeconds: -1}",
        [
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be "
            "treated as 1"
        ],
    ),
    (
        "spec: {hostAliases: [{ip: 1.2.3.4}, {ip: 1.2.3.4}], imagePullSecrets: [{name: s}, {name: s}]}",
        [
            'spec.hostAliases[1].ip: duplicate ip "1.2.3.4"',
            'spec.imagePullSecrets[1].name: duplicate name "s"',
        ],
    ),
    (
        "metadata: {annotations: {scheduler.alpha.kubernetes.io/critical-pod: ''}}",
        [
            "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use "
            'the "priorityClassName" field instead'
        ],
    ),
    (
        "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{topologyKey: zone}]}}}",
        [
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a "
            "null labelSelector results in matching no pod"
        ],
    ),
    (
        "spec: {volumes: [{name: v, glusterfs: {endpoints: e, path: p}}]}",
        [
            "spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+",
            "spec.volumes[0].glusterfs: not honoured by this cluster",
        ],
    ),
    (
        "spec: {volumes: [{name: v, configMap: {name: m, items: [{key: a, path: x/}, "
        "{key: b, path: x/y}]}}]}",
        ['volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"'],
    ),
    (
        "spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}, {}, "
        "{downwardAPI: {items: [{path: t/u, fieldRef: {fieldPath: metadata.name}}, "
        "{path: u, fieldRef: {fieldPath: metadata.name}}]}}]}}]}",
        [
            'volume "v" (Projected) has no sources provided',
            'volume "v" (Projected): overlapping paths: "t/u" (DownwardAPI) with "t" (ServiceAccountToken)',
        ],
    ),
    (
        "spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {resources: "
        "{requests: {storage: 200m}}}}}}]}",
        [
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte "
            'value "200m" is invalid, must be an integer'
        ],
    ),
    (
        "spec: {containers: [{name: a, image: x, ports: [{containerPort: 80, name: web}]}, "
        "{name: b, image: x, ports: [{containerPort: 81, name: web}]}]}",
        [
            f'spec.containers[1].ports[0]: duplicate port name "web" with {C0}.ports[0], services and probes '
            f"that select ports by name will use {C0}.ports[0]"
        ],
    ),
    (
        "spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
        "preference: {matchExpressions: [{key: a, operator: In, values: [b, '-1']}]}}]}}}",
        [
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"
            ".matchExpressions[0].values[1]: -1 is invalid, a valid label must be an empty string or consist "
            "of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ],
    ),
    (
        "spec: {dnsConfig: {nameservers: [1.2.3.4, 05.06.07.08]}, hostAliases: [{ip: '::ffff:1.2.3.4'}, "
        "{ip: '2001:db8:0:0::2'}]}",
        [
            'spec.dnsConfig.nameservers[1]: non-standard IP address "05.06.07.08" will be considered invalid '
            'in a future Kubernetes release: use "5.6.7.8"',
            'spec.hostAliases[0].ip: non-standard IP address "::ffff:1.2.3.4" will be considered invalid in '
            'a future Kubernetes release: use "1.2.3.4"',
            'spec.hostAliases[1].ip: IPv6 address "2001:db8:0:0::2" should be in RFC 5952 canonical format '
            '("2001:db8::2")',
        ],
    ),
    (
        "metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined}}",
        [
            "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use "
            'the "seccompProfile" field instead'
        ],
    ),
    (
        "metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/main: unconfined}}",
        [
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]: deprecated since "
            'v1.30; use the "appArmorProfile" field instead',
            f"{C0}.securityContext.appArmorProfile: not honoured by this cluster",
        ],
    ),
    (
        "spec: {volumes: [{name: ok, emptyDir: {}}, {name: v, nfs: {server: s, path: /p}}]}",
        ["spec.volumes[1].nfs: not honoured by this cluster"],
    ),
    ("spec: {hostUsers: false}", ["spec.hostUsers: not honoured by this cluster"]),
    ("spec: {hostUsers: true}", []),
    (
        "spec: {containers: [{name: a, image: x, securityContext: {seLinuxOptions: {level: s0}}}]}",
        [f"{C0}.securityContext.seLinuxOptions: not honoured by this cluster"],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), ROWS)
def test_warnings_of_a_new_pod(manifest: str, expected: list[str]) -> None:
    assert rules(Pod).warnings(pod(manifest), None, Context(NOW)) == expected


def test_only_the_creation_warns() -> None:
    """Updates come from controllers, often, and nobody reads what they would be told."""
    old = pod("spec: {terminationGracePeriodSeconds: -1}")
    new = pod("spec: {terminationGracePeriodSeconds: -1, containers: [{name: a, image: other}]}")
    assert rules(Pod).warnings(old, None, Context(NOW)) != []
    assert rules(Pod).warnings(new, old, Context(NOW)) == []


def test_a_template_is_warned_of_profiles_in_annotations() -> None:
    """A pod is warned before its fields are filled in; a template keeps its fields as they are."""
    key = "container.apparmor.security.beta.kubernetes.io/main"
    warning = (
        f"spec.template.metadata.annotations[{key}]: deprecated since v1.30; use the "
        '"appArmorProfile" field instead'
    )
    for spec, expected in (("{}", [warning]), ("{appArmorProfile: {type: Unconfined}}", [])):
        text = (
            "metadata: {name: web}\n"
            f"spec: {{template: {{metadata: {{annotations: {{{key}: unconfined}}}}, spec: "
            f"{{securityContext: {spec}, containers: [{{name: main, image: x}}]}}}}}}"
        )
        found = rules(Deployment).warnings(obj(Deployment, text), None, Context(NOW))
        assert [text for text in found if "not honoured" not in text] == expected


def test_the_status_is_warned_of_unusual_addresses() -> None:
    status = "status: {podIPs: [{ip: 10.0.0.1}, {ip: '2001:DB8::1'}]}"
    found = rules(Pod).warnings(obj(Pod, status), obj(Pod, ""), Context(NOW, subresource="status"))
    assert found == [
        'status.podIPs[1].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format '
        '("2001:db8::1")'
    ]


def test_the_table_of_unsupported_fields_names_real_fields() -> None:
    """A row that does not fit the types would be a warning that is never given, or an error in its place."""
    for row in UNSUPPORTED:
        kind: Any = PodSpec
        for step in row.split("."):
            name = step.removesuffix("[*]").removesuffix("=false")
            assert name in kind.__struct_fields__, row
            kind = struct_of(get_type_hints(kind)[name])
    assert len(UNSUPPORTED) == len(set(UNSUPPORTED))


def struct_of(hint: Any) -> Any:
    """The struct inside of an optional or a tuple."""
    found = [struct_of(part) for part in get_args(hint)]
    return hint if hasattr(hint, "__struct_fields__") else next(filter(None, found), None)
