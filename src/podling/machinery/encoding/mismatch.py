"""The first value with the wrong JSON type, with the message of Go's decoder.

It is only called after decoding failed, so it need not be fast: it walks the data next to the type.
"""

from __future__ import annotations

import json
from typing import Any

from podling.machinery.encoding import scalars
from podling.machinery.encoding.plain import json_type
from podling.machinery.encoding.shapes import Kind, Shape, fields_of, shape_of


class Mismatch(Exception):
    """The data does not fit the type; the text is that of Go's JSON decoder.

    ``restored`` is what the converter says that reads the results of strategic merge patches.
    """

    def __init__(self, text: str, restored: str = "") -> None:
        super().__init__(text)
        self.restored = restored or text


_PYTHON_TYPES: dict[Kind, type[Any]] = {
    Kind.STRING: str,
    Kind.BYTES: str,
    Kind.TIME: str,
    Kind.BOOLEAN: bool,
    Kind.STRUCT: dict,
    Kind.MAP: dict,
    Kind.LIST: list,
}


def first_mismatch(plain: Any, type_: type[Any]) -> Mismatch | None:
    """Return the first value that does not fit ``type_``; None if all do."""
    return _check(plain, shape_of(type_), type_, ())


def _check(value: Any, shape: Shape, owner: type[Any], path: tuple[str, ...]) -> Mismatch | None:
    if value is None or shape.kind is Kind.ANY or shape.kind is Kind.QUANTITY:
        return None
    if not _fits(value, shape):
        return _mismatch(value, shape, owner, path)
    if shape.kind is Kind.STRUCT and shape.struct:
        return _check_struct(value, shape.struct, path)
    inner = list(value.values()) if shape.kind is Kind.MAP else value if shape.kind is Kind.LIST else ()
    if shape.element:
        # Go names neither the index nor the key of what is inside a list or map.
        for item in inner:
            if found := _check(item, shape.element, owner, path):
                return found
    return None


def _check_struct(value: dict[str, Any], struct: type[Any], path: tuple[str, ...]) -> Mismatch | None:
    shapes = fields_of(struct)
    for name, item in value.items():
        if name in shapes and (found := _check(item, shapes[name], struct, (*path, name))):
            return found
    return None


def _fits(value: Any, shape: Shape) -> bool:
    try:
        if shape.kind is Kind.INTEGER:
            (scalars.int32 if shape.int32 else scalars.int64)(value)
        elif shape.kind is Kind.INT_OR_STRING:
            scalars.int_or_string(value)
        elif shape.kind is Kind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        else:
            return isinstance(value, _PYTHON_TYPES[shape.kind])
    except scalars.WrongType:
        return False
    return True


def _mismatch(value: Any, shape: Shape, owner: type[Any], path: tuple[str, ...]) -> Mismatch:
    text = json_type(value)
    if text == "number" and shape.kind in (Kind.INTEGER, Kind.INT_OR_STRING):
        text = f"number {json.dumps(value)}"
    # Two Go types read their JSON themselves, and so know nothing of the field they are in.
    if shape.kind is Kind.INT_OR_STRING:
        return Mismatch(f"json: cannot unmarshal {text} into Go value of type int32")
    if shape.kind is Kind.TIME:
        return Mismatch(f"json: cannot unmarshal {text} into Go value of type string")
    where = f"struct field {owner.__name__}.{'.'.join(path)}" if path else "value"
    message = f"json: cannot unmarshal {text} into Go {where} of type {shape.go_type()}"
    return Mismatch(message, _restored(value, shape))


def _restored(value: Any, shape: Shape) -> str:
    source = {dict: "map", list: "slice", str: "string", bool: "bool", float: "float64"}.get(
        type(value), "int64"
    )
    match shape.kind:
        case Kind.STRUCT:
            return f"cannot restore struct from: {source}"
        case Kind.MAP | Kind.LIST:
            return f"cannot restore {'map' if shape.kind is Kind.MAP else 'slice'} from {source}"
        case _:
            return f"unrecognized type: {shape.go_type()}"
