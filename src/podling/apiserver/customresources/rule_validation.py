"""Validation of the CEL rules of a schema: their types, and their maximum cost.

Pure. Upstream: ``ValidateCustomResourceDefinitionOpenAPISchema`` in
``apiextensions-apiserver/pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from podling.apiserver.customresources import go_names
from podling.apiserver.customresources.field_paths import resolved
from podling.apiserver.customresources.rule_evaluation import Rule
from podling.apiserver.customresources.structural import RULES, Schema
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path

if TYPE_CHECKING:
    from podling.apiserver.cel.programs import Program

Errors = list[FieldError]

REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
ESTIMATED_RULE = 10_000_000
"""The maximum cost of a rule for the largest object that its schema allows."""
ESTIMATED_SCHEMA = 100_000_000
"""The maximum cost of all rules of a schema together."""
NOTABLE = ESTIMATED_SCHEMA // 100
"""A rule that costs less is not named among those that cost the most."""
MOST_NAMED = 4
_CEILING = 2**62
_LINE_BREAK = re.compile(r"[\n\r]").search
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and "
    "strings are declared)"
)


class RulePlace(Struct, frozen=True):
    """The position of a node in a schema."""

    path: Path
    times: int | None = 1
    """The maximum number of occurrences in one object; None if unlimited."""
    uncorrelatable: Path | None = None
    """The list that keeps its values from being compared with what they were."""
    root: bool = False
    in_head: bool = False
    """True if it is about the head of an object."""
    no_defaults: str = ""
    """Why nothing here may have a default."""

    def below(self, path: Path, schema: Schema | None) -> RulePlace:
        """Return a node directly inside of one with ``schema``."""
        times = self.times
        if times is not None and schema is not None:
            most = _most(schema)
            times = None if most is None else min(times * most, _CEILING)
        return replace(self, path=path, times=times, root=False)

    def total(self, cost: int, least: int) -> int:
        """Return the total cost for all values here, each with some characters, of a cost per value."""
        from podling.apiserver.cel.costs import repeated

        return min(cost * (repeated(least) if self.times is None else self.times), _CEILING)


def _most(schema: Schema) -> int | None:
    """Return the most items or entries of a value."""
    if schema.type == "array":
        return _limit(schema.plain.get("maxItems"))
    return 1 if schema.values is None else _limit(schema.plain.get("maxProperties"))


def _limit(most: Any) -> int | None:
    return None if most is None else max(int(most), 0)


class RuleCosts:
    """The costs of a schema's rules, collected while they are checked."""

    def __init__(self) -> None:
        self._all: list[tuple[Path, int]] = []

    def rule_errors(self, place: RulePlace, schema: Schema) -> Errors:
        """Return the errors of the rules of one node."""
        errors: Errors = []
        for at, plain in enumerate(schema.plain[RULES]):
            errors += self._errors(place.path.child(RULES).index(at), Rule(plain, schema, place.root), place)
        return errors

    def errors(self, path: Path) -> Errors:
        """Return the errors of all rules of the schema at ``path`` together."""
        total = sum(cost for _, cost in self._all)
        if total <= ESTIMATED_SCHEMA:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        dear = sorted((each for each in self._all if each[1] >= NOTABLE), key=lambda each: -each[1])
        errors = [fields.forbidden(where, text) for where, _ in dear[:MOST_NAMED]]
        whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*errors, fields.forbidden(path, _too_dear(whole, total, ESTIMATED_SCHEMA))]

    def _errors(self, where: Path, rule: Rule, place: RulePlace) -> Errors:
        from podling.apiserver.cel.programs import NotCompiled

        errors: Errors = []
        for name, wanted, prefix, otherwise in (
            ("rule", "bool", "", "cel expression must evaluate to a bool"),
            (
                "messageExpression",
                "string",
                "messageExpression ",
                "messageExpression must evaluate to a string",
            ),
        ):
            at = where.child(name)
            try:
                program: Program | None = rule.program if name == "rule" else rule.message_program
            except NotCompiled as problem:
                errors.append(fields.invalid(at, go_names.rule(rule.plain), f"{prefix}{problem.said}"))
                continue
            if program is None:
                continue
            if program.type.name != wanted:
                errors.append(fields.invalid(at, go_names.rule(rule.plain), otherwise))
            cost = place.total(program.cost, rule.least)
            if cost > ESTIMATED_RULE:
                errors.append(fields.forbidden(at, _too_dear(f"estimated {name} cost", cost, ESTIMATED_RULE)))
            self._all.append((at, cost))
        if rule.uses_old and place.uncorrelatable is not None:
            text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
            errors.append(fields.invalid(where.child("rule"), rule.text, f"{text} {place.uncorrelatable}"))
        optional = rule.plain.get("optionalOldSelf")
        if optional is not None and not rule.uses_old:
            text = "may not be set if oldSelf is not used in rule"
            errors.append(fields.invalid(where.child("optionalOldSelf"), optional, text))
        return errors


def plain_errors(where: Path, plain: Mapping[str, Any], schema: Mapping[str, Any]) -> Errors:
    """Return the errors of a rule that need no compilation."""
    text, message = plain.get("rule", ""), plain.get("message", "")
    at, errors = where.child("message"), list[FieldError]()
    if not text.strip():
        errors.append(fields.required(where.child("rule"), "rule is not specified"))
    elif message and not message.strip():
        errors.append(fields.invalid(at, message, "message must be non-empty if specified"))
    elif _LINE_BREAK(message.strip()):
        errors.append(fields.invalid(at, message, "message must not contain line breaks"))
    elif _LINE_BREAK(text.strip()) and not message.strip():
        errors.append(fields.required(at, "message must be specified if rule contains line breaks"))
    expression = plain.get("messageExpression", "")
    if expression and not expression.strip():
        needed = "messageExpression must be non-empty if specified"
        errors.append(fields.required(where.child("messageExpression"), needed))
    if plain.get("reason") is not None and plain["reason"] not in REASONS:
        errors.append(fields.not_supported(where.child("reason"), plain["reason"], REASONS))
    at, path = where.child("fieldPath"), plain.get("fieldPath", "")
    if path and not path.strip():
        errors.append(fields.invalid(at, path, "fieldPath must be non-empty if specified"))
    if _LINE_BREAK(path):
        errors.append(fields.invalid(at, path, "fieldPath must not contain line breaks"))
    try:
        resolved(path, Schema(schema))
    except ValueError:
        errors.append(fields.invalid(at, path, "fieldPath must be a valid path"))
    return errors


def _too_dear(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"
