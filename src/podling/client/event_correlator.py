"""Correlation of events: repeats are counted, similar events combined, floods refused.

Pure: a state machine over ``now``, following client-go's ``tools/record`` event correlator:

* *Same event again* (same source, object, type, reason and message): count + 1 on the first one.
* *Similar events* (all of that but the message): once 10 different messages came within 10 minutes
  of each other, further ones share one event, ``(combined from similar events): `` and the newest text.
* *Flood*: each source may write about one object 25 times at once, then once in 5 minutes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from podling.api.core_v1 import ObjectReference

CACHE_SIZE_MAX = 4096
SIMILAR_EVENTS_MAX = 10
SIMILAR_INTERVAL = timedelta(seconds=600)
SPAM_BURST = 25
SPAM_REFILL_SECONDS = 300.0
COMBINED_PREFIX = "(combined from similar events): "


class Happening(Struct, frozen=True):
    """An event that a component reports about an object, before correlation.

    ``action``: what the component did or tried; ``related``: another object that had part in it.
    """

    about: ObjectReference
    type: str
    reason: str
    message: str
    at: datetime
    action: str = ""
    related: ObjectReference | None = None
    annotations: Mapping[str, str] = {}


class Identity(NamedTuple):
    """The key by which two happenings are one event; combined events have an empty message."""

    about: tuple[str, ...]
    field_path: str
    type: str
    reason: str
    message: str


class Create(Struct, frozen=True):
    """Write a new event, and pass its name to ``Correlator.created``."""

    identity: Identity
    message: str
    first: datetime
    last: datetime
    count: int


class Update(Struct, frozen=True):
    """Raise the count of the event ``name``; if it is gone, do ``instead``."""

    name: str
    message: str
    instead: Create


class Drop(Struct, frozen=True):
    """The object's allowance is used up."""


V = TypeVar("V")


class _Recent(OrderedDict[tuple[str, ...] | Identity, V], Generic[V]):
    """The values used last; the one unused for longest goes first."""

    def use(self, key: tuple[str, ...] | Identity) -> V | None:
        if key not in self:
            return None
        self.move_to_end(key)
        return self[key]

    def keep(self, key: tuple[str, ...] | Identity, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > CACHE_SIZE_MAX:
            self.popitem(last=False)


@dataclass(slots=True)
class _Similar:
    messages: set[str] = field(default_factory=set)
    last: datetime | None = None


@dataclass(slots=True)
class _Written:
    name: str
    count: int
    first: datetime


@dataclass(slots=True)
class _Allowance:
    tokens: float
    at: datetime


class Correlator:
    """One per component (event source); remembers what it wrote lately."""

    def __init__(self) -> None:
        self._similar: _Recent[_Similar] = _Recent()
        self._written: _Recent[_Written] = _Recent()
        self._allowances: _Recent[_Allowance] = _Recent()

    def decide(self, happening: Happening) -> Create | Update | Drop:
        """Return the write that ``happening`` requires."""
        identity, message = self._fold(happening)
        written = self._written.use(identity)
        if written is not None:
            written.count += 1
        if not self._allowed(happening):
            return Drop()
        if written is None:
            return Create(identity, message, happening.at, happening.at, 1)
        create = Create(identity, message, written.first, happening.at, written.count)
        return Update(written.name, message, create)

    def created(self, create: Create, name: str) -> None:
        """Remember that ``create`` was written as the event ``name``."""
        self._written.keep(create.identity, _Written(name, create.count, create.first))

    def _fold(self, happening: Happening) -> tuple[Identity, str]:
        about, group = _object_key(happening.about), group_of(happening)
        similar = self._similar.use(group)
        if similar is None or similar.last is None or happening.at - similar.last > SIMILAR_INTERVAL:
            similar = _Similar()
            self._similar.keep(group, similar)
        similar.messages.add(happening.message)
        similar.last = happening.at
        if len(similar.messages) < SIMILAR_EVENTS_MAX:
            path = happening.about.field_path or ""
            return Identity(
                about, path, happening.type, happening.reason, happening.message
            ), happening.message
        similar.messages.remove(max(similar.messages))  # keep the set small; which one goes is all the same
        folded = Identity(about, "", happening.type, happening.reason, "")
        return folded, COMBINED_PREFIX + happening.message

    def _allowed(self, happening: Happening) -> bool:
        key = _object_key(happening.about)
        allowance = self._allowances.use(key)
        if allowance is None:
            allowance = _Allowance(SPAM_BURST, happening.at)
            self._allowances.keep(key, allowance)
        passed = (happening.at - allowance.at) / timedelta(seconds=1)
        allowance.tokens = min(SPAM_BURST, allowance.tokens + max(0.0, passed) / SPAM_REFILL_SECONDS)
        allowance.at = happening.at
        if allowance.tokens < 1.0:
            return False
        allowance.tokens -= 1.0
        return True


def group_of(happening: Happening) -> tuple[str, ...]:
    """Return the key of events that may be combined with one another."""
    return (*_object_key(happening.about), happening.type, happening.reason)


def _object_key(about: ObjectReference) -> tuple[str, ...]:
    parts = (about.kind, about.namespace, about.name, about.uid, about.api_version)
    return tuple(part or "" for part in parts)
