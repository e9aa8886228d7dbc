"""Status conditions: the rules that all kinds share. Pure.

``lastTransitionTime`` moves only when ``status`` changes; a condition is replaced in place, so that their
order stays; writing what is already there changes nothing (the very same tuple comes back).
"""

from __future__ import annotations

from collections.abc import Iterable
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


def find(conditions: Iterable[C], type_: str) -> C | None:
    """Return the condition of this type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[C], type_: str) -> bool:
    """Return whether the condition of this type is there and True."""
    found = find(conditions, type_)
    return found is not None and found.status == "True"


def transition_time(old: ConditionLike | None, status: str, now: datetime) -> datetime:
    """Return the transition time of a condition with this status, whose predecessor was ``old``."""
    if old is not None and old.status == status and old.last_transition_time is not None:
        return old.last_transition_time
    return seconds_precision(now)


def with_condition(conditions: tuple[C, ...], new: C, now: datetime) -> tuple[C, ...]:
    """Return ``conditions`` with ``new`` in place of the one of its type, or at the end."""
    old = find(conditions, new.type)
    since = transition_time(old, new.status, now)
    changed: Any = structs.replace(new, last_transition_time=since)  # type: ignore[type-var]
    if changed == old:
        return conditions
    if old is None:
        return (*conditions, changed)
    return tuple(changed if condition is old else condition for condition in conditions)


def without(conditions: tuple[C, ...], type_: str) -> tuple[C, ...]:
    """Return ``conditions`` without the one of this type."""
    return tuple(condition for condition in conditions if condition.type != type_)
