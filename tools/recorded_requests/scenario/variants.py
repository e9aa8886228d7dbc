"""Wrong and unusual forms of an object: one field changed, removed, or added at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from tools.recorded_requests.recorder import Json
from tools.recorded_requests.scenario.kinds import copied

Path = tuple[str | int, ...]
UNTOUCHED = ("apiVersion", "kind")
PARTS_OF_OTHERS = (("spec", "template", "spec"), ("template", "spec"), ("spec", "jobTemplate", "spec"))
"""Pod templates: their fields are covered by pods themselves, so only the first level is changed."""
DEPTH = 9
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
TIMES = ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime")
LONG = "x" * 300


def changed_fields(valid: Json) -> Iterator[tuple[str, Json]]:
    """Yield the object with one field removed, emptied, of another type or with a bad value."""
    for path, value in _fields(valid):
        label = _label(path)
        yield f"without {label}", _with(valid, path, None, remove=True)
        for name, other in _replacements(value):
            if other != value:
                yield f"{label} {name}", _with(valid, path, other)


def added_fields(valid: Json, schema: Json, schemas: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the object with one field more, of those that its schema knows, in a plain and in a bad form."""
    for path, field_schema in _missing(valid, schema, schemas, ()):
        for name, value in _samples(field_schema, schemas):
            yield f"with {_label(path)} {name}", _with(valid, path, value)


def _replacements(value: Any) -> list[tuple[str, Any]]:
    match value:
        case bool():
            return [("inverted", not value), ("a text", "yes")]
        case int():
            return [("negative", -1), ("zero", 0), ("huge", 2**40), ("a text", "Bad Value!")]
        case str():
            return [("bad", "Bad Value!"), ("empty", ""), ("long", LONG), ("other", "x"), ("a number", 7)]
        case list():
            return [("empty", []), ("doubled", value + value), ("an object", {"a": "b"}), ("null", [None])]
        case dict():
            return [("empty", {}), ("with unknown", {**value, "unknown": 1}), ("a text", "x"), ("null", None)]
    return []


def _fields(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path and not (len(path) == 1 and path[0] in UNTOUCHED):
        yield path, value
    if any(path[-len(part) - 1 : -1] == part for part in PARTS_OF_OTHERS):
        return
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _fields(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _fields(each, (*path, number))


def _missing(
    value: Any, schema: Json, schemas: Mapping[str, Json], path: Path
) -> Iterator[tuple[Path, Json]]:
    """Yield the path and the schema of each field that the value has not, next to those that it has."""
    schema = resolved(schema, schemas)
    if len(path) > DEPTH or any(path[-len(part) :] == part for part in PARTS_OF_OTHERS):
        return
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _missing(each, schema.get("items", {}), schemas, (*path, number))
    if not isinstance(value, dict):
        return
    for name, inner in schema.get("properties", {}).items():
        if path == () and name in UNTOUCHED:
            continue
        if name in value:
            yield from _missing(value[name], inner, schemas, (*path, name))
        else:
            yield (*path, name), inner


def _samples(schema: Json, schemas: Mapping[str, Json]) -> list[tuple[str, Any]]:
    plain, bad = _sample(schema, schemas, "plain", 3), _sample(schema, schemas, "bad", 3)
    found = [("plain", plain)]
    if bad != plain:
        found.append(("bad", bad))
    if isinstance(plain, dict) and plain:
        found.append(("empty", {}))
    if isinstance(plain, list):
        found.append(("of empties", [{} if isinstance(plain[0], dict) else ""]) if plain else ("empty", []))
    return found


def _sample(schema: Json, schemas: Mapping[str, Json], form: str, depth: int) -> Any:
    """Return a value of a schema; a bad one has the right type and values that no field allows."""
    is_plain = form == "plain"
    name = reference(schema)
    if name == QUANTITY:
        return "1" if is_plain else "-1"
    if name == INT_OR_STRING:
        return 1 if is_plain else "150%"
    if name in TIMES:
        return "2020-01-01T00:00:00Z" if name == TIMES[0] else "2020-01-01T00:00:00.000000Z"
    schema = resolved(schema, schemas)
    if schema.get("enum"):
        return schema["enum"][0] if is_plain else "Bad"
    match schema.get("type"):
        case "string":
            return "eA==" if schema.get("format") == "byte" else "x" if is_plain else "Bad Value!"
        case "integer" | "number":
            return 1 if is_plain else -1
        case "boolean":
            return is_plain
        case "array":
            one = _sample(schema.get("items", {}), schemas, form, depth - 1)
            return [one] if is_plain else [one, one]
        case "object" if "properties" in schema and depth > 0:
            inner = schema["properties"]
            wanted = list(inner) if not is_plain else schema.get("required") or list(inner)[:1]
            return {key: _sample(inner[key], schemas, form, depth - 1) for key in wanted if key in inner}
        case "object" if isinstance(schema.get("additionalProperties"), dict) and depth > 0:
            one = _sample(schema["additionalProperties"], schemas, form, depth - 1)
            return {"a" if is_plain else "Bad Key!": one}
    return {}


def reference(schema: Json) -> str:
    """Return the name of the schema that is meant, if it is another one."""
    for each in (schema, *schema.get("allOf", ())):
        if "$ref" in each:
            return str(each["$ref"]).rpartition("/")[2]
    return ""


def resolved(schema: Json, schemas: Mapping[str, Json]) -> Json:
    """Return the schema that a reference means."""
    name = reference(schema)
    return schemas.get(name, {}) if name else schema


def _with(value: Json, path: Path, new: Any, *, remove: bool = False) -> Json:
    changed = copied(value)
    holder: Any = changed
    for step in path[:-1]:
        holder = holder[step]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = copy.deepcopy(new)
    return changed  # type: ignore[no-any-return]


def _label(path: Path) -> str:
    return ".".join(map(str, path))
