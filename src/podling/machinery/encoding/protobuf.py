"""Kubernetes' protobuf bodies, read into plain data.

Official typed clients send protobuf when they create (``kubectl create``, ``kubectl auth can-i``) and take
JSON as the answer. A body is an envelope (``k8s`` and a zero byte, then ``runtime.Unknown``) around one
message. What comes out is what the same client would have sent as JSON, so everything after decoding is
shared.

Field numbers are data (``protobuf_fields.json``, written by ``tools/gen_protobuf.py``), loaded with the
first such body. A number that is not in the table comes from an older or a newer client. It is skipped
without a warning, as in Kubernetes: field validation looks at JSON and YAML only.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from podling.machinery import errors
from podling.machinery.encoding.body_limits import VALUES_MAX, too_many
from podling.machinery.encoding.codec import Body, read_body
from podling.machinery.scheme import module_of, split_group_version

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
MAX_DEPTH = 300

_META = "k8s.io.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."
_OWN_PACKAGES = {
    "apiextensions.k8s.io/v1": _EXTENSIONS,
    "apiregistration.k8s.io/v1": "k8s.io.kube_aggregator.pkg.apis.apiregistration.v1.",
}
"""The packages of group versions that are not in ``k8s.io.api``."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME = -62135596800
"""The seconds of Go's zero time, which JSON writes as null: the first moment of year 1."""
_INTEGER_BITS = 64
_FIRST_TAG = 1 << 3

Field = tuple[str, str, str]
"""(JSON name, type, how): how is "", "pointer", "repeated" or "inline" (its fields belong to the parent)."""


class Malformed(ValueError):
    """Bytes that are no message."""


@cache
def _tables() -> Mapping[str, Mapping[int, Field]]:
    from importlib import resources

    text = (resources.files("podling.machinery.encoding") / "protobuf_fields.json").read_bytes()
    loaded: dict[str, dict[str, list[str]]] = json.loads(text)
    return {
        name: {int(number): (row[0], row[1], row[2]) for number, row in fields.items()}
        for name, fields in loaded.items()
    }


def read_protobuf(data: bytes, values_max: int = VALUES_MAX) -> Body:
    """Return the object in an enveloped body. Raises 400 for anything else."""
    try:
        if not data.startswith(MAGIC):
            raise Malformed(
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
            )
        envelope = dict(_raw_fields(data[len(MAGIC) :]))
        about = {number: value.decode() for number, value in _raw_fields(envelope.get(1, b""))}
        version, kind = about.get(1, ""), about.get(2, "")
        plain = _message(_message_name(version, kind), envelope.get(2, b""), _Limits(values_max))
    except (ValueError, OverflowError, AttributeError, TypeError, struct.error) as error:
        raise errors.bad_request(f"the body of the request is not protobuf: {error}") from None
    return Body({"apiVersion": version, "kind": kind, **plain})


def _message_name(api_version: str, kind: str) -> str:
    """Return the full name of a kind's message."""
    package = _OWN_PACKAGES.get(api_version) or f"k8s.io.api.{_package(api_version)}."
    for name in (_META + kind, package + kind):
        if name in _tables():
            return name
    raise Malformed(f'no kind "{kind}" is registered for version "{api_version}"')


def _package(api_version: str) -> str:
    group, version = split_group_version(api_version)
    return module_of(group, version).rpartition(".")[2].removesuffix(f"_{version}") + f".{version}"


class _Limits:
    """Counts the values of one body."""

    def __init__(self, values_max: int) -> None:
        self._max = self._left = values_max

    def take(self) -> None:
        """Count a value. Raises 413 for more than a body may hold."""
        self._left -= 1
        if self._left < 0:
            raise too_many(self._max)


def _message(name: str, data: bytes, limits: _Limits, depth: int = 0) -> Any:
    """One message as plain data. Numbers that its table does not have are skipped."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(data)
    if depth > MAX_DEPTH:
        raise Malformed("exceeded max depth")
    table = _tables()[name]
    found: dict[str, Any] = {}
    for number, value in _raw_fields(data):
        field = table.get(number)
        if field is None:
            continue
        limits.take()
        json_name, kind, how = field
        if not how and kind in _SCALARS and not value:
            continue  # Go writes zero values too; only behind a pointer do they say anything
        if kind in _SCALARS:
            decoded: Any = _scalars(kind, value) if how == "repeated" else [_SCALARS[kind](value)]
        else:
            decoded = [_message(kind, value, limits, depth + 1)]
        _add(found, json_name, decoded, kind, how)
    union = _UNIONS.get(name)
    return found if union is None else union(found)


def _add(found: dict[str, Any], name: str, decoded: list[Any], kind: str, how: str) -> None:
    """Put a field's value where JSON has it."""
    if how == "inline":
        found.update(decoded[0])
    elif how != "repeated":
        found[name] = decoded[0]
    elif _is_map(kind):
        entry = decoded[0]
        found.setdefault(name, {})[entry.get("key", "")] = entry.get("value", _empty_value(kind))
    else:
        found.setdefault(name, []).extend(decoded)


