"""Definitions made ready: what later states of a definition keep of earlier ones."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.api.apiextensions_v1 import CustomResourceDefinition, CustomResourceDefinitionCondition
from podling.apiserver.customresources.served_definition import serve
from podling.machinery.encoding import codec


def definition(pattern: str = "^a$") -> CustomResourceDefinition:
    spec: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string", "pattern": pattern}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    plain = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    return codec.from_plain(plain, CustomResourceDefinition)


def established(given: CustomResourceDefinition) -> CustomResourceDefinition:
    condition = CustomResourceDefinitionCondition(type="Established", status="True")
    return structs.replace(given, status=structs.replace(given.status, conditions=(condition,)))


def test_status_of_a_definition_changes_neither_schemas_nor_rules() -> None:
    first = serve(definition())
    second = serve(established(definition()), first)
    assert (len(first.resources), len(second.resources)) == (0, 1)
    assert second.schemas is first.schemas
    assert second.rules["v1"].cel is first.rules["v1"].cel


def test_new_schema_has_rules_of_its_own() -> None:
    first = serve(established(definition()))
    second = serve(established(definition("^b$")), first)
    assert second.schemas is not first.schemas
    assert second.rules["v1"].cel is not first.rules["v1"].cel
