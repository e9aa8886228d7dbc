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


def probing(name: str, *actions: str) -> str:
    return f"{{name: {name}, image: x, {', '.join(actions)}}}"


def web(host: str) -> str:
    return f"{{httpGet: {{port: 80, host: '{host}'}}}}"


def tcp(host: str) -> str:
    return f"{{tcpSocket: {{port: 80, host: '{host}'}}}}"


HOST = "invalid.host"
HOSTS: list[tuple[list[str], str]] = [
    ([probing("a", f"livenessProbe: {web('')}", f"readinessProbe: {tcp('')}")], ""),
    ([probing("a", f"lifecycle: {{postStart: {web('')}}}")], ""),
    (
        [
            probing(
                "a",
                f"livenessProbe: {web('127.0.0.1')}",
                f"readinessProbe: {tcp('::1')}",
                f"startupProbe: {web('localhost')}",
            )
        ],
        'container "a" uses probe or lifecycle hosts "127.0.0.1", "::1", "localhost"',
    ),
    *[
        ([probing("b", action)], f'container "b" uses probe or lifecycle host "{HOST}"')
        for action in (
            f"livenessProbe: {web(HOST)}",
            f"readinessProbe: {tcp(HOST)}",
            f"startupProbe: {web(HOST)}",
            f"lifecycle: {{postStart: {tcp(HOST)}}}",
            f"lifecycle: {{preStop: {web(HOST)}}}",
        )
    ],
    (
        [
            "{name: valid, image: x}",
            probing("invalid1", f"livenessProbe: {web('a.com')}"),
            probing("invalid2", f"lifecycle: {{preStop: {tcp('b.com')}}}", f"startupProbe: {web('a.com')}"),
        ],
        'containers "invalid1", "invalid2" use probe or lifecycle hosts "a.com", "b.com"',
    ),
]


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
@pytest.mark.parametrize(("containers", "detail"), HOSTS)
def test_probes_and_hooks_go_to_the_pod_itself(kind: str, containers: list[str], detail: str) -> None:
    """The cases of ``TestHostProbesAndHostLifecycle``."""
    spec = obj(Pod, f"spec: {{{kind}: [{', '.join(containers)}]}}", PLAIN_POD).spec
    expected = [f"probe or lifecycle host ({detail})"] if detail else []
    for version in ("latest", "v1.34"):
        assert [str(each) for each in violations(spec, "baseline", version)] == expected
    assert violations(spec, "baseline", "v1.33") == []


def sysctl(name: str) -> str:
    return f"spec: {{securityContext: {{sysctls: [{{name: {name}, value: '1'}}]}}}}"


def own_users(context: str) -> str:
    return f"spec: {{hostUsers: false, containers: [{{name: main, image: x, securityContext: {context}}}]}}"


ENGINE = "spec: {securityContext: {seLinuxOptions: {type: container_engine_t}}}"
UNCONFINED = "spec: {securityContext: {seccompProfile: {type: Unconfined}}}"
WINDOWS = "spec: {os: {name: windows}, securityContext: {runAsNonRoot: true}}"
LINUX_ONLY = {"allowPrivilegeEscalation != false", "unrestricted capabilities", "seccompProfile"}


@pytest.mark.parametrize(
    ("level", "manifest", "reason", "forbidden_in", "allowed_in"),
    [
        ("baseline", sysctl("net.ipv4.ip_local_reserved_ports"), "forbidden sysctls", [0, 26], [27, 99]),
        ("baseline", sysctl("net.ipv4.tcp_fin_timeout"), "forbidden sysctls", [27, 28], [29]),
        ("baseline", sysctl("net.ipv4.tcp_wmem"), "forbidden sysctls", [29, 31], [32, 36]),
        ("baseline", ENGINE, "seLinuxOptions", [0, 30], [31, 36]),
        ("baseline", own_users("{procMount: Unmasked}"), "procMount", [0, 34], [35, 36]),
        ("restricted", container("securityContext: {procMount: Unmasked}"), "procMount", [0, 34, 35, 36], []),
        ("restricted", own_users("{procMount: Unmasked}"), "procMount", [0, 34, 35, 36], []),
        ("restricted", own_users("{runAsNonRoot: false}"), "runAsNonRoot != true", [0, 34], [35, 36]),
        ("restricted", own_users("{runAsUser: 0}"), "runAsUser=0", [23, 34], [22, 35, 36]),
        ("baseline", UNCONFINED, "seccompProfile", [19, 36], [0, 18]),
        ("restricted", "", "seccompProfile", [19, 36], [18]),
        ("restricted", "", "allowPrivilegeEscalation != false", [8, 36], [7]),
        ("restricted", "", "unrestricted capabilities", [22, 36], [21]),
        *[("restricted", WINDOWS, reason, [22, 24], [25, 36]) for reason in sorted(LINUX_ONLY)],
    ],
)
def test_checks_are_those_of_the_version(
    level: str, manifest: str, reason: str, forbidden_in: list[int], allowed_in: list[int]
) -> None:
    spec = obj(Pod, manifest, PLAIN_POD).spec
    for minor in (*forbidden_in, *allowed_in):
        found = [each.reason for each in violations(spec, level, f"v1.{minor}")]
        assert found.count(reason) == (minor in forbidden_in), minor
    newest = [each.reason for each in violations(spec, level)]
    assert newest == [each.reason for each in violations(spec, level, "v1.36")]


def test_weaker_check_stays_in_versions_without_the_stricter_one() -> None:
    spec = obj(Pod, container("securityContext: {capabilities: {add: [NET_ADMIN]}}"), PLAIN_POD).spec
    reasons = {
        version: [each.reason for each in violations(spec, "restricted", version) if "cap" in each.reason]
        for version in ("v1.21", "v1.22")
    }
    assert reasons == {"v1.21": ["non-default capabilities"], "v1.22": ["unrestricted capabilities"]}


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
