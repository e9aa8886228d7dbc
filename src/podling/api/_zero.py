"""Zero values that are written, as factories.

msgspec leaves out a field that *is* its default. Kubernetes writes a field without ``omitempty`` with any
value. A factory that msgspec does not recognise keeps such a field written; ``NoneType`` is the one of nulls.

Go knows two empty lists: nil, which is written as null, and one of no items. Kubernetes stores objects as
protobuf, which has one only and reads it as nil. So an empty list of a stored object is null in every answer,
unless ``omitempty`` leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, overload

from msgspec import Raw, json
from msgspec.structs import force_setattr

T = TypeVar("T")

if TYPE_CHECKING:
    Nullable = Annotated[T, "null"]
else:
    Nullable = T | None
"""A list that null stands for while it is empty. In a struct it is never None, see ``empty_as_null``."""


class _NilList(Sequence[Any]):
    """The empty list that is written as null. It behaves like the empty tuple and equals it."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return ()[index]

    def __len__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return other is self or other == ()

    def __hash__(self) -> int:
        return hash(())

    def __add__(self, other: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(other)

    __radd__ = __add__

    def __repr__(self) -> str:
        return "()"

    def __reduce__(self) -> str:
        return "NIL_LIST"


NIL_LIST: Any = _NilList()


def empty_list() -> tuple[Any, ...]:
    """Return an empty list that is written as one."""
    return ()


def empty_map() -> dict[str, Any]:
    """Return an empty map that is written as one."""
    return {}


def nil_list() -> Any:
    """Return an empty list that is written as null."""
    return NIL_LIST


def empty_as_null(struct: Any, name: str) -> None:
    """Replace an empty list, or the null that was read for it, by the one that is written as null."""
    force_setattr(struct, name, NIL_LIST)


def null_of_nil(value: Any) -> Any:
    """The hook of encoders: null for the list that says so, and plain data for JSON where that is wanted.

    Raises TypeError for any other value.
    """
    if type(value) is Raw:
        return json.decode(value)
    if value is not NIL_LIST:
        raise TypeError(f"objects of type {type(value).__name__} cannot be encoded")
    return None
