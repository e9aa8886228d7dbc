"""What is wrong with the CEL rules of a schema when it is defined: they do not fit it, or may cost too much.

Pure. Upstream: ``ValidateCustomResourceDefinitionOpenAPISchema`` in
``apiextensions-apiserver/pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from podling.apiserver.customresources.field_paths import resolved
from podling.apiserver.customresources.schema_rules import Rule
from podling.apiserver.customresources.structural import LIST_TYPE, MAP_TYPE, RULES, Schema
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path

if TYPE_CHECKING:
    from podling.apiserver.cel.programs import Program

Errors = list[FieldError]
Costs = list[tuple[Path, int]]

REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
ESTIMATED_RULE = 10_000_000
"""What a rule may cost for the largest object that its schema allows."""
ESTIMATED_SCHEMA = 100_000_000
"""What all rules of a schema may cost together."""
_CEILING = 2**62
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and "
    "strings are declared)"
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a schema a node is."""

    path: Path
    times: int = 1
    """How often it may occur in one object."""
    uncorrelatable: Path | None = None
    """The list or map that keeps its values from being compared with what they were."""
    root: bool = False

    def below(self, path: Path, times: int = 1) -> _Place:
        return replace(self, path=path, times=min(self.times * times, _CEILING), root=False)


def rule_errors(path: Path, schema: Schema) -> Errors:
    """Everything wrong with the rules of a schema."""
    costs: Costs = []
    errors = _errors_at(_Place(path, root=True), schema, costs)
    total = sum(cost for _, cost in costs)
    if total > ESTIMATED_SCHEMA:
        name = "rule & messageExpression cost total"
        worst, _ = max(costs, key=lambda each: each[1])
        text = f"contributed to estimated {name} exceeding cost limit for entire OpenAPIv3 schema"
        errors.append(fields.forbidden(worst, text))
        whole = f"x-kubernetes-validations estimated {name} for entire OpenAPIv3 schema"
        errors.append(fields.forbidden(path, _too_dear(whole, total, ESTIMATED_SCHEMA)))
    return errors


def _errors_at(place: _Place, schema: Schema, costs: Costs) -> Errors:
    errors: Errors = []
    for at, plain in enumerate(schema.plain.get(RULES) or ()):
        where = place.path.child(RULES).index(at)
        found = _plain_errors(where, plain, schema)
        errors += found or _compiled_errors(where, Rule(plain, schema, place.root), place, costs)
    atomic = schema.plain.get(MAP_TYPE) == "atomic" and place.uncorrelatable is None
    within = replace(place, uncorrelatable=place.path) if atomic else place
    for name, each in schema.properties.items():
        errors += _errors_at(within.below(place.path.child("properties").key(name)), each, costs)
    if schema.items is not None:
        below = place.below(place.path.child("items"), _most(schema))
        if schema.plain.get(LIST_TYPE) != "map" and below.uncorrelatable is None:
            below = replace(below, uncorrelatable=place.path)
        errors += _errors_at(below, schema.items, costs)
    if schema.values is not None:
        below = within.below(place.path.child("additionalProperties"), _most(schema))
        errors += _errors_at(below, schema.values, costs)
    return errors


def _most(schema: Schema) -> int:
    """The most items or entries of a value."""
    from podling.apiserver.cel.costs import largest
    from podling.apiserver.customresources.schema_types import schema_type

    own = schema_type(schema)
    return largest(own) if own is not None else 1


def _plain_errors(where: Path, plain: Mapping[str, Any], schema: Schema) -> Errors:
    """What can be said of a rule without compiling it."""
    text, message = plain.get("rule", ""), plain.get("message", "")
    at, errors = where.child("message"), list[FieldError]()
    if not text.strip():
        errors.append(fields.required(where.child("rule"), "rule is not specified"))
    elif message and not message.strip():
        errors.append(fields.invalid(at, message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(fields.invalid(at, message, "message must not contain line breaks"))
    elif "\n" in text.strip() and not message.strip():
        errors.append(fields.required(at, "message must be specified if rule contains line breaks"))
    expression = plain.get("messageExpression", "")
    if expression and not expression.strip():
        needed = "messageExpression must be non-empty if specified"
        errors.append(fields.required(where.child("messageExpression"), needed))
    if plain.get("reason") and plain["reason"] not in REASONS:
        errors.append(fields.not_supported(where.child("reason"), plain["reason"], REASONS))
    at, path = where.child("fieldPath"), plain.get("fieldPath", "")
    if path and not path.strip():
        errors.append(fields.invalid(at, path, "fieldPath must be non-empty if specified"))
    if "\n" in path:
        errors.append(fields.invalid(at, path, "fieldPath must not contain line breaks"))
    try:
        resolved(path, schema)
    except ValueError:
        errors.append(fields.invalid(at, path, "fieldPath must be a valid path"))
    return errors


def _compiled_errors(where: Path, rule: Rule, place: _Place, costs: Costs) -> Errors:
    from podling.apiserver.cel.programs import NotCompiled

    errors: Errors = []
    for name, wanted, prefix, otherwise in (
        ("rule", "bool", "", "cel expression must evaluate to a bool"),
        ("messageExpression", "string", "messageExpression ", "messageExpression must evaluate to a string"),
    ):
        at = where.child(name)
        try:
            program: Program | None = rule.program if name == "rule" else rule.message_program
        except NotCompiled as problem:
            errors.append(fields.invalid(at, _internal(rule), f"{prefix}compilation failed: {problem}"))
            continue
        if program is None:
            continue
        if program.type.name not in (wanted, "dyn"):
            errors.append(fields.invalid(at, _internal(rule), otherwise))
        cost = min(program.cost * place.times, _CEILING)
        if cost > ESTIMATED_RULE:
            errors.append(fields.forbidden(at, _too_dear(f"estimated {name} cost", cost, ESTIMATED_RULE)))
        costs.append((at, cost))
    if rule.uses_old and place.uncorrelatable is not None:
        text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        errors.append(fields.invalid(where.child("rule"), rule.text, f"{text} {place.uncorrelatable}"))
    return errors


class _Internal(Struct, frozen=True, rename="pascal"):
    """A rule as messages show it: by the names that it has inside of Kubernetes."""

    rule: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


def _internal(rule: Rule) -> _Internal:
    plain = rule.plain
    return _Internal(
        rule.text,
        plain.get("message", ""),
        plain.get("messageExpression", ""),
        plain.get("reason"),
        plain.get("fieldPath", ""),
        plain.get("optionalOldSelf"),
    )


def _too_dear(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"
