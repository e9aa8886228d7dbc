"""Tests of the warnings about pods."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.base import Context
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
    ("spec: {terminationGracePeriodSeconds: -1}", []),
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
        "spec: {containers: [{name: a, image: x, ports: [{containerPort: 80, name: web}]}, "
        "{name: b, image: x, ports: [{containerPort: 81, name: web}]}]}",
        [
            f'spec.containers[1].ports[0]: duplicate port name "web" with {C0}.ports[0], services and probes '
            f"that select ports by name will use {C0}.ports[0]"
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
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), ROWS)
def test_new_pod_with_doubtful_field_warns(manifest: str, expected: list[str]) -> None:
    assert rules(Pod).warnings(pod(manifest), None, Context(NOW)) == expected


def test_update_without_new_container_does_not_warn() -> None:
    """Most updates come from controllers, which show no warnings to users."""
    old = pod("spec: {imagePullSecrets: [{name: s}, {name: s}]}")
    new = pod("spec: {imagePullSecrets: [{name: s}, {name: s}], containers: [{name: a, image: other}]}")
    assert rules(Pod).warnings(old, None, Context(NOW)) != []
    assert rules(Pod).warnings(new, old, Context(NOW)) == []


def test_template_with_negative_grace_warns() -> None:
    """A pod's becomes 1 before anything looks at it, that of a template stays."""
    spec = "{terminationGracePeriodSeconds: -1, containers: [{name: main, image: x}]}"
    made = obj(Deployment, f"metadata: {{name: web}}\nspec: {{template: {{spec: {spec}}}}}")
    assert rules(Deployment).warnings(made, None, Context(NOW)) == [
        "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
        "will be treated as 1"
    ]


def test_template_with_profile_annotations_warns() -> None:
    """Annotations of a pod set its fields, those of a template do not."""
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
