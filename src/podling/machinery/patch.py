"""Patches over plain data: JSON patch, JSON merge patch, and strategic merge patch by the types.

Each is a pure function from a document and a patch to the new document; neither argument is changed,
and the result shares nothing with them. What a patch may do is decided by its own format alone:
whether the result is a good object is for decoding, admission and validation to say.

Failures are the ``ApiError`` that the API server answers: 400 for something that is no patch, 422 for
a patch that does not fit the document. Server-side apply lives in ``machinery.apply``.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from podling.machinery import fields, intake
from podling.machinery.bodies import Body
from podling.machinery.errors import bad_request, invalid, too_large, unfit_patch
from podling.machinery.mismatch import Mismatch
from podling.machinery.plain import copied, equal, go_text
from podling.machinery.strategic import strategic_merge_patch

__all__ = ["json_patch", "merge_patch", "patched_object", "strategic_merge_patch"]

T = TypeVar("T")

MAX_OPERATIONS = 10_000
_index = re.compile(r"-?(?:0|[1-9][0-9]*)").fullmatch


def patched_object(
    result: Any, type_: type[T], field_validation: str = "Warn", strategic: Any = None
) -> tuple[T, list[str]]:
    """The object that a patch led to, and the warnings to send (see ``intake.convert``).

    ``result`` is plain data, or a ``Body`` with the keys that the patch named twice. ``strategic`` is the
    patch if it was a strategic merge patch: then the error shows it, else the result. Raises ``ApiError``
    422: what was sent could be read, what came of it is no such object.
    """
    body = result if isinstance(result, Body) else Body(result)
    try:
        return intake.read(body, type_, field_validation)
    except Mismatch as error:
        if strategic is None:
            shown, why = msgspec.json.encode(body.value).decode(), str(error)
        else:
            shown, why = go_text(strategic), error.restored
        raise invalid("", "", "", [fields.invalid(fields.Path("patch"), shown, why)]) from None


_GO_TYPES = {"array": "[]handlers.jsonPatchOp", "object": "map[string]interface {}"}


_OPERATION = ("op", "path", "from", "value")


def check_decodes(patch: Any, expected: str) -> None:
    """400 where a patch is looked at for fields said twice, and is not even an ``array`` or ``object``."""
    found = _json_type(patch)
    if found not in (expected, "null"):
        wanted = _GO_TYPES[expected]
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type {wanted}"
        )


def strict_reports(operations: Any, duplicates: tuple[str, ...]) -> tuple[str, ...]:
    """What a JSON patch that is looked at says beside its operations, or says twice."""
    strange = (
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations if isinstance(operations, list) else ())
        for name in (operation if isinstance(operation, dict) else ())
        if name not in _OPERATION
    )
    return tuple(f"json patch {each}" for each in (*strange, *duplicates))


def _json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def merge_patch(plain: Any, patch: Any) -> Any:
    """RFC 7386: objects merge, null deletes, everything else replaces. Raises ``ApiError`` 400."""
    if not isinstance(patch, dict):
        raise bad_request("Invalid JSON Patch")
    return _merged(plain, patch)


def _merged(plain: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copied(patch)
    old = plain if isinstance(plain, dict) else {}
    result = {key: copied(value) for key, value in old.items() if key not in patch}
    for key, value in patch.items():
        if value is not None:
            result[key] = _merged(old.get(key), value)
    return result


class _Inapplicable(Exception):
    """An operation that the document does not allow."""


class _TestFailed(_Inapplicable):
    """The document is not what the patch is for."""


def json_patch(plain: Any, operations: Any, *, tested: bool = False) -> Any:
    """RFC 6902: the operations one after the other, all or nothing.

    ``tested``: a document that fails a test of the patch stays as it is, and that is no error.

    Raises ``ApiError``: 400 if ``operations`` is not a list of operations, 413 if there are too many,
    422 if one of them cannot be done.
    """
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    if len(operations) > MAX_OPERATIONS:
        raise too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    # The document hangs below a root of its own, so that its top is an entry like all others.
    root = {"": copied(plain)}
    try:
        for operation in operations:
            _perform(root, operation)
    except _Inapplicable as error:
        if tested and isinstance(error, _TestFailed):
            return plain
        raise unfit_patch(str(error)) from None
    return root[""]


def _perform(root: dict[str, Any], operation: dict[str, Any]) -> None:
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            _add(root, path, copied(operation.get("value")))
        case "remove":
            _remove(root, path)
        case "replace":
            _get(root, path)
            _replace(root, path, copied(operation.get("value")))
        case "move":
            source = _pointer(operation, "from")
            if path[: len(source)] == source and path != source:
                raise _Inapplicable("a value cannot be moved into itself")
            value = _get(root, source)
            _remove(root, source)
            _add(root, path, value)
        case "copy":
            _add(root, path, copied(_get(root, _pointer(operation, "from"))))
        case "test":
            _test(root, path, operation.get("value"))
        case unknown:
            raise _Inapplicable(f"Unexpected kind: {unknown}")


def _pointer(operation: dict[str, Any], field: str) -> list[str]:
    text = operation.get(field)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise _Inapplicable(f"{operation.get('op')} operation without a usable {field}")
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")]


def _container(root: dict[str, Any], path: list[str]) -> Any:
    """What holds the last step of ``path``."""
    value: Any = root
    for step in path[:-1]:
        value = _entry(value, step)
    return value


def _entry(value: Any, step: str) -> Any:
    if isinstance(value, dict) and step in value:
        return value[step]
    if isinstance(value, list):
        return value[_position(step, len(value) - 1)]
    raise _Inapplicable(f"missing path: {step}")


def _position(step: str, last: int) -> int:
    """The place that a step names; one below zero counts from behind, as in Kubernetes' library."""
    if not _index(step) or not -last - 1 <= int(step[:9]) <= last:
        raise _Inapplicable(f"invalid array index: {step}")
    return int(step) if step[0] != "-" else int(step) + last + 1


def _get(root: dict[str, Any], path: list[str]) -> Any:
    return _entry(_container(root, path), path[-1])


def _add(root: dict[str, Any], path: list[str], value: Any) -> None:
    container, step = _container(root, path), path[-1]
    if isinstance(container, list):
        position = len(container) if step == "-" else _position(step, len(container))
        container.insert(position, value)
    elif isinstance(container, dict):
        container[step] = value
    else:
        raise _Inapplicable(f"missing container: {step}")


def _replace(root: dict[str, Any], path: list[str], value: Any) -> None:
    container, step = _container(root, path), path[-1]
    container[_position(step, len(container) - 1) if isinstance(container, list) else step] = value


def _remove(root: dict[str, Any], path: list[str]) -> None:
    container, step = _container(root, path), path[-1]
    _entry(container, step)
    if len(path) == 1:
        raise _Inapplicable("the whole document cannot be removed")
    del container[_position(step, len(container) - 1) if isinstance(container, list) else step]


def _test(root: dict[str, Any], path: list[str], expected: Any) -> None:
    try:
        found = _get(root, path)
    except _Inapplicable:
        found = None
    if not equal(found, expected):
        raise _TestFailed(f"testing value /{'/'.join(path[1:])} failed: test failed")
