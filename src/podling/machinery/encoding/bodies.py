"""The body of a request, read into plain data: JSON or YAML, malformed or hostile ones refused.

What a client sends is limited before anything else looks at it: nesting is bounded, YAML aliases
may not blow a small text up into a large value, and a key that an object names twice is noted, for
the field validation of the request to judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from podling.machinery.encoding import jsonscan
from podling.machinery.encoding.body_limits import VALUES_MAX, check_json
from podling.machinery.encoding.plain import json_type
from podling.machinery.errors import ApiError, bad_request, unsupported_media_type

JSON = "application/json"
YAML = "application/yaml"
ACCEPTED = (JSON, YAML)
"""The media types that bodies of objects may have, as error messages list them."""

YAML_ERRORS = "yaml: unmarshal errors:\n"
"""The beginning of what is said of keys that are there more than once in YAML."""

_SUMMARY_LENGTH = 30
_half_character = re.compile(r"\\u[dD][89a-fA-F]").search
_GO_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


class Body(Struct, frozen=True):
    """A request's body: its value, and one text for each key that is there more than once."""

    value: Any
    duplicates: tuple[str, ...] = ()
    text: str = ""
    """The plain data, if it is JSON with such keys: it has their order."""


def read_body(data: bytes, content_type: str = JSON, kind: str = "", values_max: int = VALUES_MAX) -> Body:
    """Read ``data`` as its media type says; ``kind`` is what was expected, for messages.

    Media types that end in ``+json`` or ``+yaml`` (patches) are read like plain ones. Raises
    ``ApiError``: 415 for other media types, 400 for malformed data, 413 for too many values.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if not media_type.endswith("yaml"):
        check_json(data, values_max)
    if media_type in ("", JSON):
        return _read_json(data, partial(_refused, data, kind), kind)
    if media_type.endswith("+json"):
        looked_at = "" if media_type.startswith("application/strategic-") else "error decoding patch: "
        return _read_json(data, lambda message: bad_request(looked_at + message))
    if media_type == YAML or media_type.endswith("+yaml"):
        return _read_yaml(data, kind, values_max)
    raise unsupported_media_type(ACCEPTED)


def _refused(data: bytes, kind: str, message: str) -> ApiError:
    subject = f"the object provided is unrecognized (must be of type {kind}): " if kind else ""
    shown = f" ({summary(data)})" if kind else ""
    return bad_request(f"{subject}couldn't get version/kind; json parse error: {message}{shown}")


def _no_yaml(data: bytes, kind: str, message: str) -> ApiError:
    """Return the error for a body that is no YAML; that of an apply names no kind."""
    if not kind:
        return bad_request(f"error decoding YAML: error converting YAML to JSON: {message}")
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {message} ({summary(data)})"
    )


def summary(data: bytes) -> str:
    """Return the beginning of a body as error messages show it: text if it looks like JSON, else in hex."""
    if not data:
        return "<empty>"
    start = data[:_SUMMARY_LENGTH]
    shown = start.decode(errors="replace") if data.startswith(b"{") else start.hex()
    return shown + " ..." if len(data) > _SUMMARY_LENGTH else shown


class _RepeatedKey(Exception):
    """An object names a key twice."""


def _built(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise _RepeatedKey
    return built


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


_parse = json.JSONDecoder(object_pairs_hook=_built, parse_constant=_refuse_constant).decode
_parse_lenient = json.JSONDecoder(parse_constant=_refuse_constant).decode
"""Of a key that comes twice the last value counts."""


_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode


_SPACE = b" \t\r\n"


def _read_plainly(data: bytes) -> Any:
    """The value of JSON as most clients write it: no escapes, and every key once. None for all other data.

    Such a text is what its value is written as, so that nothing can have been lost or changed in reading it.
    Go's clients write no space, Python's do: without any space, also that in strings, both texts still have
    the same tokens in the same order.
    """
    text = data.rstrip(b"\n")
    try:
        value = _decode(text)
        written = _encode(value)
    except (ValueError, RecursionError):
        return None
    same = written == text or written.translate(None, _SPACE) == text.translate(None, _SPACE)
    return value if same else None


def _read_json(data: bytes, refused: Callable[[str], ApiError], kind: str = "") -> Body:
    if data.count(b"{") + data.count(b"[") <= jsonscan.MAX_DEPTH:
        value = _read_plainly(data)
        if value is not None:
            _check_object(value, data, kind)
            return Body(value)
    # Go reads bytes that are no UTF-8 as the replacement character; so do we.
    text = data.decode(errors="replace")
    repeated = False
    try:
        try:
            value = _parse(text)
        except _RepeatedKey:
            value, repeated = _parse_lenient(text), True
    except RecursionError:
        raise refused(jsonscan.TOO_DEEP) from None
    except ValueError as error:
        raise refused(jsonscan.complaint(text) or str(error)) from None
    if too_deep(value, data.count(b"{") + data.count(b"[")):
        raise refused(jsonscan.TOO_DEEP)
    _check_object(value, data, kind)
    if _half_character(text):
        value = _whole_characters(value)
    if not repeated:
        return Body(value)
    return Body(value, tuple(jsonscan.strict_reports(text)), text)


def _whole_characters(value: Any) -> Any:
    """The value with every half of a surrogate pair replaced, as Go reads it: it is no text otherwise."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return [_whole_characters(item) for item in value] if isinstance(value, list) else value


def _check_object(value: Any, data: bytes, kind: str) -> None:
    if kind and value is not None and not isinstance(value, dict):
        raise _refused(
            data, kind, f"json: cannot unmarshal {json_type(value)} into Go value of type {_GO_META}"
        )


def too_deep(value: Any, openers: int) -> bool:
    """Return whether ``value``, made of at most ``openers`` objects and arrays, nests beyond the limit."""
    if openers <= jsonscan.MAX_DEPTH:
        return False
    level = [value]
    for _ in range(jsonscan.MAX_DEPTH + 1):
        following: list[Any] = []
        for each in level:
            inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
            following += [item for item in inner if isinstance(item, dict | list)]
        if not following:
            return False
        level = following
    return True


def _read_yaml(data: bytes, kind: str, values_max: int) -> Body:
    if data.lstrip()[:1] == b"{":
        check_json(data, values_max)
        # kubectl sends JSON as YAML when it applies; the short way usually does.
        try:
            body = _read_json(data, partial(_refused, data, kind), kind)
        except ApiError:
            pass
        else:
            if not body.duplicates:
                return body
    from podling.machinery.encoding import yamlread

    try:
        value, duplicates = yamlread.load(data, values_max)
    except yamlread.YamlError as error:
        raise _no_yaml(data, kind, str(error)) from None
    _check_object(value, data, kind)
    if not duplicates:
        return Body(value)
    return Body(value, (YAML_ERRORS + "\n".join(f"  {each}" for each in duplicates),))


def warnings_of(report: str) -> list[str]:
    """A report as warnings: what is said of YAML is one text of several lines, and several warnings."""
    if not report.startswith(YAML_ERRORS):
        return [report]
    return [line.strip() for line in report.removeprefix(YAML_ERRORS).split("\n")]
