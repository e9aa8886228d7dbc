"""Field paths and field errors, formatted as ``apimachinery/pkg/util/validation/field`` does.

Validation is a list of these: each names the field, what is wrong with it, and the value found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, ParamSpec

import msgspec

from podling.api._zero import null_of_nil

P = ParamSpec("P")

MAX_KEPT_STEPS = 64
"""A path remembers at most this many paths below it: there are more fields than this in no struct."""


class Path:
    """The path of a field: ``Path("spec").child("containers").index(0).child("name")``.

    A path caches the paths below it. Validation walks the same fields of every object, and nearly always
    finds nothing wrong with them: then naming a field costs one look-up and makes nothing.
    """

    __slots__ = ("_below", "text")

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._below: dict[str | int, Path] = {}

    def child(self, name: str, *names: str) -> Path:
        path = self._below.get(name)
        if path is None:
            path = self._keep(name, ".".join(filter(None, (self.text, name))))
        return path.child(*names) if names else path

    def index(self, position: int) -> Path:
        path = self._below.get(position)
        return self._keep(position, f"{self.text}[{position}]") if path is None else path

    def key(self, key: str) -> Path:
        return Path(f"{self.text}[{key}]")

    def _keep(self, step: str | int, text: str) -> Path:
        path = Path(text)
        if len(self._below) < MAX_KEPT_STEPS:
            self._below[step] = path
        return path

    def __str__(self) -> str:
        return self.text or "<nil>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class ErrorType(Enum):
    """The kinds of field errors; the value is the cause's ``reason`` on the wire."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_SUPPORTED = "FieldValueNotSupported"
    NOT_FOUND = "FieldValueNotFound"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"


_TITLES = {
    ErrorType.REQUIRED: "Required value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.INTERNAL: "Internal error",
    ErrorType.TYPE_INVALID: "Invalid value",
}
_WITHOUT_VALUE = {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL}


OMITTED: Final = object()
"""In the place of a value that messages do not show: too large, or part of the text already."""


class Shown(str):
    """A value that messages show as this text, without quotes: what upstream's type says of itself."""

    __slots__ = ()


def in_go(**parts: Any) -> Shown:
    """A value of one of Kubernetes' internal types, which have no names for JSON: the names are Go's."""
    return Shown("{" + ",".join(f'"{name}":{_render(value)}' for name, value in parts.items()) + "}")


ERRORS_MAX = 5_000
"""Errors reported of one object: the same mistake in a hundred thousand items would fill memory."""


class TooManyErrors(Exception):
    """``ERRORS_MAX`` errors were found in one object."""


_made: ContextVar[list[FieldError] | None] = ContextVar("field errors of one object", default=None)


def bounded(check: Callable[P, list[FieldError]], *args: P.args, **kwargs: P.kwargs) -> list[FieldError]:
    """Return what ``check`` finds, or the first ``ERRORS_MAX`` errors of more than that."""
    made: list[FieldError] = []
    token = _made.set(made)
    try:
        return check(*args, **kwargs)
    except TooManyErrors:
        return made
    finally:
        _made.reset(token)


@contextmanager
def uncounted() -> Iterator[None]:
    """For errors that only name the alternative, of several, that a value is."""
    token = _made.set(None)
    try:
        yield
    finally:
        _made.reset(token)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field."""

    type: ErrorType
    field: str
    value: Any
    detail: str = ""

    def __post_init__(self) -> None:
        made = _made.get()
        if made is not None:
            made.append(self)
            if len(made) >= ERRORS_MAX:
                raise TooManyErrors

    def body(self) -> str:
        """Return the error without its field: the cause's ``message`` on the wire."""
        title = _TITLES[self.type]
        bare = self.type in _WITHOUT_VALUE or self.value is OMITTED
        text = title if bare else f"{title}: {_render(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def _render(value: Any) -> str:
    if isinstance(value, Shown):
        return value
    if isinstance(value, list) and value and isinstance(value[0], Shown):
        return f"[{','.join(value)}]"
    if isinstance(value, msgspec.Struct):
        return msgspec.json.encode(value, order="deterministic", enc_hook=null_of_nil).decode()
    # Maps by key, as Go writes them.
    plain = msgspec.to_builtins(value, order="deterministic", enc_hook=null_of_nil)
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


def aggregate(errors: Iterable[object]) -> str:
    """Several errors as one text: each once, in brackets if there is more than one."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def required(path: Path, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, str(path), "", detail)


def invalid(path: Path, value: Any, detail: str) -> FieldError:
    return FieldError(ErrorType.INVALID, str(path), value, detail)


def invalid_each(path: Path, value: Any, messages: Iterable[str]) -> list[FieldError]:
    """Return an *Invalid value* error for each message of a name check."""
    return [invalid(path, value, message) for message in messages]


def duplicate(path: Path, value: Any) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, str(path), value)


def forbidden(path: Path, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, str(path), "", detail)


def not_found(path: Path, value: Any) -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, str(path), value)


def not_supported(path: Path, value: Any, supported: Sequence[str]) -> FieldError:
    """``supported`` is listed quoted, in the order given (callers sort where Kubernetes sorts)."""
    detail = "supported values: " + ", ".join(json.dumps(option) for option in supported)
    return FieldError(ErrorType.NOT_SUPPORTED, str(path), value, detail if supported else "")


def too_long(path: Path, maximum: int) -> FieldError:
    """More than ``maximum`` bytes."""
    return FieldError(ErrorType.TOO_LONG, str(path), "", f"may not be more than {maximum} bytes")


def too_many(path: Path, actual: int, maximum: int) -> FieldError:
    noun = "item" if maximum == 1 else "items"
    return FieldError(ErrorType.TOO_MANY, str(path), actual, f"must have at most {maximum} {noun}")
