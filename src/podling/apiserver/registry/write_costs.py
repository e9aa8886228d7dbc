"""Estimates of the time that a write computes: whether it may hold the event loop, or goes to a worker. Pure.

The time grows with the number of values, not with the bytes: a Secret of one megabyte takes as long as a list
of a thousand numbers. Measured in microseconds for each value; see ``docs/limits.md``.
"""

from __future__ import annotations

from enum import Enum

from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource

LEAST_BYTES = 2048
"""Less data is never much work."""
LARGE_BYTES = 64 * 1024
"""More data is always copied and compared for longer than an exchange with a worker takes."""
MICROSECONDS_MAX = 8000.0
"""Work beyond this goes to a worker: the rest of the 10 ms of one piece is for admission and the store."""

RULES_COST_MAX = 8000
"""Rules of custom resources (CEL) that cost more are evaluated by a worker: one unit takes up to 0.6 us."""

DEFINITIONS = "customresourcedefinitions"
SCHEMA_MICROSECONDS = 12.0
"""For each value of a custom object, or of a definition: its schema is looked at, too."""


class Work(Enum):
    """Kinds of writes, with the microseconds that one value takes."""

    CREATE = 3.0
    CHANGE = 10.0
    APPLY = 20.0


def is_heavy(work: Work, resource: Resource, *documents: bytes) -> bool:
    """Return whether the write of these documents (body, stored object) is to be computed by a worker."""
    size = sum(map(len, documents))
    if size < LEAST_BYTES:
        return False
    if size >= LARGE_BYTES:
        return True
    each = work.value
    if isinstance(resource, CustomResource) or resource.plural == DEFINITIONS:
        each += SCHEMA_MICROSECONDS
    return sum(map(_values, documents)) * each > MICROSECONDS_MAX


def _values(document: bytes) -> int:
    """Return about how many values JSON or YAML has. JSON inside of a string is counted, too."""
    return document.count(b",") + 1
