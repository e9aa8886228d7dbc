"""Patches over plain data: JSON patch, JSON merge patch, and strategic merge patch by the types.

Each is a function from a document and a patch to the new document; neither argument is changed,
and the result shares nothing with them. With ``fresh`` the document belongs to the caller alone and is
used up: the result may have its parts. What a patch may do is decided by its own format alone:
whether the result is a good object is for decoding, admission and validation to say.

Failures are the ``ApiError`` that the API server answers: 400 for something that is no patch, 422 for
a patch that does not fit the document. Server-side apply lives in ``machinery.patches.apply``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from podling.machinery import fields
from podling.machinery.encoding import intake
from podling.machinery.encoding.bodies import Body
from podling.machinery.encoding.mismatch import Mismatch
from podling.machinery.encoding.plain import copied, equal, go_text, json_type
from podling.machinery.errors import ApiError, bad_request, invalid, too_large, unfit_patch
from podling.machinery.patches.strategic import strategic_merge_patch

__all__ = ["json_patch", "merge_patch", "patched_object", "strategic_merge_patch"]

T = TypeVar("T")

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""Bytes of JSON that the ``copy`` operations of one patch may add in all."""
MAX_DIGITS = 18
_index = re.compile(r"[+-]?[0-9]+").fullmatch


def patched_object(
    result: Any, type_: type[T], field_validation: str = "Warn", strategic: Any = None
) -> tuple[T, list[str]]:
    """Return the object that a patch led to, and the warnings to send (see ``intake.convert``).

    ``result`` is plain data, or a ``Body`` with the keys that the patch named twice. ``strategic`` is the
    patch if it was a strategic merge patch: then the error shows it, else the result. Raises ``ApiError``
    422: what was sent could be read, what came of it is no such object.
    """
    body = result if isinstance(result, Body) else Body(result)
    try:
        return intake.read(body, type_, field_validation, inside_first=strategic is not None)
    except Mismatch as error:
        if strategic is None:
            shown, why = msgspec.json.encode(body.value).decode(), str(error)
        else:
            shown, why = go_text(strategic), error.restored
        raise invalid("", "", "", [fields.invalid(fields.Path("patch"), shown, why)]) from None


_GO_TYPES = {"array": "[]handlers.jsonPatchOp", "object": "map[string]interface {}"}
_OPERATION = ("op", "path", "from", "value")
_TEXTS = ("op", "path", "from")


def check_decodes(patch: Any, expected: str) -> None:
    """400 where a patch is looked at for fields said twice, and is not even an ``array`` or ``object``."""
    if expected == "object" and type(patch) is dict:
        return
    if wrong := next(_undecodable(patch, expected), None):
        found, wanted = wrong
        raise bad_request(f"error decoding patch: json: cannot unmarshal {found} into Go {wanted}")


def _undecodable(patch: Any, expected: str) -> Iterator[tuple[str, str]]:
    """Yield the JSON type found, and the Go type expected in its place."""
    if (found := json_type(patch)) not in (expected, "null"):
        yield found, f"value of type {_GO_TYPES[expected]}"
    for operation in patch if expected == found == "array" else ():
        if (found := json_type(operation)) not in ("object", "null"):
            yield found, "value of type handlers.jsonPatchOp"
        for name, value in operation.items() if found == "object" else ():
            if name in _TEXTS and (found := json_type(value)) not in ("string", "null"):
                yield found, f"struct field jsonPatchOp.{name} of type string"


def strict_reports(operations: Any, duplicates: tuple[str, ...]) -> tuple[str, ...]:
    """Return the unknown and duplicate fields of a JSON patch."""
    strange = (
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations if isinstance(operations, list) else ())
        for name in (operation if isinstance(operation, dict) else ())
        if name not in _OPERATION
    )
    return tuple(f"json patch {each}" for each in (*strange, *duplicates))


def merge_patch(plain: Any, patch: Any, *, fresh: bool = False) -> Any:
    """Apply RFC 7386: objects merge, null deletes, everything else replaces. Raises ``ApiError`` 400."""
    if not isinstance(patch, dict):
        raise bad_request("Invalid JSON Patch")
    return _merged(plain if fresh else copied(plain), patch)


