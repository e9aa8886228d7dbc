"""Whether data is what its schema asks for, and what is wrong with it in Kubernetes' words. Pure.

The words are those of ``kube-openapi/pkg/validation`` as ``apiextensions-apiserver/pkg/apiserver/validation``
turns them into field errors. Patterns are RE2, as in Go: no pattern of a user can take for ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from podling.apiserver.customresources.structural import INT_OR_STRING, PRESERVE
from podling.machinery import fields, formats
from podling.machinery.fields import ErrorType, FieldError, Path
from podling.machinery.plain import equal

Errors = list[FieldError]
Plain = Mapping[str, Any]


ABSENT: Any = object()
"""The value before, where there was none that this one could be compared with."""


def validate(value: Any, schema: Plain, path: str = "", old: Any = ABSENT) -> Errors:
    """What is wrong with ``value``; ``path`` is where it is. The schema is plain data.

    ``old``: the value before the change. What has not changed may stay as wrong as it is.
    """
    if value is None and schema.get("nullable"):
        return []
    if old is not ABSENT and equal(value, old):
        return []
    wrong = _type_error(value, schema, path)
    if wrong:
        return wrong
    errors = _enum_errors(value, schema, path)
    if isinstance(value, str):
        errors += _string_errors(value, schema, path)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, int | float):
        errors += _number_errors(value, schema, path)
    elif isinstance(value, list):
        errors += _list_errors(value, schema, path, old)
    elif isinstance(value, dict):
        errors += _object_errors(value, schema, path, old)
    return errors + _junctor_errors(value, schema, path)


def type_name(value: Any) -> str:
    """What OpenAPI calls the type of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _type_error(value: Any, schema: Plain, path: str) -> Errors:
    if schema.get(INT_OR_STRING):
        wanted: tuple[str, ...] = ("integer", "string")
    elif schema.get("type"):
        wanted = (schema["type"],)
    elif value is None and not schema.get(PRESERVE) and schema.get("properties"):
        wanted = ("object",)
    else:
        return []
    found = type_name(value)
    if found in wanted or (found == "integer" and "number" in wanted):
        return []
    shown = ",".join(wanted)
    return [_type_invalid(path, found, f"must be of type {shown}: {json.dumps(found)}")]


def _said(path: str, text: str) -> str:
    return f"{path} in body {text}"


def _type_invalid(path: str, value: Any, text: str) -> FieldError:
    return FieldError(ErrorType.TYPE_INVALID, str(Path(path)), value, _said(path, text))


def _invalid(path: str, value: Any, text: str) -> FieldError:
    return fields.invalid(Path(path), value, _said(path, text))


def _enum_errors(value: Any, schema: Plain, path: str) -> Errors:
    allowed = schema.get("enum")
    if not allowed or any(equal(value, each) for each in allowed):
        return []
    shown = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in allowed]
    return [fields.not_supported(Path(path), value, shown)]


def _string_errors(value: str, schema: Plain, path: str) -> Errors:
    errors: Errors = []
    longest, shortest, pattern = (schema.get(name) for name in ("maxLength", "minLength", "pattern"))
    if longest is not None and len(value) > longest:
        errors.append(fields.too_long(Path(path), longest))
    if shortest is not None and len(value) < shortest:
        errors.append(_invalid(path, value, f"should be at least {shortest} chars long"))
    if pattern and not _pattern(pattern).search(value):
        errors.append(_invalid(path, value, f"should match '{pattern}'"))
    named = schema.get("format")
    if named and not formats.matches(named, value):
        errors.append(_type_invalid(path, value, f"must be of type {named}: {json.dumps(value)}"))
    return errors


@lru_cache(maxsize=1024)
def _pattern(text: str) -> Any:
    import re2  # with the first pattern

    quiet = re2.Options()
    quiet.log_errors = False  # who wrote the pattern is told, nobody else
    return re2.compile(text, quiet)


def pattern_problem(text: str) -> str:
    """Why a pattern cannot be used; empty when it can."""
    import re2

    try:
        _pattern(text)
    except re2.error as error:
        reason = error.args[0]
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return ""


