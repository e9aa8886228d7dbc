"""Status conditions: the rules that all kinds share.

``lastTransitionTime`` moves only when ``status`` changes; a condition is replaced in place, so that their
order stays; writing what is already there changes nothing (the very same tuple comes back).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from msgspec import structs

from podling.clock import seconds_precision


class ConditionLike(Protocol):
    """The fields that every kind's conditions have."""

    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def message(self) -> str | None: ...

    @property
    def last_transition_time(self) -> datetime | None: ...


C = TypeVar("C", bound=ConditionLike)


def find(conditions: Sequence[C], type_: str) -> C | None:
    """The condition of this type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Sequence[C], type_: str) -> bool:
    """Whether the condition of this type is there and True."""
    found = find(conditions, type_)
    return found is not None and found.status == "True"


def with_condition(conditions: tuple[C, ...], new: C, now: datetime) -> tuple[C, ...]:
    """``conditions`` with ``new`` in place of the one of its type, or at the end."""
    old = find(conditions, new.type)
    since = seconds_precision(now)
    if old is not None and old.status == new.status and old.last_transition_time is not None:
        since = old.last_transition_time
    changed: Any = structs.replace(new, last_transition_time=since)  # type: ignore[type-var]
    if changed == old:
        return conditions
    if old is None:
        return (*conditions, changed)
    return tuple(changed if condition is old else condition for condition in conditions)


def without(conditions: tuple[C, ...], type_: str) -> tuple[C, ...]:
    """``conditions`` without the one of this type."""
    return tuple(condition for condition in conditions if condition.type != type_)
