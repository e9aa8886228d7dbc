"""The Pod Security Standards as a table."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Namespace, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.pod_security_checks import violations
from podling.testing import ControlPlane
from tests.support.manifests import PLAIN_POD, obj

PREFIX = "pod-security.kubernetes.io/"


def container(text: str) -> str:
    return f"spec: {{containers: [{{name: main, image: x, {text}}}]}}"


BASELINE: list[tuple[str, list[str]]] = [
    ("", []),
    ("spec: {hostNetwork: true, hostPID: true}", ["host namespaces (hostNetwork=true, hostPID=true)"]),
    (
        container("securityContext: {privileged: true}"),
        ['privileged (container "main" must not set securityContext.privileged=true)'],
    ),
    (
        container("securityContext: {capabilities: {add: [SYS_TIME, CHOWN, NET_ADMIN]}}"),
        [
            'non-default capabilities (container "main" must not include "NET_ADMIN", "SYS_TIME" in '
            "securityContext.capabilities.add)"
        ],
    ),
    (
        "spec: {volumes: [{name: a, hostPath: {path: /}}, {name: b, hostPath: {path: /}}]}",
        ['hostPath volumes (volumes "a", "b")'],
    ),
    (
        container("ports: [{containerPort: 80, hostPort: 80}]"),
        ['hostPort (container "main" uses hostPort 80)'],
    ),
    (
        "spec: {securityContext: {seccompProfile: {type: Unconfined}}}",
        ['seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")'],
    ),
    (
        "spec: {securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}}",
        ["forbidden sysctls (kernel.msgmax)"],
    ),
    (
        container("securityContext: {procMount: Unmasked}"),
        ['procMount (container "main" must not set securityContext.procMount to "Unmasked")'],
    ),
    (
        "spec: {securityContext: {seLinuxOptions: {type: spc_t, user: root}}}",
        [
            'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; '
            "user may not be set)"
        ],
    ),
]
STRICT = (
    "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, runAsNonRoot: true, "
    "seccompProfile: {type: RuntimeDefault}"
)
RESTRICTED: list[tuple[str, list[str]]] = [
    (
        "",
        [
            'allowPrivilegeEscalation != false (container "main" must set '
            "securityContext.allowPrivilegeEscalation=false)",
            'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"])',
            'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true)',
            'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to '
            '"RuntimeDefault" or "Localhost")',
        ],
    ),
    (container(f"securityContext: {{{STRICT}}}"), []),
    (
        container(f"securityContext: {{{STRICT}, runAsUser: 0}}"),
        ['runAsUser=0 (container "main" must not set runAsUser=0)'],
    ),
    (
        "spec: {volumes: [{name: v, hostPath: {path: /}}], containers: [{name: main, image: x, "
        f"securityContext: {{{STRICT}}}}}]}}",
        ['restricted volume types (volume "v" uses restricted volume type "hostPath")'],
    ),
    (
        f"spec: {{hostIPC: true, containers: [{{name: main, image: x, securityContext: {{{STRICT}}}}}]}}",
        ["host namespaces (hostIPC=true)"],
    ),
]


@pytest.mark.parametrize(
    ("level", "manifest", "expected"),
    [
        *(("baseline", manifest, expected) for manifest, expected in BASELINE),
        *(("restricted", manifest, expected) for manifest, expected in RESTRICTED),
        ("privileged", "spec: {hostNetwork: true}", []),
    ],
)
def test_violations_of_each_level(level: str, manifest: str, expected: list[str]) -> None:
    assert [str(each) for each in violations(obj(Pod, manifest, PLAIN_POD).spec, level)] == expected


@pytest.mark.parametrize(("system", "details"), [("windows", 0), ("linux", 3)])
def test_restricted_level_requires_no_linux_fields_of_windows_pods(system: str, details: int) -> None:
    secure = "securityContext: {runAsNonRoot: true}"
    manifest = f"spec: {{os: {{name: {system}}}, containers: [{{name: main, image: x, {secure}}}]}}"
    found = violations(obj(Pod, manifest, PLAIN_POD).spec, "restricted")
    linux_only = ["allowPrivilegeEscalation != false", "unrestricted capabilities", "seccompProfile"]
    assert [each.reason for each in found] == linux_only[:details]


async def namespace(cluster: ControlPlane, **labels: str) -> None:
    given = {f"{PREFIX}{mode.replace('_', '-')}": level for mode, level in labels.items()}
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team", labels=given)))