def _merged(plain: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copied(patch)
    old = plain if isinstance(plain, dict) else {}
    result = {key: value for key, value in old.items() if key not in patch}
    for key, value in patch.items():
        if value is not None:
            result[key] = _merged(old.get(key), value)
    return result


class _Inapplicable(Exception):
    """An operation that the document does not allow; the text is upstream's."""


class _TestFailed(_Inapplicable):
    """The document is not what the patch is for."""


_MISSING_VALUE = "missing value"
_INVALID_INDEX = "invalid index referenced"


def json_patch(plain: Any, operations: Any, *, tested: bool = False, fresh: bool = False) -> Any:
    """Apply RFC 6902: the operations one after the other, all or nothing.

    Read as Kubernetes' library (``evanphx/json-patch`` 4) reads it: what is before the first slash of a path
    does not matter; indices may count from behind; ``replace`` puts a key where none is, ``copy`` copies one
    that is not there as null, and only ``test`` and ``replace`` know the whole document.

    ``tested``: a document that fails a test of the patch stays as it is, and that is no error.

    Raises ``ApiError``: 400 if ``operations`` is not a list of operations, 413 if there are too many,
    422 if one of them cannot be done.
    """
    if operations is None:
        return copied(plain)
    if not isinstance(operations, list):
        raise _no_patch(operations, "jsonpatch.Patch")
    for each in operations:
        if not isinstance(each, dict) and each is not None:
            raise _no_patch(each, "jsonpatch.Operation")
    if len(operations) > MAX_OPERATIONS:
        raise too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    document, copies = plain if fresh else copied(plain), _Copies()
    try:
        for operation in operations:
            document = _performed(document, operation or {}, copies)
    except _Inapplicable as error:
        if tested and isinstance(error, _TestFailed):
            return plain
        raise unfit_patch(str(error)) from None
    return document


def _no_patch(found: Any, wanted: str) -> ApiError:
    return bad_request(f"json: cannot unmarshal {json_type(found)} into Go value of type {wanted}")


class _Copies:
    """The values that the ``copy`` operations of a patch make, limited in all: each may double a document."""

    def __init__(self) -> None:
        self._bytes = 0

    def of(self, value: Any) -> Any:
        """Return a copy of ``value``. Raises ``_Inapplicable`` beyond the limit, and copies nothing."""
        self._bytes += 0 if value is None else len(msgspec.json.encode(value))
        if self._bytes > MAX_COPIED_BYTES:
            raise _Inapplicable(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._bytes}, exceeding the limit {MAX_COPIED_BYTES}"
            )
        return copied(value)


def _performed(document: Any, operation: dict[str, Any], copies: _Copies) -> Any:
    """Return the document after an operation, which may have changed it in place."""
    verb = operation.get("op")
    match verb:
        case "add":
            path = _path(operation, "path", verb, _MISSING_VALUE)
            container, step = _found(
                document, path, f'{verb} operation does not apply: doc is missing path: "{path}"'
            )
            _add(container, step, copied(operation.get("value")), f"error in add for path: '{path}'")
        case "remove":
            path = _path(operation, "path", verb, _MISSING_VALUE)
            container, step = _found(
                document, path, f'{verb} operation does not apply: doc is missing path: "{path}"'
            )
            _remove(container, step, f"error in remove for path: '{path}'")
        case "replace":
            return _replaced(document, operation)
        case "move":
            _move(document, operation)
        case "copy":
            _copy(document, operation, copies)
        case "test":
            _test(document, operation)
        case _:
            raise _Inapplicable(f"Unexpected kind: {verb if isinstance(verb, str) else 'unknown'}")
    return document


def _path(operation: dict[str, Any], field: str, verb: str, why: str = "") -> str:
    """The path that an operation names in ``field``; ``why`` if that is all that is said when it does not."""
    found = operation.get(field)
    if isinstance(found, str):
        return found
    if not why:
        why = f"operation{'' if field == 'path' else ','} missing {field} field: {_MISSING_VALUE}"
        if found is not None:
            why = f"json: cannot unmarshal {json_type(found)} into Go value of type string"
    raise _Inapplicable(f"{verb} operation failed to decode {field}: {why}")


