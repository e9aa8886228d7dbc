"""Pod fields that the downward API offers, in variables and in files."""

from __future__ import annotations

import pytest

from tests.support.causes import unsupported
from tests.support.manifests import container, creation_causes, pod

EVERYWHERE = ("metadata.name", "metadata.namespace", "metadata.uid")
FILES_ONLY = ("metadata.annotations", "metadata.labels")
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
def test_what_variables_may_not_show(field: str) -> None:
    path = "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"
    expected = unsupported(path, field, *EVERYWHERE, *VARIABLES_ONLY)
    assert creation_causes(pod(variable(field))) == [expected]
    assert creation_causes(pod(file(field))) == []


@pytest.mark.parametrize("field", VARIABLES_ONLY)
def test_what_downward_api_files_may_not_show(field: str) -> None:
    path = "spec.volumes[0].downwardAPI.fieldRef.fieldPath"
    expected = unsupported(path, field, *FILES_ONLY, *EVERYWHERE)
    assert creation_causes(pod(file(field))) == [expected]
    assert creation_causes(pod(variable(field))) == []
