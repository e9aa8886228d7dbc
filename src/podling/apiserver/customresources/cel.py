"""CEL rules of schemas (``x-kubernetes-validations``): compiled once, asked with every write.

A rule sees the value that it stands on as ``self`` and, in a change, the value before as ``oldSelf``: then
only where there is one that it can be compared with, unless it asks for an optional. Objects show the
fields of their schema alone, the root of an object shows its metadata's name beside.

What does not change may stay as wrong as it is (rules about ``oldSelf`` excepted), as upstream has it.
Upstream: ``apiextensions-apiserver/pkg/apiserver/schema/cel``. Not carried over: the static type check of
expressions and their cost budget.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from podling.apiserver.customresources import values
from podling.apiserver.customresources.structural import RULES, Schema
from podling.machinery import fields
from podling.machinery.fields import OMITTED, ErrorType, FieldError, Path
from podling.machinery.plain import equal

log = logging.getLogger(__name__)

_USES_OLD = re.compile(r"\boldSelf\b").search
_MISSING = values.ABSENT
_REASONS = {
    "FieldValueRequired": ErrorType.REQUIRED,
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueDuplicate": ErrorType.DUPLICATE,
}


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule, compiled when it is first asked."""

    plain: Mapping[str, Any]

    @property
    def text(self) -> str:
        found: str = self.plain["rule"]
        return found

    @property
    def uses_old(self) -> bool:
        return bool(_USES_OLD(self.text))

    @property
    def optional_old(self) -> bool:
        return bool(self.plain.get("optionalOldSelf"))

    @cached_property
    def program(self) -> Any:
        from podling.apiserver.customresources import cel_programs

        return cel_programs.compiled(self.text)

    @cached_property
    def message_program(self) -> Any:
        from podling.apiserver.customresources import cel_programs

        expression = self.plain.get("messageExpression")
        return cel_programs.compiled(expression) if expression else None


@dataclass(frozen=True, eq=False)
class _Node:
    """The rules at and below one node of a schema; nodes without any are not kept."""

    schema: Schema
    rules: tuple[Rule, ...]
    properties: Mapping[str, _Node] = field(default_factory=dict)
    items: _Node | None = None
    values: _Node | None = None


def _node(schema: Schema) -> _Node | None:
    rules = tuple(Rule(each) for each in schema.plain.get(RULES) or ())
    properties = {name: node for name, each in schema.properties.items() if (node := _node(each))}
    items = _node(schema.items) if schema.items else None
    values = _node(schema.values) if schema.values else None
    if not (rules or properties or items or values):
        return None
    return _Node(schema, rules, properties, items, values)


class SchemaRules:
    """All rules of one schema."""

    def __init__(self, root: Schema) -> None:
        self._root = _node(root)

    def validate(self, plain: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        """What the rules find wrong with a whole object, and with its change from ``old``."""
        if self._root is None:
            return []
        errors: list[FieldError] = []
        self._walk(self._root, _rooted(plain), _MISSING if old is None else _rooted(old), Path(), errors)
        return errors

    def _walk(self, node: _Node, value: Any, old: Any, path: Path, errors: list[FieldError]) -> None:
        if value is None:
            return
        for rule in node.rules:
            error = _ask(rule, node.schema, value, old, path)
            if error is not None:
                errors.append(error)
        if isinstance(value, dict):
            for name, item in value.items():
                inner = node.properties.get(name)
                at = path.child(name)
                if inner is None and node.values is not None and name not in node.schema.properties:
                    inner, at = node.values, path.key(name)
                if inner is not None:
                    before = old.get(name, _MISSING) if isinstance(old, dict) else _MISSING
                    self._walk(inner, item, before, at, errors)
        elif isinstance(value, list) and node.items is not None:
            known = values.items_by_key(old, node.schema.plain)
            for index, item in enumerate(value):
                before = known.get(values.item_key(item, node.schema.plain), _MISSING)
                self._walk(node.items, item, before, path.index(index), errors)


def _rooted(plain: dict[str, Any]) -> dict[str, Any]:
    """An object as rules see it: of the metadata only the names."""
    metadata = plain.get("metadata") or {}
    shown = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
    return {**plain, "metadata": shown}


def _ask(rule: Rule, schema: Schema, value: Any, old: Any, path: Path) -> FieldError | None:
    """The error of one rule about one value; None if it holds or does not apply."""
    from podling.apiserver.customresources import cel_programs

    before = None if old is _MISSING else old
    if rule.uses_old and before is None and not rule.optional_old:
        return None
    kind = schema.type or "object"
    try:
        names = cel_programs.activation(value, before, schema, optional=rule.optional_old)
        result = rule.program.evaluate(names)
    except cel_programs.Failure as error:
        return fields.invalid(path, kind, f"{error} evaluating rule: {_one_line(rule.text)}")
    if bool(result):
        return None
    if before is not None and not rule.uses_old and equal(value, before):
        return None
    return _refusal(rule, value, names, path)


def _refusal(rule: Rule, value: Any, names: Any, path: Path) -> FieldError:
    from podling.apiserver.customresources import cel_programs

    text, shown = "", OMITTED if isinstance(value, dict | list) else value
    if rule.message_program is not None:
        try:
            text = str(rule.message_program.evaluate(names)).strip()
            shown = OMITTED if text else shown
        except cel_programs.Failure as error:
            log.info("messageExpression of %s failed: %s", rule.text, error)
    text = text or rule.plain.get("message") or f"failed rule: {_one_line(rule.text)}"
    at = path
    if rule.plain.get("fieldPath"):
        at = Path(f"{path.text}{rule.plain['fieldPath']}".removeprefix("."))
    reason = _REASONS.get(rule.plain.get("reason") or "")
    if reason is None:
        return fields.invalid(at, shown, text)
    return FieldError(reason, str(at), value if reason is ErrorType.DUPLICATE else "", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
