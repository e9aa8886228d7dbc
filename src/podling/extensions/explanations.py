"""The form of the answers of ``podling why``, and how extensions answer for their kinds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from podling.api.core_v1 import Event, Pod
from podling.client.base import Client


class Source(Struct, frozen=True, kw_only=True):
    """One record that an answer rests on.

    ``kind`` is ``event``, ``condition``, ``container``, ``status``, ``spec`` or ``connection``; ``name`` the
    event's reason, the condition's type, the container or the field; ``detail`` what it says, in Kubernetes'
    own words.
    """

    kind: str
    name: str
    detail: str = ""
    count: int = 1
    last: datetime | None = None


class Explanation(Struct, frozen=True, kw_only=True):
    """One finding: the place of the problem, the problem, its evidence, and the advice."""

    healthy: bool = False
    area: str
    """``scheduler``, ``node``, ``sandbox``, ``volume``, ``image``, ``configuration``, ``runtime``, ``init``,
    ``crash``, ``probe``, ``hook``, ``gate``, ``deletion``, ``end``, ``workload``, ``start``, ``service``,
    ``policy``, ``dns``, ``autoscaler``, ``budget`` or ``none``."""
    reason: str
    """Kubernetes' own word for it (``ImagePullBackOff``, ``Unschedulable`` ...)."""
    container: str = ""
    text: str
    """The problem, in whole sentences."""
    advice: str = ""
    """The advice, in whole sentences; it may end with a command."""
    evidence: tuple[Source, ...] = ()


class Question(Struct, frozen=True):
    """A query of ``podling why``: the object that it is about, and the means for an answer.

    Args:
        client: knows the extension's kinds.
        of_pod: answers for a pod.
        events: returns the events about an object, oldest first.
    """

    client: Client
    name: str
    namespace: str
    now: datetime
    of_pod: Callable[[Pod], Awaitable[Explanation]]
    events: Callable[[Any], Awaitable[Sequence[Event]]]


Explainer = Callable[[Question], Awaitable[Explanation]]
"""Answers for the object of one kind. Raises ``ApiError``: ``NotFound`` if there is no such object."""

Annotator = Callable[[Question], Awaitable[Explanation | None]]
"""Adds to the answer for an object of one kind; None for nothing. Raises ``ApiError``."""
