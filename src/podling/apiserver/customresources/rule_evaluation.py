"""CEL rules of schemas (``x-kubernetes-validations``): compiled once, evaluated with every write.

A rule reads its value as ``self`` and, in an update, the value before as ``oldSelf``: then only where a
correlated one exists, unless the rule has ``optionalOldSelf``. Objects have the fields of their schema
alone, the root also its metadata's name.

Unchanged values may stay invalid (rules about ``oldSelf`` excepted): then the error becomes a warning. The
cost of all rules of one object is bounded.
Upstream: ``apiextensions-apiserver/pkg/apiserver/schema/cel``.
"""

from __future__ import annotations

import json
import logging
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from podling.apiserver.customresources import value_validation
from podling.apiserver.customresources.completion import RootSchema
from podling.apiserver.customresources.field_paths import resolved
from podling.apiserver.customresources.rule_costs import TooCostly, cost_limit
from podling.apiserver.customresources.structural import LIST_TYPE, RULES, Schema
from podling.machinery import fields
from podling.machinery.encoding.plain import equal
from podling.machinery.fields import OMITTED, ErrorType, FieldError, Path

if TYPE_CHECKING:
    from podling.apiserver.cel.programs import Program

log = logging.getLogger(__name__)

MESSAGE_MAX = 5 * 1024
"""The most bytes of a message that an expression makes; a longer one is not used."""
COMPILING = 500
"""The cost of compiling an expression at its first use, where the cost is limited."""
_MISSING = value_validation.ABSENT
_NEVER_KEPT = ("apiVersion", "kind")
"""Of these whole objects may not stay as wrong as they are: they may have been those of another version."""
_REASONS = {
    "FieldValueRequired": ErrorType.REQUIRED,
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueDuplicate": ErrorType.DUPLICATE,
}


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule about values of one schema, compiled at its first use.

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
        """The name of the rule in messages."""
        found: str = self.plain.get("message") or self.text
        return found.strip()

    @cached_property
    def uses_old(self) -> bool:
        """True if it compares with the value before."""
        from podling.apiserver.cel.programs import NotCompiled

        try:
            return "oldSelf" in self.program.names
        except NotCompiled:
            return False

    @cached_property
    def field_path(self) -> str:
        """The path of its errors, below the value of the rule."""
        try:
            return resolved(self.plain.get("fieldPath") or "", self.schema).text
        except ValueError:
            return ""

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

    @property
    def least(self) -> int:
        """The fewest characters of a value that it is about."""
        from podling.apiserver.customresources.schema_types import schema_type

        own = schema_type(self.schema, root=self.root)
        return own.least if own is not None else 1

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


class Found(Struct, frozen=True):
    """The results of rules: ``errors``, and those tolerated because the value did not change."""

    errors: list[FieldError] = msgspec.field(default_factory=list)
    kept: list[FieldError] = msgspec.field(default_factory=list)


class SchemaRules:
    """All rules of one schema, which are looked for with the first object."""

    def __init__(self, schema: RootSchema) -> None:
        self._schema = schema

    @cached_property
    def _root(self) -> _Node | None:
        return _node(self._schema.root, root=True)

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return self._root is not None

    def validate(self, plain: dict[str, Any], old: dict[str, Any] | None) -> Found:
        """Return the errors of a whole object, and of its change from ``old``."""
        if self._root is None:
            return Found()
        asking = _Asking()
        whole, before = _rooted(plain), _MISSING if old is None else _rooted(old)
        asking.walk(self._root, _Place(Path(), whole, before))
        return asking.found


def default_rule_errors(where: Path, default: Any, schema: Schema) -> list[FieldError]:
    """Return the errors of a default by the rules: as an unchanged value, and as a new one."""
    node = _node(schema)
    if node is None:
        return []
    for before in (default, _MISSING):
        asking = _Asking()
        asking.walk(node, _Place(where, default, before))
        if asking.found.errors or asking.found.kept:
            return asking.found.errors + asking.found.kept
    return []


class _Place(Struct, frozen=True):
    """A value, its former value, and the nearest correlated value that shows whether it changed."""

    path: Path
    value: Any
    before: Any
    """``_MISSING`` without a former value, or without a correlated one."""
    around: tuple[Any, Any] | None = None

    @property
    def unchanged(self) -> bool:
        new, old = self.around or (self.value, self.before)
        return old is not _MISSING and equal(new, old)

    def below(self, path: Path, value: Any, before: Any, *, comparable: bool) -> _Place:
        if comparable and self.around is None:
            return _Place(path, value, before)
        return _Place(path, value, _MISSING, self.around or (self.value, self.before))


