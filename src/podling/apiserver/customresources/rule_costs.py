"""The bound of what CEL rules of one object may cost in this process. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class TooCostly(Exception):
    """The rules of an object cost more than ``cost_limited`` allows. Nothing is known of the object."""


_limit: ContextVar[int | None] = ContextVar("cost limit of rules", default=None)


@contextmanager
def cost_limited(cost: int) -> Iterator[None]:
    """Raise ``TooCostly`` where the rules of one object cost more: to evaluate them elsewhere."""
    token = _limit.set(cost)
    try:
        yield
    finally:
        _limit.reset(token)


def cost_limit() -> int | None:
    """Return the cost that is allowed here; None: any."""
    return _limit.get()
