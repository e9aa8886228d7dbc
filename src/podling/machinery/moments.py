"""Moments beside spans of time that a spec names. Pure.

Specs may name 64 bits of seconds, but calendars end: moments beyond become the first or the last one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(microsecond=0, tzinfo=UTC)


def shifted(moment: datetime, seconds: float) -> datetime:
    """Return the moment so many seconds later, or earlier if negative; never one beyond the calendar."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return LATEST if seconds > 0 else EARLIEST
