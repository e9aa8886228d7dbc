"""Validation of schemas in definitions: structural, with each type in one place."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apiextensions_v1 import JSONSchemaProps
from podling.apiserver.customresources.schema_validation import schema_errors
from podling.machinery.encoding import codec
from podling.machinery.fields import Path

ROOT: dict[str, Any] = {"type": "object"}


def errors(plain: dict[str, Any]) -> list[str]:
    schema = codec.convert(plain, JSONSchemaProps, "Ignore")[0]
    return [str(each) for each in schema_errors(Path("s"), schema)]


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return {**ROOT, "properties": {"f": schema}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            field({"type": "string", "x-kubernetes-validations": [{"rule": ""}]}),
            ["s.properties[f].x-kubernetes-validations[0].rule: Required value: rule is not specified"],
        ),
        (
            field({"type": "string", "$schema": "x"}),
            ["s: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
        ),
        (
            {**ROOT, "nullable": True},
            ["s.nullable: Forbidden: nullable cannot be true at the root"],
        ),
    ],
)
def test_invalid_schemas_are_refused(schema: dict[str, Any], expected: list[str]) -> None:
    assert errors(schema) == expected


def test_a_rule_must_be_an_expression() -> None:
    (found,) = errors(field({"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]}))
    assert found == (
        's.properties[f].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self ==","Message":"",'
        '"MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: '
        "ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n"
        " | self ==\n | .......^"
    )


@pytest.mark.parametrize("rule", ["self.nothingLikeIt()", "nothingLikeIt > 1", "self.all(x, y > 1)"])
def test_a_rule_must_not_name_what_does_not_exist(rule: str) -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    (found,) = errors(field({**numbers, "x-kubernetes-validations": [{"rule": rule}]}))
    name = "y" if "y" in rule.split() else "nothingLikeIt"
    assert f": undeclared reference to '{name}' (in container '')\n | {rule}\n | " in found


def test_root_with_status_subresource_has_fewer_fields() -> None:
    schema = codec.convert({**ROOT, "maxProperties": 3}, JSONSchemaProps, "Ignore")[0]
    assert schema_errors(Path("s"), schema) == []
    (found,) = schema_errors(Path("s"), schema, status=True)
    assert str(found).startswith(
        's: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"obj'
    )
    assert '"MaxProperties":3,"MinProperties":null,"Required":null,' in str(found)
    assert str(found).endswith(
        ": only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
        "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs "
        "Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the "
        "status subresource is enabled"
    )
