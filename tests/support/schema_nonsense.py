"""Bodies made from nothing but a published OpenAPI document: what fits a schema, or nearly does."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random  # noqa: TID251 (seeded: the same nonsense every time)
from typing import Any

from tests.support.nonsense import NUMBERS, QUANTITIES, TIMES, WORDS

Schema = Mapping[str, Any]

WRONG: tuple[Any, ...] = (None, True, -1, 1.5, "", "x", [], {}, [{}], {"a": 1})
"""What may stand where the schema says something else."""


class Bodies:
    """``definitions``: those of a version 2 document."""

    def __init__(self, random: Random, definitions: Mapping[str, Schema]) -> None:
        self._random, self._definitions = random, definitions
        self._wrong = 0.0

    def body(self, schema: Schema) -> Any:
        """Many or few of an object's properties, fewer the deeper they are; some bodies fit in all places."""
        self._wrong = self._random.choice((0.0, 0.0, 0.02, 0.1))
        return self._value(schema, self._random.choice((0.1, 0.3, 0.7)), 8)

    def _value(self, schema: Schema, share: float, depth: int) -> Any:
        random = self._random
        if random.random() < self._wrong:
            return random.choice(WRONG)
        if "$ref" in schema:
            return self._value(self._definitions[schema["$ref"].rpartition("/")[2]], share, depth)
        if schema.get("enum"):
            return random.choice(("other",) if random.random() < self._wrong else schema["enum"])
        match schema.get("type"):
            case "object":
                return self._object(schema, share, depth)
            case "array":
                count = random.choice((0, 1, 2, 3)) if depth else 0
                return [self._value(schema.get("items", {}), share, depth - 1) for _ in range(count)]
            case "string":
                words = WORDS if random.random() < 0.5 else ("a", "web", "main")
                return random.choice(TIMES if schema.get("format") == "date-time" else words)
            case "integer":
                return random.choice(NUMBERS)
            case "number":
                return random.choice((0, 0.5, -1e300, 7))
            case "boolean":
                return random.random() < 0.5
            case _:
                return random.choice((*WRONG, *QUANTITIES, 3))

    def _object(self, schema: Schema, share: float, depth: int) -> dict[str, Any]:
        random, found = self._random, dict[str, Any]()
        for name, inner in schema.get("properties", {}).items():
            needed = name in schema.get("required", ()) and random.random() < 0.95
            if depth and (needed or random.random() < share):
                found[name] = self._value(inner, share * 0.9, depth - 1)
        inner = schema.get("additionalProperties")
        if isinstance(inner, dict) and depth:
            keys = random.sample(WORDS if self._wrong else ("a", "web", "main"), random.choice((0, 1, 2)))
            found |= {key: self._value(inner, share, depth - 1) for key in keys}
        if random.random() < self._wrong:
            found[random.choice(WORDS)] = random.choice(WRONG)
        return found