def _number(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _number_errors(value: float, schema: Plain, path: str) -> Errors:
    errors: Errors = []
    most, least, step = (schema.get(name) for name in ("maximum", "minimum", "multipleOf"))
    if most is not None:
        strict = bool(schema.get("exclusiveMaximum"))
        if value > most or (strict and value == most):
            words = "less than" if strict else "less than or equal to"
            errors.append(_invalid(path, value, f"should be {words} {_number(most)}"))
    if least is not None:
        strict = bool(schema.get("exclusiveMinimum"))
        if value < least or (strict and value == least):
            words = "greater than" if strict else "greater than or equal to"
            errors.append(_invalid(path, value, f"should be {words} {_number(least)}"))
    if step and not (value / step).is_integer():
        errors.append(_invalid(path, value, f"should be a multiple of {_number(step)}"))
    bounds = {"int32": 31, "int64": 63}.get(schema.get("format") or "")
    if bounds and schema.get("type") == "integer" and not -(2**bounds) <= value < 2**bounds:
        errors.append(_invalid(path, value, f"must be of type {schema['format']}"))
    return errors


def _list_errors(value: list[Any], schema: Plain, path: str, old: Any) -> Errors:
    errors: Errors = []
    most, least, items = (schema.get(name) for name in ("maxItems", "minItems", "items"))
    if isinstance(items, dict):
        known = items_by_key(old, schema)
        for index, item in enumerate(value):
            before = known.get(item_key(item, schema), ABSENT)
            errors += validate(item, items, f"{path}[{index}]", before)
    if least is not None and len(value) < least:
        errors.append(_invalid(path, len(value), f"should have at least {least} items"))
    if most is not None and len(value) > most:
        errors.append(fields.too_many(Path(path), len(value), most))
    return errors if _had_repeated(old, schema, path) else errors + _repeated(value, schema, path)


def item_key(item: Any, schema: Plain) -> Any:
    """What makes an item of a map of items comparable with its former self."""
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if not isinstance(item, dict) or not keys:
        return ABSENT
    return tuple(str(item.get(key)) for key in keys)


def items_by_key(old: Any, schema: Plain) -> dict[Any, Any]:
    """The items of a list before a change; nothing for lists whose items cannot be told apart."""
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {item_key(item, schema): item for item in old}


def _had_repeated(old: Any, schema: Plain, path: str) -> bool:
    return isinstance(old, list) and bool(_repeated(old, schema, path))


def _repeated(value: list[Any], schema: Plain, path: str) -> Errors:
    """Items that a set or a map of items has twice."""
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if list_type not in ("set", "map"):
        return []
    errors: Errors = []
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        shown = item
        if list_type == "map":
            if not isinstance(item, dict):
                continue
            shown = {key: item[key] for key in keys if key in item}
        identity = msgspec.json.encode(shown, order="sorted")
        if identity in seen:
            errors.append(fields.duplicate(Path(path).index(index), shown))
        seen.add(identity)
    return errors


def _object_errors(value: dict[str, Any], schema: Plain, path: str, old: Any) -> Errors:
    errors: Errors = []
    before = old if isinstance(old, dict) else {}
    properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            errors.append(fields.required(Path(_below(path, name))))
    for name, item in value.items():
        inner = properties.get(name, more if isinstance(more, dict) else None)
        if inner is not None:
            errors += validate(item, inner, _below(path, name), before.get(name, ABSENT))
    most, least = schema.get("maxProperties"), schema.get("minProperties")
    if most is not None and len(value) > most:
        errors.append(fields.too_many(Path(path), len(value), most))
    if least is not None and len(value) < least:
        errors.append(_invalid(path, len(value), f"should have at least {least} properties"))
    if schema.get("x-kubernetes-embedded-resource"):
        errors += [
            fields.required(Path(_below(path, name)), "must not be empty")
            for name in ("apiVersion", "kind")
            if not value.get(name)
        ]
    return errors


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _junctor_errors(value: Any, schema: Plain, path: str) -> Errors:
    """``allOf``, ``anyOf``, ``oneOf`` and ``not``; the last three complain of the object as a whole."""
    errors = [error for each in schema.get("allOf") or () for error in validate(value, each, path)]
    at = json.dumps(path)
    any_of, one_of, negated = (schema.get(name) for name in ("anyOf", "oneOf", "not"))
    if any_of:
        tries = [validate(value, each, path) for each in any_of]
        if all(tries):
            errors.append(_whole(f"{at} must validate at least one schema (anyOf)"))
            errors += _fewest(tries)
    if one_of:
        tries = [validate(value, each, path) for each in one_of]
        valid = sum(not each for each in tries)
        if valid != 1:
            found = "Found none valid" if not valid else f"Found {valid} valid alternatives"
            errors.append(_whole(f"{at} must validate one and only one schema (oneOf). {found}"))
            errors += _fewest(tries) if not valid else []
    if negated is not None and not validate(value, negated, path):
        errors.append(_whole(f"{at} must not validate the schema (not)"))
    return errors


def _fewest(tries: list[Errors]) -> Errors:
    """The complaints of the alternative that came nearest."""
    return min(tries, key=lambda errors: len(errors))


def _whole(text: str) -> FieldError:
    return fields.invalid(Path(), "", text)
