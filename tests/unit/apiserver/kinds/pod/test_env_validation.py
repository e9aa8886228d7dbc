"""Tests of the validation of environment variables and the downward API."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, invalid, required, unsupported
from tests.support.manifests import container, creation_causes, pod

C0 = "spec.containers[0]"
ENVIRONMENT: list[Row] = [
    (container("env: [{value: x}]"), [required(f"{C0}.env[0].name")]),
    (
        container("env: [{name: 'A=B', value: x}]"),
        [
            invalid(
                f"{C0}.env[0].name",
                '"A=B"',
                "a valid environment variable name must consist only of printable ASCII characters other "
                "than '='",
            )
        ],
    ),
    (
        container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]"),
        [
            unsupported(
                f"{C0}.env[0].valueFrom.fieldRef.fieldPath",
                "status.phase",
                "metadata.name",
                "metadata.namespace",
                "metadata.uid",
                "spec.nodeName",
                "spec.serviceAccountName",
                "status.hostIP",
                "status.hostIPs",
                "status.podIP",
                "status.podIPs",
            )
        ],
    ),
    (
        container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.containers}}}]"),
        [
            invalid(
                f"{C0}.env[0].valueFrom.fieldRef.fieldPath",
                '"spec.containers"',
                "error converting fieldPath: field label not supported: spec.containers",
            )
        ],
    ),
    (container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}]"), []),
    (
        container("env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
        [invalid(f"{C0}.env[0].valueFrom", '""', "may not be specified when `value` is not empty")],
    ),
    (
        container("env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]"),
        [required(f"{C0}.env[0].valueFrom.secretKeyRef.key")],
    ),
    (
        container("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]"),
        [
            unsupported(
                f"{C0}.env[0].valueFrom.resourceFieldRef.resource",
                "limits.gpu",
                "limits.cpu",
                "limits.ephemeral-storage",
                "limits.memory",
                "requests.cpu",
                "requests.ephemeral-storage",
                "requests.memory",
            )
        ],
    ),
    (
        container("envFrom: [{prefix: X_}]"),
        [invalid(f"{C0}.envFrom", '""', "must specify one of: `configMapRef` or `secretRef`")],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), ENVIRONMENT)
def test_invalid_environment_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected


FILES_ONLY = ("metadata.annotations", "metadata.labels")
EVERYWHERE = ("metadata.name", "metadata.namespace", "metadata.uid")
VARIABLES_ONLY = (
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)


def variable(field: str) -> str:
    return container(f"env: [{{name: A, valueFrom: {{fieldRef: {{fieldPath: {field}}}}}}}]")


def file(field: str) -> str:
    items = f"[{{path: p, fieldRef: {{fieldPath: {field}}}}}]"
    return f"spec: {{volumes: [{{name: v, downwardAPI: {{items: {items}}}}}]}}"


@pytest.mark.parametrize("field", FILES_ONLY)
def test_environment_variable_cannot_refer_to_volume_only_field(field: str) -> None:
    path = "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"
    expected = unsupported(path, field, *EVERYWHERE, *VARIABLES_ONLY)
    assert creation_causes(pod(variable(field))) == [expected]
    assert creation_causes(pod(file(field))) == []


@pytest.mark.parametrize("field", VARIABLES_ONLY)
def test_downward_api_file_cannot_refer_to_variable_only_field(field: str) -> None:
    path = "spec.volumes[0].downwardAPI.fieldRef.fieldPath"
    expected = unsupported(path, field, *FILES_ONLY, *EVERYWHERE)
    assert creation_causes(pod(file(field))) == [expected]
    assert creation_causes(pod(variable(field))) == []