@cache
def _is_map(kind: str) -> bool:
    """Return whether a message is the entry of a map: ``LabelsEntry`` with a key and a value."""
    if not kind.endswith("Entry"):
        return False
    table = _tables().get(kind, {})
    return set(table) == {1, 2} and table[1][0] == "key" and table[2][0] == "value"


def _empty_value(kind: str) -> Any:
    """Return the value of a map entry that is left out because it is empty."""
    value_kind = _tables()[kind][2][1]
    return "" if value_kind in ("string", "bytes") else _message(value_kind, b"", _Limits(VALUES_MAX))


def _raw_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message, undecoded: numbers as int, everything else as bytes."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        if tag < _FIRST_TAG:
            raise Malformed(f"illegal tag {tag >> 3}")
        if wire == 0:
            value: Any
            value, at = _varint(data, at)
        elif wire == 2:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            raise Malformed(f"wire type {wire} is not used by Kubernetes")
        if at > end:
            raise Malformed("unexpected EOF")
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _INTEGER_BITS:
            break
    raise Malformed("unexpected EOF")


def _signed(value: Any) -> int:
    if not isinstance(value, int):
        raise Malformed("a number was expected")
    number: int = value & ((1 << _INTEGER_BITS) - 1)
    return number - (1 << _INTEGER_BITS) if number >= 1 << (_INTEGER_BITS - 1) else number


def _scalars(kind: str, value: Any) -> list[Any]:
    """One element of a repeated field, or many packed into one."""
    if kind not in ("int", "bool") or isinstance(value, int):
        return [_SCALARS[kind](value)]
    packed, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        packed.append(_SCALARS[kind](number))
    return packed


def _double(value: bytes) -> float:
    number: float = struct.unpack("<d", value)[0]
    return number


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "string": lambda value: value.decode(),
    "bytes": lambda value: base64.b64encode(value).decode(),
    "int": _signed,
    "bool": bool,
    "double": _double,
}


def _time(digits: int) -> Callable[[bytes], str | None]:
    def decode(data: bytes) -> str | None:
        parts = dict(_raw_fields(data))
        seconds = _signed(parts.get(1, _ZERO_TIME if not parts else 0))
        microseconds = _signed(parts.get(2, 0)) // 1000 if digits else 0
        if seconds == _ZERO_TIME and not microseconds:
            return None
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
        timespec = "microseconds" if digits else "seconds"
        return moment.replace(tzinfo=None).isoformat(timespec=timespec) + "Z"

    return decode


def _int_or_string(data: bytes) -> int | str:
    parts = dict(_raw_fields(data))
    text: bytes = parts.get(3, b"")
    return text.decode() if parts.get(1) else _signed(parts.get(2, 0))


def _quantity(data: bytes) -> str:
    text: bytes = dict(_raw_fields(data)).get(1, b"")
    return text.decode() or "0"


def _embedded_json(data: bytes) -> Any:
    text = dict(_raw_fields(data)).get(1, b"")
    return read_body(text).value if text else None


def _items(data: bytes) -> list[str]:
    return [value.decode() for number, value in _raw_fields(data) if number == 1]


_SPECIAL: dict[str, Callable[[bytes], Any]] = {
    f"{_META}Time": _time(0),
    f"{_META}MicroTime": _time(6),
    f"{_META}FieldsV1": _embedded_json,
    f"{_META}Verbs": _items,
    f"{_EXTENSIONS}JSON": _embedded_json,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _embedded_json,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _quantity,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "k8s.io.api.authentication.v1.ExtraValue": _items,
    "k8s.io.api.authorization.v1.ExtraValue": _items,
    "k8s.io.api.certificates.v1.ExtraValue": _items,
}
"""Messages that JSON writes as something else than an object."""


def _schema_or_list(parts: dict[str, Any]) -> Any:
    return parts.get("jSONSchemas") or parts.get("schema")


def _schema_or_bool(parts: dict[str, Any]) -> Any:
    return parts.get("schema") if "schema" in parts else parts.get("allows", False)


def _schema_or_strings(parts: dict[str, Any]) -> Any:
    return parts.get("property") or parts.get("schema")


_UNIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": _schema_or_list,
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": _schema_or_strings,
}
"""Messages that JSON writes as one of their fields, without its name."""
