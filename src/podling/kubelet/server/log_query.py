"""Queries of the node's own logs, from a request to ``/logs/`` to the command that answers them. Pure.

Upstream: ``pkg/kubelet/kubelet_server_journal.go`` and ``kubelet_server_journal_linux.go``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from podling.machinery.fields import FieldError, Path, Shown, invalid, required, too_many

MAX_TAIL_LINES = 100_000
MAX_SERVICE_LENGTH = 256
MAX_SERVICES = 4

_UNSAFE = re.compile(r"[^a-zA-Z\-_.:0-9@]")
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_QUERY = Path("query")


class LogOptions(Struct, frozen=True, kw_only=True):
    """The part of a service's log that is wanted; None and empty: all of it."""

    since: datetime | None = None
    until: datetime | None = None
    tail_lines: int | None = None
    boot: int | None = None
    pattern: str = ""


class LogQuery(Struct, frozen=True, kw_only=True):
    """Services, or a file below the directory of logs."""

    services: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    options: LogOptions = LogOptions()


Pairs = Sequence[tuple[str, str]]


def parse_query(pairs: Pairs) -> tuple[LogQuery, list[FieldError]]:
    """Return the query in a request's parameters, which is ``LogQuery()`` without any, and what is wrong."""
    errors: list[FieldError] = []
    given = [value for name, value in pairs if name == "query"]
    files = tuple(value for value in given if "/" in value or "\\" in value)
    services = tuple(value for value in given if value not in files and value.strip())
    if given and not files and not services:
        errors.append(invalid(_QUERY, given, "query cannot be empty"))
    options = LogOptions(
        since=_time(pairs, "sinceTime", errors),
        until=_time(pairs, "untilTime", errors),
        boot=_number(pairs, "boot", errors),
        tail_lines=_number(pairs, "tailLines", errors),
        pattern=_first(pairs, "pattern"),
    )
    return LogQuery(services=services, files=files, options=options), errors


def _first(pairs: Pairs, wanted: str) -> str:
    return next((value for name, value in pairs if name == wanted), "")


def _time(pairs: Pairs, name: str, errors: list[FieldError]) -> datetime | None:
    text = _first(pairs, name)
    if not text:
        return None
    try:
        if not _RFC3339.fullmatch(text):
            raise ValueError
        return datetime.fromisoformat(text)
    except ValueError:
        errors.append(invalid(Path(name), text, "invalid time format"))
        return None


def _number(pairs: Pairs, name: str, errors: list[FieldError]) -> int | None:
    text = _first(pairs, name)
    if not text:
        return None
    if re.fullmatch(r"[+-]?[0-9]+", text) and abs(int(text[-20:])) < 1 << 63 and len(text) < 20:
        return int(text)
    detail = f"strconv.Atoi: parsing {json.dumps(text)}: invalid syntax"
    errors.append(invalid(Path(name), text, detail))
    return None


def query_errors(query: LogQuery) -> list[FieldError]:
    """Return what is wrong with a query that has at least one parameter."""
    return [*_target_errors(query), *_option_errors(query.options)]


def _target_errors(query: LogQuery) -> list[FieldError]:
    errors = [invalid(_QUERY, name, text) for name in query.services if (text := _name_problem(name))]
    if len(query.services) > MAX_SERVICES:
        errors.append(too_many(_QUERY, len(query.services), MAX_SERVICES))
    files, services = query.files, query.services
    if not files and not services:
        errors.append(required(_QUERY, "cannot be empty with options"))
    elif files and services:
        both = Shown(json.dumps(f"[{' '.join(files)}], [{' '.join(services)}]"))
        errors.append(invalid(_QUERY, both, "cannot specify a file and service"))
    elif len(files) > 1:
        errors.append(invalid(_QUERY, files, "cannot specify more than one file"))
    elif files and query.options != LogOptions():
        errors.append(invalid(_QUERY, files, "cannot specify file with options"))
    return errors


def _name_problem(service: str) -> str:
    if len(service) > MAX_SERVICE_LENGTH:
        return f"length must be less than {MAX_SERVICE_LENGTH}"
    return "input contains unsupported characters" if _UNSAFE.search(service) else ""


def _option_errors(options: LogOptions) -> list[FieldError]:
    errors = []
    if options.since is not None and options.until is not None and options.since > options.until:
        text = options.until.isoformat().replace("+00:00", "Z")
        errors.append(invalid(Path("untilTime"), text, "must be after `sinceTime`"))
    if options.boot is not None and options.boot > 0:
        errors.append(invalid(Path("boot"), options.boot, "must be less than 1"))
    if options.tail_lines is not None and not 0 <= options.tail_lines <= MAX_TAIL_LINES:
        detail = f"must be between 0 and {MAX_TAIL_LINES}, inclusive"
        errors.append(invalid(Path("tailLines"), options.tail_lines, detail))
    try:
        re.compile(options.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        detail = f"error parsing regexp: {error}"
        errors.append(invalid(Path("pattern"), options.pattern, detail))
    return errors


def journal_arguments(services: Sequence[str], options: LogOptions) -> tuple[str, ...]:
    """Return the arguments of ``journalctl``."""
    found = ["--utc", "--no-pager", "--output=short-precise"]
    if options.since is not None:
        found.append(f"--since={_moment(options.since)}")
    if options.until is not None:
        found.append(f"--until={_moment(options.until)}")
    if options.tail_lines is not None:
        found += ["--pager-end", f"--lines={options.tail_lines}"]
    found += [f"--unit={service}" for service in services if service]
    if options.pattern:
        found.append(f"--grep={options.pattern}")
    if options.boot is not None:
        found += ["--boot", str(options.boot)]
    return tuple(found)


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def file_names(service: str) -> tuple[str, ...]:
    """Return the files below the directory of logs that a service without a journal may have, in order."""
    return service, f"{service}.log", f"{service}/{service}.log"
