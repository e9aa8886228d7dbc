"""Whether a text is a cron schedule: five fields, or one of the macros.

Only the question of validity is answered here; when a schedule is due is the controller's to know.

Upstream: ``robfig/cron`` v3's standard parser, as ``pkg/apis/batch/validation`` uses it.
"""

from __future__ import annotations

import re
import zoneinfo

MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_EVERY = re.compile(r"@every (?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+")


def schedule_problem(schedule: str) -> str:
    """Why ``schedule`` cannot be parsed; empty when it can."""
    if schedule.startswith("@"):
        if schedule in MACROS or _EVERY.fullmatch(schedule):
            return ""
        return f"unrecognized descriptor: {schedule}"
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: {_go_list(parts)}"
    for part, (low, high, names) in zip(parts, _FIELDS, strict=True):
        for expression in part.split(","):
            problem = _range_problem(expression, low, high, names)
            if problem:
                return problem
    return ""


def time_zone_problem(name: str) -> str:
    """Why a time zone cannot be used; empty when it can."""
    if not name:
        return "timeZone must be nil or non-empty string"
    if name.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {name}"
    return ""


def _go_list(parts: list[str]) -> str:
    return f"[{' '.join(parts)}]"


def _range_problem(expression: str, low: int, high: int, names: dict[str, int]) -> str:
    span, slash, step = expression.partition("/")
    if slash and (not step.isdigit() or "/" in step):
        return f"failed to parse int from {step}: invalid syntax"
    if slash and int(step) == 0:
        return f"step of range should be a positive number: {expression}"
    if span in ("*", "?"):
        return ""
    ends = [names.get(end.lower(), _number(end)) for end in span.split("-")]
    if len(ends) > 2:
        return f"too many hyphens: {expression}"
    if None in ends:
        return f"failed to parse int from {span}: invalid syntax"
    start, end = ends[0] or 0, ends[-1] or 0
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {expression}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {expression}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {expression}"
    return ""


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
