"""Cron schedules: whether a text is one, in the words of Kubernetes' parser, and when it is due. Pure.

The five fields and macros of ``robfig/cron`` v3's standard parser, which Kubernetes uses: if both the day of
the month and the day of the week are restricted, either may match. Days and hours are those of the schedule's
time zone; a time that a change of clocks skips is skipped, one that it repeats comes twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType

from msgspec import Struct

from podling.machinery.durations import seconds_of

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
_INTEGER = re.compile("[+-]?[0-9]+").fullmatch
_ZONE_PART = re.compile(r"(?!-)(?!\.{1,2}$)[A-Za-z.\-_0-9+]{1,14}").fullmatch
_HORIZON = timedelta(days=5 * 366)


class ScheduleError(ValueError):
    """The text is no schedule, or no time zone."""


class Schedule(Struct, frozen=True):
    """A parsed schedule: either every so many seconds, or the five fields."""

    every_seconds: int = 0
    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = False
    """True if one of the two day fields is a star without a step: then both must match."""
    zone: tzinfo = UTC

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first due time after ``moment``, in UTC; None if there is none within five years."""
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
        """Return the step past a local time that does not match; None if it matches."""
        if local.month not in self.months:
            return lambda time: self._midnight((local.replace(day=1) + timedelta(days=32)).replace(day=1))
        if not self._day_matches(local):
            return lambda time: self._midnight(local + timedelta(days=1))
        if local.hour not in self.hours:
            return lambda time: time + timedelta(minutes=60 - local.minute)
        if local.minute not in self.minutes:
            following = min((each for each in self.minutes if each > local.minute), default=60)
            return lambda time: time + timedelta(minutes=following - local.minute)
        return None

    def _day_matches(self, local: datetime) -> bool:
        day, weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return (day and weekday) if self.any_day else (day or weekday)

    def _midnight(self, local: datetime) -> datetime:
        naive = datetime(local.year, local.month, local.day)
        return naive.replace(tzinfo=self.zone).astimezone(UTC)


def time_zone(name: str | None) -> tzinfo:
    """Return the zone of that name, UTC without one. Raises ``ScheduleError``."""
    if not name:
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        if not all(map(_ZONE_PART, name.split("/"))):
            raise ValueError(name)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScheduleError(f"unknown time zone {name}") from error


def parse(text: str, zone: tzinfo = UTC) -> Schedule:
    """Return the schedule that ``text`` spells; ``TZ=`` or ``CRON_TZ=`` before it goes before ``zone``.

    Raises ``ScheduleError``.
    """
    if not text:
        raise ScheduleError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        assignment, _, text = text.partition(" ")
        zone, text = _given_zone(assignment.partition("=")[2]), text.strip()
    if text.startswith("@every "):
        return Schedule(every_seconds=_every(text), zone=zone)
    if text.startswith("@"):
        if text not in MACROS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = MACROS[text]
    parts = text.split()
    if len(parts) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    (minutes, _), (hours, _) = _field(parts[0], 0, 59), _field(parts[1], 0, 23)
    days, any_day = _field(parts[2], 1, 31)
    months, _ = _field(parts[3], 1, 12, dict(zip(_MONTHS, range(1, 13), strict=True)))
    weekdays, any_weekday = _field(parts[4], 0, 6, dict(zip(_DAYS, range(7), strict=True)))
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        any_day=any_day or any_weekday,
        zone=zone,
    )


def _given_zone(name: str) -> tzinfo:
    try:
        return time_zone(name)
    except ScheduleError as error:
        raise ScheduleError(f"provided bad location {name}: {error}") from error


def _every(text: str) -> int:
    """Whole seconds, one at least."""
    try:
        return max(1, int(seconds_of(text.removeprefix("@every "))))
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from error


def _field(
    text: str, low: int, high: int, names: Mapping[str, int] = MappingProxyType({})
) -> tuple[frozenset[int], bool]:
    """Return the values that a field allows, and whether it says nothing at all."""
    found: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        values, any_value = _range(part, low, high, names)
        found.update(values)
        star = star or any_value
    return frozenset(found), star


def _range(text: str, low: int, high: int, names: Mapping[str, int]) -> tuple[range, bool]:
    span, *steps = text.split("/")
    ends = span.split("-")
    star = ends[0] in ("*", "?")
    if star:
        first, last = low, high
    else:
        first = _number(ends[0], names)
        last = _number(ends[1], names) if len(ends) > 1 else first
        if len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {text}")
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    step = _number(steps[0], {}) if steps else 1
    if steps and len(ends) == 1:
        last = high  # from a single value with a step, to the end
    if first < low:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({low}): {text}")
    if last > high:
        raise ScheduleError(f"end of range ({last}) above maximum ({high}): {text}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return range(first, last + 1, step), star and step == 1


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not _INTEGER(text) or not text.isascii():
        raise ScheduleError(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
        )
    if int(text) < 0:
        raise ScheduleError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
