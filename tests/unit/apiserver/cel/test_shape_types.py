"""CEL types of built-in kinds."""

from __future__ import annotations

import pytest

from podling.api.apiextensions_v1 import JSONSchemaProps
from podling.api.core_v1 import Pod
from podling.apiserver.cel.shape_types import type_of_kind
from podling.apiserver.cel.types import Type


def type_at(kind: type, path: str) -> Type:
    found = type_of_kind(kind)
    for name in path.split("."):
        found = found.fields[name].type if found.fields else found.inner[-1]
    return found


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("metadata.labels", "map(string, string)"),
        ("metadata.creationTimestamp", "timestamp"),
        ("metadata.generation", "int"),
        ("metadata.finalizers", "list(string)"),
        ("spec.hostNetwork", "bool"),
        ("spec.containers", "list(Container)"),
        ("spec.containers.item.ports.item.containerPort", "int"),
        ("spec.containers.item.resources.limits", "map(string, dyn)"),
        ("spec.containers.item.livenessProbe.httpGet.port", "dyn"),
    ],
)
def test_field_of_a_pod_has_its_type(path: str, shown: str) -> None:
    assert str(type_at(Pod, path)) == shown


def test_unknown_field_has_no_type() -> None:
    fields = type_of_kind(Pod).fields
    assert "replicas" not in fields
    assert set(fields) == {"apiVersion", "kind", "metadata", "spec", "status"}


def test_kind_that_contains_itself_has_a_type() -> None:
    assert str(type_at(JSONSchemaProps, "not.not.type")) == "string"
