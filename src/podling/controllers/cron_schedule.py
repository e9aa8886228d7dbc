"""When a cron schedule is due. Pure.

The five fields and macros of ``robfig/cron``'s standard parser, which Kubernetes uses: if both the day of
the month and the day of the week are restricted, either may match. Days and hours are those of the schedule's
time zone; a time that a change of clocks skips is skipped, one that it repeats comes twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
_HORIZON = timedelta(days=5 * 366)


class ScheduleError(ValueError):
    """The text is no schedule, or no time zone."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A parsed schedule: either every so many seconds, or the five fields."""

    every_seconds: int = 0
    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = False
    """Whether one of the two day fields is a star: then both must match."""
    zone: tzinfo = UTC

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time after ``moment``, in UTC; None if there is none within five years."""
        if self.every_seconds:
            return moment.replace(microsecond=0) + timedelta(seconds=self.every_seconds)
        time = moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = time + _HORIZON
        while time < last:
            step = self._step(time.astimezone(self.zone))
            if step is None:
                return time
            following = step(time)
            # A clock set back can make a local midnight lie before the time it follows.
            time = following if following > time else time + timedelta(hours=1)
        return None

    def _step(self, local: datetime) -> Callable[[datetime], datetime] | None:
        """How to get past a local time that does not match; None if it does."""
        if local.month not in self.months:
            return lambda time: self._midnight((local.replace(day=1) + timedelta(days=32)).replace(day=1))
        if not self._day_matches(local):
            return lambda time: self._midnight(local + timedelta(days=1))
        if local.hour not in self.hours:
            return lambda time: time + timedelta(minutes=60 - local.minute)
        if local.minute not in self.minutes:
            return lambda time: time + timedelta(minutes=1)
        return None

    def _day_matches(self, local: datetime) -> bool:
        day, weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return (day and weekday) if self.any_day else (day or weekday)

    def _midnight(self, local: datetime) -> datetime:
        naive = datetime(local.year, local.month, local.day)
        return naive.replace(tzinfo=self.zone).astimezone(UTC)


def time_zone(name: str | None) -> tzinfo:
    """The zone of that name, UTC without one. Raises ``ScheduleError``."""
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScheduleError(f"unknown time zone {name}") from error


def parse(text: str, zone: tzinfo = UTC) -> Schedule:
    """Raises ``ScheduleError``."""
    if text.startswith("@every "):
        return Schedule(every_seconds=_seconds(text.removeprefix("@every ")), zone=zone)
    if text.startswith("@"):
        if text not in MACROS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = MACROS[text]
    parts = text.split()
    if len(parts) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    minutes, hours, days, months, weekdays = parts
    return Schedule(
        minutes=_field(minutes, 0, 59),
        hours=_field(hours, 0, 23),
        days=_field(days, 1, 31),
        months=_field(months, 1, 12, dict(zip(_MONTHS, range(1, 13), strict=True))),
        weekdays=_field(weekdays, 0, 6, dict(zip(_DAYS, range(7), strict=True))),
        any_day=_is_star(days) or _is_star(weekdays),
        zone=zone,
    )


def _seconds(text: str) -> int:
    matched = _DURATION.findall(text)
    if not matched or "".join(number + unit for number, unit in matched) != text:
        raise ScheduleError(f"failed to parse duration @every {text}")
    return max(1, int(sum(float(number) * _UNITS[unit] for number, unit in matched)))


def _is_star(text: str) -> bool:
    """Whether the field is unrestricted, steps included (``*/2`` is)."""
    return any(part.partition("/")[0] in ("*", "?") for part in text.split(","))


def _field(text: str, low: int, high: int, names: dict[str, int] | None = None) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        first_text, dash, last_text = span.partition("-")
        if span in ("*", "?"):
            first, last = low, high
        else:
            first = _number(first_text, names or {})
            last = _number(last_text, names or {}) if dash else (high if slash else first)
        step = _number(step_text, {}) if slash else 1
        if first < low or last > high or first > last or step == 0:
            raise ScheduleError(f"range out of bounds ({low} to {high}): {part}")
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not (text.isascii() and text.isdigit()):
        raise ScheduleError(f"failed to parse int from {text}")
    return int(text)
