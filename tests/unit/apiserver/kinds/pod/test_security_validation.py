"""Tests of the validation of security contexts."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, forbidden, invalid, required, unsupported
from tests.support.manifests import container, creation_causes, pod

C0 = "spec.containers[0]"
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


@pytest.mark.parametrize(("manifest", "expected"), SECURITY)
def test_invalid_security_context_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
