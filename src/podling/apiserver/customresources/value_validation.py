"""Validation of data against its schema, with Kubernetes' messages. Pure.

The messages are those of ``kube-openapi/pkg/validation`` as
``apiextensions-apiserver/pkg/apiserver/validation`` turns them into field errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from podling.apiserver.cel.patterns import pattern as compiled
from podling.apiserver.customresources.structural import INT_OR_STRING
from podling.machinery import fields, formats
from podling.machinery.encoding.plain import equal
from podling.machinery.fields import ErrorType, FieldError, Path

Errors = list[FieldError]
Plain = Mapping[str, Any]


ABSENT: Any = object()
"""The value before, where there was none that this one could be compared with."""


def validate(value: Any, schema: Plain, path: str = "", old: Any = ABSENT) -> Errors:
    """Return the errors of ``value`` at ``path``. The schema is plain data.

    ``old``: the value before the change. Unchanged values may stay invalid.
    """
    if old is not ABSENT and equal(value, old):
        return []
    errors = _type_error(value, schema, path)
    if value is None:
        return errors + _enum_errors(value, schema, path)
    errors += _junctor_errors(value, schema, path)
    if isinstance(value, str):
        errors += _string_errors(value, schema, path)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, int | float):
        errors += _number_errors(value, schema, path)
    elif isinstance(value, list):
        errors += _list_errors(value, schema, path, old)
    errors += _enum_errors(value, schema, path)
    return errors + _object_errors(value, schema, path, old) if isinstance(value, dict) else errors


def type_name(value: Any) -> str:
    """Return OpenAPI's name for the type of a JSON value."""
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
    else:
        return []
    found = type_name(value)
    if found in wanted or (found == "integer" and "number" in wanted):
        return []
    if value is None and schema.get("nullable"):
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
    if pattern and not compiled(pattern).search(value):
        errors.append(_invalid(path, value, f"should match '{pattern}'"))
    named = schema.get("format")
    if named and not formats.matches(named, value):
        errors.append(_type_invalid(path, value, f"must be of type {named}: {json.dumps(value)}"))
    return errors


def _number(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _number_errors(value: float, schema: Plain, path: str) -> Errors:
    errors: Errors = []
    most, least, step = (schema.get(name) for name in ("maximum", "minimum", "multipleOf"))
    if step and not (value / step).is_integer():
        errors.append(_invalid(path, value, f"should be a multiple of {_number(step)}"))
    if least is not None:
        strict = bool(schema.get("exclusiveMinimum"))
        if value < least or (strict and value == least):
            words = "greater than" if strict else "greater than or equal to"
            errors.append(_invalid(path, value, f"should be {words} {_number(least)}"))
    if most is not None:
        strict = bool(schema.get("exclusiveMaximum"))
        if value > most or (strict and value == most):
            words = "less than" if strict else "less than or equal to"
            errors.append(_invalid(path, value, f"should be {words} {_number(most)}"))
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
    return errors


def item_key(item: Any, schema: Plain) -> Any:
    """Return the key that correlates an item of a list of type ``map`` with its former value."""
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if not isinstance(item, dict) or not keys:
        return ABSENT
    return tuple(str(item.get(key)) for key in keys)


def items_by_key(old: Any, schema: Plain) -> dict[Any, Any]:
    """Return the items of a list before a change; nothing for lists whose items have no keys."""
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {item_key(item, schema): item for item in old}


def _object_errors(value: dict[str, Any], schema: Plain, path: str, old: Any) -> Errors:
    """Return the fields of an object that has as many as it may; of another one just how many it has."""
    most, least = schema.get("maxProperties"), schema.get("minProperties")
    if least is not None and len(value) < least:
        return [_invalid(path, len(value), f"should have at least {least} properties")]
    if most is not None and len(value) > most:
        return [fields.too_many(Path(path), len(value), most)]
    errors: Errors = []
    before = old if isinstance(old, dict) else {}
    properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, item in value.items():
        inner = properties.get(name, more if isinstance(more, dict) else None)
        if inner is not None:
            errors += validate(item, inner, below(path, name), before.get(name, ABSENT))
        elif more is False:
            text = f"{path}.{name} in body is a forbidden property"
            errors.append(fields.invalid(Path(path), name, text))
    for name in schema.get("required") or ():
        if name not in value:
            errors.append(fields.required(Path(below(path, name))))
    return errors


def below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _junctor_errors(value: Any, schema: Plain, path: str) -> Errors:
    """``anyOf``, ``oneOf``, ``allOf`` and ``not``; they complain of the object as a whole."""
    errors: Errors = []
    at = json.dumps(path)
    any_of, one_of, all_of, negated = (schema.get(name) for name in ("anyOf", "oneOf", "allOf", "not"))
    if any_of:
        tries = _tries(value, any_of, path)
        if all(tries):
            errors.append(_whole(f"{at} must validate at least one schema (anyOf)"))
            errors += _nearest(value, any_of, tries)
    if one_of:
        tries = _tries(value, one_of, path)
        valid = sum(not each for each in tries)
        if valid != 1:
            found = "Found none valid" if not valid else f"Found {valid} valid alternatives"
            errors.append(_whole(f"{at} must validate one and only one schema (oneOf). {found}"))
            errors += _nearest(value, one_of, tries) if not valid else []
    if all_of:
        tries = [validate(value, each, path) for each in all_of]
        errors += [error for each in tries for error in each]
        if any(tries):
            none = ". None validated" if all(tries) else ""
            errors.append(_whole(f"{at} must validate all the schemas (allOf){none}"))
    if negated is not None and not _tries(value, [negated], path)[0]:
        errors.append(_whole(f"{at} must not validate the schema (not)"))
    return errors


def _tries(value: Any, alternatives: Sequence[Plain], path: str) -> list[Errors]:
    """Return the errors of a value by each alternative; the best alternative counts."""
    with fields.uncounted():
        return [fields.bounded(partial(validate, value, each, path)) for each in alternatives]


def _nearest(value: Any, alternatives: Sequence[Plain], tries: list[Errors]) -> Errors:
    """Return the complaints of the alternative that had most to say of the value, the first of several."""
    weights = [_looked_at(value, each) for each in alternatives]
    return tries[weights.index(max(weights))]


def _looked_at(value: Any, schema: Plain) -> int:
    """Return the number of values that a schema checks."""
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return 1 + sum(_looked_at(each, schema["items"]) for each in value)
    if not isinstance(value, dict):
        return 1
    properties = schema.get("properties") or {}
    return 1 + sum(_looked_at(value[name], each) for name, each in properties.items() if name in value)


def _whole(text: str) -> FieldError:
    return fields.invalid(Path(), "", text)