class _Asking:
    """One evaluation of an object: the results so far, and the remaining budget."""

    def __init__(self) -> None:
        from podling.apiserver.cel.programs import PER_OBJECT

        self.found = Found()
        self._left = PER_OBJECT
        limit = cost_limit()
        self._allowed = sys.maxsize if limit is None else limit
        """The cost that may be spent here."""

    def walk(self, node: _Node, place: _Place) -> None:
        value, old, schema = place.value, place.before, node.schema
        if value is None or self._left < 0:
            return
        for rule in node.rules:
            if self._left >= 0:
                self._ask(rule, place)
        if isinstance(value, dict):
            for name, item in value.items():
                inner, at = node.properties.get(name), place.path.child(name)
                if inner is None and node.values is not None and name not in schema.properties:
                    inner, at = node.values, place.path.key(name)
                if inner is not None:
                    before = old.get(name, _MISSING) if isinstance(old, dict) else _MISSING
                    below = place.below(at, item, before, comparable=True)
                    if name in _NEVER_KEPT and not place.path.text:
                        below = replace(below, around=(item, _MISSING))
                    self.walk(inner, below)
        elif isinstance(value, list) and node.items is not None:
            known, keyed = (
                value_validation.items_by_key(old, schema.plain),
                schema.plain.get(LIST_TYPE) == "map",
            )
            for index, item in enumerate(value):
                before = known.get(value_validation.item_key(item, schema.plain), _MISSING)
                at = place.path.index(index)
                self.walk(node.items, place.below(at, item, before, comparable=keyed))

    def _ask(self, rule: Rule, place: _Place) -> None:
        """Evaluate one rule on one value; it may not apply."""
        before = None if place.before is _MISSING else place.before
        if "program" not in rule.__dict__:
            self._spend(COMPILING)
        if rule.uses_old and before is None and not rule.optional_old:
            return
        result, names = self._evaluated(rule, place.value, before, place.path)
        if result is True or result is None:
            return
        kept = not rule.uses_old and place.unchanged
        (self.found.kept if kept else self.found.errors).append(self._refusal(rule, place, names))

    def _evaluated(self, rule: Rule, value: Any, before: Any, path: Path) -> tuple[Any, dict[str, Any]]:
        """Return the result of a rule, and its variables; None after a failure, which is an error."""
        from podling.apiserver.cel import programs

        paid = min(programs.PER_CALL, self._left)
        names: dict[str, Any] = {"self": value, "oldSelf": before}
        if rule.optional_old:
            names["oldSelf"] = programs.Optional(before, before is not None)
        budget = [granted := max(0, min(paid, self._allowed))]
        try:
            return rule.program.evaluate(names, budget), names
        except programs.NotCompiled as error:
            why = f"rule compile error: {error.said}"
        except programs.Failure as error:
            why = _failed(str(error), rule)
        except programs.OverBudget as error:
            if granted < paid:
                raise TooCostly from None
            text = "no further validation rules will be run due to call cost exceeds limit for rule"
            why = f"'{error}': {text}: {rule.shown}" if paid == programs.PER_CALL else _SPENT
            self._left = -1
        finally:
            spent = granted - max(budget[0], 0)
            self._left -= spent
            self._allowed -= spent
        self.found.errors.append(fields.invalid(path, rule.schema.type, why))
        return None, names

    def _spend(self, cost: int) -> None:
        self._allowed -= cost
        if self._allowed < 0:
            raise TooCostly

    def _refusal(self, rule: Rule, place: _Place, names: dict[str, Any]) -> FieldError:
        text = self._message(rule, names) or (rule.plain.get("message") or "").strip()
        text = text or f"failed rule: {rule.shown}"
        shown = OMITTED if rule.schema.type in ("object", "array") else place.value
        at = Path(".".join(filter(None, (place.path.text, rule.field_path))))
        reason = _REASONS.get(rule.plain.get("reason") or "")
        if reason is None:
            return fields.invalid(at, shown, text)
        if reason is ErrorType.DUPLICATE:
            return FieldError(reason, str(at), shown)
        return FieldError(reason, str(at), "", text)

    def _message(self, rule: Rule, names: dict[str, Any]) -> str:
        """Return the message of the rule's ``messageExpression``; empty if it is unusable."""
        from podling.apiserver.cel import programs

        paid = min(programs.PER_CALL, max(self._left, 0))
        budget = [granted := max(0, min(paid, self._allowed))]
        try:
            if rule.message_program is None:
                return ""
            text = str(rule.message_program.evaluate(names, budget)).strip()
        except (programs.Failure, programs.NotCompiled) as error:
            log.info("messageExpression evaluation failed due to: %s", error)
            return ""
        except programs.OverBudget:
            if granted < paid:
                raise TooCostly from None
            self._left = -1
            return _dear_message(rule, whole=paid == programs.PER_CALL)
        finally:
            spent = granted - max(budget[0], 0)
            self._left -= spent
            self._allowed -= spent
        return "" if "\n" in text or len(text.encode()) > MESSAGE_MAX else text


_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


def _dear_message(rule: Rule, *, whole: bool) -> str:
    if not whole:
        return (
            "messageExpression evaluation failed due to running out of cost budget, "
            "no further validation rules will be run"
        )
    expression = json.dumps(rule.plain["messageExpression"], ensure_ascii=False)
    text = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
    return f"{text}: {expression}"


def _failed(why: str, rule: Rule) -> str:
    if why.startswith("no such overload"):
        # Only values without a type get here: the others were checked when the rule was defined.
        text = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{why}': {text}: {rule.shown}"
    return f"{why} evaluating rule: {rule.shown}"


def _rooted(plain: dict[str, Any]) -> dict[str, Any]:
    """Return an object as rules see it: of the metadata only the names."""
    metadata = plain.get("metadata") or {}
    shown = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
    return {**plain, "metadata": shown}
