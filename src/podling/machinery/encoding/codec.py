"""Objects to bytes and back: the fast way inside, the careful way at the edge.

Inside, bytes were written by this codec and are trusted: ``decode`` and ``encode`` run at the speed of
msgspec. At the edge, ``read_body`` turns a request's body into plain data and ``convert`` turns plain
data into an object, reporting what Kubernetes reports, in its words (``machinery.encoding.intake``).

Plain data is what JSON knows: dicts, lists, strings, numbers, booleans and None.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from podling.api._zero import null_of_nil
from podling.machinery.encoding import custom
from podling.machinery.encoding.bodies import Body, read_body
from podling.machinery.encoding.intake import convert, trusted_custom
from podling.machinery.encoding.raw_fields import with_raw_fields
from podling.machinery.encoding.shapes import Kind, attributes_of, fields_of, per_type

__all__ = ["Body", "convert", "decode", "encode", "from_plain", "read_body", "to_plain"]

T = TypeVar("T")

_encoder = msgspec.json.Encoder(enc_hook=null_of_nil)
_plain = msgspec.json.Decoder()


@per_type
def _decoder(type_: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def decode(data: bytes, type_: type[T]) -> T:
    """Return the object in ``data``. Unknown fields are skipped: what is stored was checked when it came in.

    Raises ``ApiError`` when the data does not fit the type at all.
    """
    if custom.is_custom(type_):
        return cast(T, trusted_custom(_plain.decode(data), cast("type[Any]", type_)))
    try:
        return cast(T, _decoder(type_).decode(data))
    except msgspec.ValidationError:
        # Other servers write nulls where ours writes nothing; the careful way reads them.
        return convert(_plain.decode(data), type_, "Ignore")[0]


def encode(obj: Any) -> bytes:
    """Return the JSON of an object, absent fields left out."""
    if isinstance(obj, custom.CustomObject):
        return _encoder.encode(obj.plain())
    if getattr(obj, "micro_times", False) and _has_whole_second(obj):
        return _encoder.encode(_with_micro_times(msgspec.to_builtins(obj, enc_hook=null_of_nil), type(obj)))
    return _encoder.encode(obj)


def to_plain(obj: Any) -> Any:
    """Return the object as fresh plain data that may be changed."""
    return _plain.decode(encode(obj))


def from_plain(plain: Any, type_: type[T]) -> T:
    """Return the object of trusted plain data, such as ``to_plain`` gave."""
    if custom.is_custom(type_):
        return cast(T, trusted_custom(plain, cast("type[Any]", type_)))
    try:
        return msgspec.convert(with_raw_fields(plain), type_)
    except msgspec.ValidationError:
        return convert(plain, type_, "Ignore")[0]  # the record of managers elsewhere, as in a template


class _MicroField(NamedTuple):
    """A field that is a micro time, or holds structs with some."""

    name: str
    attribute: str
    struct: type[Any] | None
    """The type of the structs; None for a time."""


@per_type
def _micro_fields(type_: type[Any]) -> tuple[_MicroField, ...]:
    found: list[_MicroField] = []
    for name, shape in fields_of(type_).items():
        inner = shape.element if shape.kind is Kind.LIST else shape
        struct = inner.struct if inner is not None else None
        if shape.micro or getattr(struct, "micro_times", False):
            found.append(_MicroField(name, attributes_of(type_)[name], None if shape.micro else struct))
    return tuple(found)


def _has_whole_second(obj: Any) -> bool:
    """Return whether a micro time of an object has no microseconds: the encoder leaves their digits out."""
    for field in _micro_fields(type(obj)):
        value = getattr(obj, field.attribute)
        if not value:
            continue
        if field.struct is None:
            if not value.microsecond:
                return True
        elif any(map(_has_whole_second, value if isinstance(value, tuple) else (value,))):
            return True
    return False


def _with_micro_times(plain: Any, type_: type[Any]) -> Any:
    """Write all six digits of every micro time: Go's parser refuses a micro time without them."""
    for field in _micro_fields(type_):
        value = plain.get(field.name)
        if not value:
            continue
        if field.struct is None:
            plain[field.name] = value if "." in value else value.replace("Z", ".000000Z")
        else:
            for each in (value,) if isinstance(value, dict) else value:
                _with_micro_times(each, field.struct)
    return plain