def _found(document: Any, path: str, missing: str) -> tuple[Any, str]:
    """Return the object or list that has the last step of a path, and that step."""
    _, *steps = (step.replace("~1", "/").replace("~0", "~") for step in path.split("/"))
    value = document if steps else None
    for step in steps[:-1]:
        try:
            value = _get(value, step)
        except _Inapplicable:
            value = None
        if not isinstance(value, dict | list):
            break
    if not isinstance(value, dict | list):
        raise _Inapplicable(f"{missing}: {_MISSING_VALUE}")
    return value, steps[-1]


def _get(container: Any, step: str) -> Any:
    """Return the value; None for a missing key."""
    return container.get(step) if isinstance(container, dict) else container[_position(step, len(container))]


def _position(step: str, size: int) -> int:
    """Return the place that a step names in a list; one below zero counts from behind."""
    place = _number(step)
    if not -size <= place < size:
        raise _Inapplicable(f"Unable to access invalid index: {place}: {_INVALID_INDEX}")
    return place % size


def _number(step: str) -> int:
    if not _index(step):
        raise _Inapplicable(f"strconv.Atoi: parsing {json.dumps(step)}: invalid syntax")
    if len(step) > MAX_DIGITS:
        raise _Inapplicable(f"strconv.Atoi: parsing {json.dumps(step)}: value out of range")
    return int(step)


def _add(container: Any, step: str, value: Any, what: str) -> None:
    if isinstance(container, dict):
        container[step] = value
        return
    try:
        place = len(container) if step == "-" else _position(step, len(container) + 1)
    except _Inapplicable as error:
        improper = "" if _index(step) else f"value was not a proper array index: '{step}': "
        raise _Inapplicable(f"{what}: {improper}{error}") from None
    container.insert(place, value)


def _remove(container: Any, step: str, what: str) -> None:
    if isinstance(container, dict) and step not in container:
        raise _Inapplicable(f"{what}: Unable to remove nonexistent key: {step}: {_MISSING_VALUE}")
    with _about(what):
        del container[step if isinstance(container, dict) else _position(step, len(container))]


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Says of an error what was being done."""
    try:
        yield
    except _Inapplicable as error:
        raise _Inapplicable(f"{what}: {error}") from None


def _replaced(document: Any, operation: dict[str, Any]) -> Any:
    path, value = _path(operation, "path", "replace"), copied(operation.get("value"))
    if not path:
        if not isinstance(value, dict | list):
            raise _Inapplicable("replace operation value must be object or array: %!w(<nil>)")
        return value
    what = "replace operation does not apply: doc is missing"
    container, step = _found(document, path, f"{what} path: {path}")
    if isinstance(container, list):
        try:
            container[_position(step, len(container))] = value
        except _Inapplicable:
            raise _Inapplicable(f"{what} key: {path}: {_MISSING_VALUE}") from None
    else:
        container[step] = value
    return document


def _move(document: Any, operation: dict[str, Any]) -> None:
    source = _path(operation, "from", "move")
    container, step = _found(
        document, source, f"move operation does not apply: doc is missing from path: {source}"
    )
    with _about(f"error in move for path: '{step}'"):
        value = _get(container, step)
    _remove(container, step, f"error in move for path: '{step}'")
    path = _path(operation, "path", "move")
    container, step = _found(
        document, path, f"move operation does not apply: doc is missing destination path: {path}"
    )
    _add(container, step, value, f"error in move for path: '{path}'")


def _copy(document: Any, operation: dict[str, Any], copies: _Copies) -> None:
    source = _path(operation, "from", "copy")
    container, step = _found(
        document, source, f"copy operation does not apply: doc is missing from path: {source}"
    )
    with _about(f"error in copy for from: '{source}'"):
        value = _get(container, step)
    path = _path(operation, "path", "copy", _MISSING_VALUE)
    container, step = _found(
        document, path, f"copy operation does not apply: doc is missing destination path: {path}"
    )
    _add(container, step, copies.of(value), "error while adding value during copy")


def _test(document: Any, operation: dict[str, Any]) -> None:
    path, expected = _path(operation, "path", "test"), operation.get("value")
    found = document
    if path:
        container, step = _found(document, path, f"test operation does not apply: is missing path: {path}")
        with _about(f"error in test for path: '{path}'"):
            found = _get(container, step)
    if not equal(found, expected):
        raise _TestFailed(f"testing value {path} failed: test failed")
