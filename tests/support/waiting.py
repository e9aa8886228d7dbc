"""Waits of tests that look at a real cluster from outside, where ``kubectl wait`` cannot see it."""

from __future__ import annotations

from collections.abc import Callable

from podling import clock


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until the condition holds; each look costs a command, so there is no pause between them."""
    deadline = clock.monotonic() + seconds
    while not holds():
        assert clock.monotonic() < deadline, "it does not hold in time"
