"""CEL rules of schemas (``x-kubernetes-validations``): compiled once, asked with every write.

A rule sees the value that it stands on as ``self`` and, in a change, the value before as ``oldSelf``: then
only where there is one that it can be compared with, unless it asks for an optional. Objects show the
fields of their schema alone, the root of an object shows its metadata's name beside.

What does not change may stay as wrong as it is (rules about ``oldSelf`` excepted), as upstream has it. What
may be spent on all rules of one object is bounded.
Upstream: ``apiextensions-apiserver/pkg/apiserver/schema/cel``.
"""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from podling.apiserver.customresources import values
from podling.apiserver.customresources.structural import RULES, Schema
from podling.machinery import fields
from podling.machinery.fields import OMITTED, ErrorType, FieldError, Path
from podling.machinery.plain import equal

if TYPE_CHECKING:
    from podling.apiserver.cel.programs import Program

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
    """One rule about values of one schema, compiled when it is first asked.

    ``root``: the schema is that of whole objects.
    """

    plain: Mapping[str, Any]
    schema: Schema
    root: bool = False

    @property
    def text(self) -> str:
        found: str = self.plain["rule"]
        return found

    @property
    def shown(self) -> str:
        """What messages call the rule."""
        found: str = self.plain.get("message") or self.text
        return found.strip()

    @property
    def uses_old(self) -> bool:
        return bool(_USES_OLD(self.text))

    @property
    def optional_old(self) -> bool:
        return bool(self.plain.get("optionalOldSelf"))

    @cached_property
    def program(self) -> Program:
        return self._compiled(self.text)

    @cached_property
    def message_program(self) -> Program | None:
        expression = (self.plain.get("messageExpression") or "").strip()
        return self._compiled(expression) if expression else None

    def _compiled(self, text: str) -> Program:
        """Raises ``NotCompiled``."""
        from podling.apiserver.cel.programs import Program
        from podling.apiserver.cel.types import DYN, Type
        from podling.apiserver.customresources.schema_types import schema_type

        # Kubernetes puts the nanoseconds of the moment into the name; ours stays the same for the same rule.
        label = f"selfType{zlib.crc32(text.encode()) % 10**9}"
        own = schema_type(self.schema, label=label, root=self.root) or DYN
        old = Type("optional", (own,)) if self.optional_old else own
        return Program(text, {"self": own, "oldSelf": old})


@dataclass(frozen=True, eq=False)
class _Node:
    """The rules at and below one node of a schema; nodes without any are not kept."""

    schema: Schema
    rules: tuple[Rule, ...]
    properties: Mapping[str, _Node] = field(default_factory=dict)
    items: _Node | None = None
    values: _Node | None = None


def _node(schema: Schema, *, root: bool = False) -> _Node | None:
    rules = tuple(Rule(each, schema, root) for each in schema.plain.get(RULES) or ())
    properties = {name: node for name, each in schema.properties.items() if (node := _node(each))}
    items = _node(schema.items) if schema.items else None
    values = _node(schema.values) if schema.values else None
    if not (rules or properties or items or values):
        return None
    return _Node(schema, rules, properties, items, values)


class SchemaRules:
    """All rules of one schema."""

    def __init__(self, root: Schema) -> None:
        self._root = _node(root, root=True)

    def validate(self, plain: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        """What the rules find wrong with a whole object, and with its change from ``old``."""
        if self._root is None:
            return []
        asking = _Asking()
        asking.walk(self._root, _rooted(plain), _MISSING if old is None else _rooted(old), Path())
        return asking.errors


class _Asking:
    """One object being asked about: what was found, and what may still be spent on finding more."""

    def __init__(self) -> None:
        from podling.apiserver.cel.programs import PER_OBJECT

        self.errors: list[FieldError] = []
        self._left = PER_OBJECT

    def walk(self, node: _Node, value: Any, old: Any, path: Path) -> None:
        if value is None or self._left < 0:
            return
        for rule in node.rules:
            if self._left >= 0:
                self._ask(rule, value, old, path)
        if isinstance(value, dict):
            for name, item in value.items():
                inner = node.properties.get(name)
                at = path.child(name)
                if inner is None and node.values is not None and name not in node.schema.properties:
                    inner, at = node.values, path.key(name)
                if inner is not None:
                    before = old.get(name, _MISSING) if isinstance(old, dict) else _MISSING
                    self.walk(inner, item, before, at)
        elif isinstance(value, list) and node.items is not None:
            known = values.items_by_key(old, node.schema.plain)
            for index, item in enumerate(value):
                before = known.get(values.item_key(item, node.schema.plain), _MISSING)
                self.walk(node.items, item, before, path.index(index))

    def _ask(self, rule: Rule, value: Any, old: Any, path: Path) -> None:
        """Ask one rule about one value; it may not apply."""
        before = None if old is _MISSING else old
        if rule.uses_old and before is None and not rule.optional_old:
            return
        result, names = self._evaluated(rule, value, before, path)
        if result is True or (before is not None and not rule.uses_old and equal(value, before)):
            return
        if result is not None:
            self.errors.append(_refusal(rule, value, names, path))

    def _evaluated(self, rule: Rule, value: Any, before: Any, path: Path) -> tuple[Any, dict[str, Any]]:
        """What a rule says, and the names that it saw; None when it could not be asked, which is an error."""
        from podling.apiserver.cel import programs

        kind, paid = rule.schema.type or "object", min(programs.PER_CALL, self._left)
        names: dict[str, Any] = {"self": value, "oldSelf": before}
        if rule.optional_old:
            names["oldSelf"] = programs.Optional(before, before is not None)
        budget = [paid]
        try:
            return rule.program.evaluate(names, budget), names
        except programs.NotCompiled as error:
            why = f"rule compile error: compilation failed: {error}"
        except programs.Failure as error:
            why = _failed(str(error), rule)
        except programs.OverBudget as error:
            self._left = -1
            text = "no further validation rules will be run due to call cost exceeds limit for rule"
            why = f"'{error}': {text}: {rule.shown}"
        finally:
            self._left -= paid - max(budget[0], 0)
        self.errors.append(fields.invalid(path, kind, why))
        return None, names


def _failed(why: str, rule: Rule) -> str:
    if why.startswith("no such overload"):
        # Only values without a type get here: the others were checked when the rule was defined.
        text = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{why}': {text}: {rule.shown}"
    return f"{why} evaluating rule: {rule.shown}"


def _rooted(plain: dict[str, Any]) -> dict[str, Any]:
    """An object as rules see it: of the metadata only the names."""
    metadata = plain.get("metadata") or {}
    shown = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
    return {**plain, "metadata": shown}


def _refusal(rule: Rule, value: Any, names: Any, path: Path) -> FieldError:
    from podling.apiserver.cel import programs

    text, shown = "", OMITTED if isinstance(value, dict | list) else value
    try:
        if rule.message_program is not None:
            text = str(rule.message_program.evaluate(names)).strip()
            text = "" if "\n" in text else text
            shown = OMITTED if text else shown
    except (programs.Failure, programs.NotCompiled, programs.OverBudget) as error:
        log.info("messageExpression of %s failed: %s", rule.text, error)
    text = text or (rule.plain.get("message") or "").strip() or f"failed rule: {rule.shown}"
    at = path
    if rule.plain.get("fieldPath"):
        at = Path(f"{path.text}{rule.plain['fieldPath']}".removeprefix("."))
    reason = _REASONS.get(rule.plain.get("reason") or "")
    if reason is None:
        return fields.invalid(at, shown, text)
    return FieldError(reason, str(at), value if reason is ErrorType.DUPLICATE else "", text)
