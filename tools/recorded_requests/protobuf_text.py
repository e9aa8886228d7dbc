"""Protobuf messages as text, without their schema, so that generated values in them can be compared.

A length-delimited field is text when all its characters are printable, else a message when it reads as one,
else bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

MAGIC = b"k8s\x00"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def text_of(body: bytes) -> str:
    """Return a body of the Kubernetes protobuf media type as text; a watch is a sequence of frames.

    Raises:
        ValueError: it is neither.
    """
    if body.startswith(MAGIC):
        return "\n".join(_message(body[len(MAGIC) :], ""))
    lines = []
    while body:
        length = int.from_bytes(body[:4], "big")
        frame, body = body[4 : 4 + length], body[4 + length :]
        if len(frame) != length:
            raise ValueError("a frame is cut off")
        lines += ["frame", *_message(frame.removeprefix(MAGIC), "  ")]
    return "\n".join(lines)


def _message(data: bytes, indent: str) -> list[str]:
    lines = []
    for number, wire, value in _fields(data):
        if isinstance(value, int):
            lines.append(f"{indent}{number}: {value}{'' if wire == VARINT else ' fixed'}")
        else:
            lines += _delimited(number, value, indent)
    return lines


def _delimited(number: int, value: bytes, indent: str) -> list[str]:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    if all(each.isprintable() or each == "\n" for each in text) and not text.startswith("\n"):
        return [f'{indent}{number}: "{text}"']
    if value.startswith(MAGIC):
        value = value[len(MAGIC) :]
    try:
        inner = _message(value, indent + "  ")
    except ValueError:
        return [f"{indent}{number}: {value!r}"]
    return [f"{indent}{number}: {{", *inner, f"{indent}}}"]


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield each field's number, its wire type and its value.

    Raises:
        ValueError: this is no message.
    """
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise ValueError("no field has number 0")
        if wire == VARINT:
            value, at = _varint(data, at)
            yield number, wire, value
            continue
        if wire == BYTES:
            length, at = _varint(data, at)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {wire}")
        if at + length > len(data):
            raise ValueError("a field is cut off")
        piece, at = data[at : at + length], at + length
        yield number, wire, piece if wire == BYTES else int.from_bytes(piece, "little")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("a number is cut off")
