"""Tests of the validation of pod annotations."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, forbidden, invalid, unsupported
from tests.support.manifests import creation_causes, pod


def with_annotation(key: str, value: str, spec: str = "{}") -> str:
    return f"{{metadata: {{annotations: {{{key}: '{value}'}}}}, spec: {spec}}}"


SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io"
C0 = "spec.containers[0]"
ANNOTATIONS: list[Row] = [
    (with_annotation(SECCOMP, "docker/default"), []),
    (
        with_annotation(SECCOMP, "other"),
        [invalid(f"metadata.annotations.{SECCOMP}", '"other"', "must be a valid seccomp profile")],
    ),
    (
        with_annotation(f"container.{SECCOMP[:-3]}main", "localhost/../x"),
        [invalid(f"metadata.annotations.container.{SECCOMP[:-3]}main", '"../x"', "must not contain '..'")],
    ),
    (
        with_annotation(SECCOMP, "unconfined", "{securityContext: {seccompProfile: {type: RuntimeDefault}}}"),
        [
            forbidden(
                "spec.securityContext.seccompProfile.type",
                "seccomp type in annotation and field must match",
            )
        ],
    ),
    (
        with_annotation(f"{APP_ARMOR}/ghost", "other"),
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
        with_annotation(
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
        with_annotation("scheduler.alpha.kubernetes.io/tolerations", '[{"key": "a", "operator": "Near"}]'),
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


@pytest.mark.parametrize(("manifest", "expected"), ANNOTATIONS)
def test_invalid_annotation_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
