"""Values of fields in the OpenAPI documents."""

from __future__ import annotations

import json

from podling.machinery.openapi.openapi import v3_document
from podling.machinery.openapi.openapi_enums import enums
from podling.machinery.scheme import RESOURCES

POLICY = ' - `"Always"`\n - `"Never"`\n - `"OnFailure"`'


def test_field_has_its_values_and_names_them() -> None:
    document = json.loads(v3_document("", "v1") or b"")
    policy = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["restartPolicy"]
    assert policy["enum"] == ["Always", "Never", "OnFailure"]
    assert policy["description"].endswith(f"\n\nPossible enum values:\n{POLICY}")


def test_every_row_is_a_text_field_of_a_document() -> None:
    groups = {(each.group, each.version) for each in RESOURCES}
    schemas: dict[str, dict[str, dict[str, object]]] = {}
    for group, version in groups:
        for name, schema in json.loads(v3_document(group, version) or b"{}")["components"]["schemas"].items():
            schemas[name] = schema.get("properties", {})
    for definition, fields in enums().items():
        for field, values in fields.items():
            assert schemas[definition][field]["type"] == "string", (definition, field)
            assert schemas[definition][field]["enum"] == values
            assert list(values) == sorted(set(values)), "in the order of the alphabet, each once"
