"""Tests of the validation of ``spec.os`` and Windows options."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, forbidden, invalid
from tests.support.manifests import creation_causes, pod

C0 = "spec.containers[0]"
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


@pytest.mark.parametrize(("manifest", "expected"), WINDOWS)
def test_invalid_windows_field_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
