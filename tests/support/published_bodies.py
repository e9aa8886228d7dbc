"""Bodies made from a published OpenAPI document only: valid or almost valid under a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.choices import Choices
from tests.support.nonsense import DATA, MICRO_TIMES, NUMBERS, QUANTITIES, TIMES, WORDS

Schema = Mapping[str, Any]

WRONG: tuple[Any, ...] = (None, True, -1, 1.5, "", "x", [], {}, [{}], {"a": 1})
"""Values that take the place of valid ones."""
PLAIN_WORDS = ("a", "web", "main", "x")
DEPTH = 8
MEANT: dict[str, tuple[Any, ...]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITIES,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": TIMES,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": MICRO_TIMES,
}
"""Definitions whose schemas are weaker than their meaning."""
FORMATS: dict[str, tuple[Any, ...]] = {
    "byte": DATA,
    "date-time": TIMES,
    "int-or-string": (*NUMBERS, "50%", "http", *WORDS),
}


@dataclass
class Body:
    """One body in the making.

    Args:
        definitions: those of a version 2 document.
        wrong: how often to violate a schema.
        complete: with all required fields; else the body is a change of a complete object.
    """

    definitions: Mapping[str, Schema]
    choices: Choices
    wrong: float
    complete: bool

    def value(self, schema: Schema, depth: int = DEPTH) -> Any:
        """Return a value that the schema allows."""
        choices = self.choices
        if self._errs():
            return choices.one_of(WRONG)
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in MEANT:
                return choices.one_of(MEANT[name])
            return self.value(self.definitions[name], depth)
        if schema.get("enum"):
            return choices.one_of(schema["enum"])
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                inner = schema.get("items", {})
                count = choices.one_of((0, 1, 1, 2, 3)) if depth else 0
                return [self.value(inner, depth - 1) for _ in range(count)]
            case "string":
                known = FORMATS.get(schema.get("format", ""))
                return choices.one_of(known or (PLAIN_WORDS if choices.chance(0.4) else WORDS))
            case "integer":
                return choices.one_of(NUMBERS)
            case "number":
                return choices.one_of((0, 0.5, -1e300, 7))
            case "boolean":
                return choices.chance(0.5)
            case _:
                return choices.one_of(({}, *WRONG, *QUANTITIES, 3))

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        choices, found = self.choices, dict[str, Any]()
        if not depth:
            return found
        properties = schema.get("properties", {})
        names = list(properties)
        needed = schema.get("required", ()) if self.complete else ()
        more = [choices.one_of(names) for _ in range(choices.below(5))] if names else []
        for name in dict.fromkeys((*needed, *more)):
            if not self._errs():
                found[name] = self.value(properties.get(name, {}), depth - 1)
        inner = schema.get("additionalProperties")
        if isinstance(inner, dict):
            for _ in range(choices.below(3)):
                key = choices.one_of(WORDS if self.wrong else PLAIN_WORDS)
                found[key] = self.value(inner, depth - 1)
        if self._errs():
            found[choices.one_of(WORDS)] = choices.one_of(WRONG)
        return found

    def _errs(self) -> bool:
        return self.wrong > 0 and self.choices.chance(self.wrong)
