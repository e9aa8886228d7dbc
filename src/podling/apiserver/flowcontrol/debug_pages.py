"""The pages ``/debug/api_priority_and_fairness/...``: levels, queues and requests as tables of text.

Source: ``apiserver/pkg/util/flowcontrol/apf_controller_debug.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from podling.apiserver.flowcontrol.levels import Level, Levels
from podling.apiserver.flowcontrol.queues import Request, shown_work
from podling.apiserver.flowcontrol.requests import shown_attributes
from podling.apiserver.http.exchange import HttpRequest
from podling.machinery.durations import go_duration

PREFIX = "/debug/api_priority_and_fairness/"
DETAILS = "includeRequestDetails"
COLUMN_WIDTH_MIN = 8
NEVER = "0001-01-01T00:00:00Z"
"""Go's zero time: of a request that has not begun."""

LEVEL_COLUMNS = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
    "DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests",
)  # fmt: skip
QUEUE_COLUMNS = (
    "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR",
    "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum",
)  # fmt: skip
REQUEST_COLUMNS = (
    "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher",
    "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime",
)  # fmt: skip
DETAIL_COLUMNS = (
    "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource",
)  # fmt: skip

Row = tuple[str, ...]
AsTime = Callable[[float], str]


def debug_page(
    levels: Levels, path: str, query: Mapping[str, str], now: datetime, monotonic: float
) -> str | None:
    """Return the page at ``path``; None if there is none."""
    found = [levels.by_name[name] for name in sorted(levels.by_name)]
    name = path.removeprefix(PREFIX)
    if name == "dump_priority_levels":
        return _table(LEVEL_COLUMNS, map(_level_row, found))
    if name == "dump_queues":
        return _table(QUEUE_COLUMNS, (row for level in found for row in _queue_rows(level)))
    if name != "dump_requests":
        return None
    details = bool(query.get(DETAILS))

    def as_time(moment: float) -> str:
        return _rfc3339(now - timedelta(seconds=monotonic - moment))

    columns = (*REQUEST_COLUMNS, *DETAIL_COLUMNS) if details else REQUEST_COLUMNS
    return _table(columns, (row for level in found for row in _request_rows(level, as_time, details=details)))


def _table(columns: Row, rows: Iterable[Row]) -> str:
    """Return a table as Go's ``tabwriter`` aligns it; cells end with a comma."""
    lines = [tuple(f"{cell}," for cell in row[:-1]) + row[-1:] for row in (columns, *rows)]
    widths = [
        max(COLUMN_WIDTH_MIN, *(len(line[number]) + 1 for line in lines))
        for number in range(len(columns) - 1)
    ]
    return "".join(
        "".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)) + line[-1] + "\n"
        for line in lines
    )


def _level_row(level: Level) -> Row:
    found = level.queue_set
    active = sum(bool(queue.waiting) for queue in found.queues)
    brief = sum(counts.brief for counts in level.schemas.values()) + len(found.brief)
    flags = (str(found.is_idle).lower(), str(level.is_quiescing).lower())
    numbers = (
        found.requests_waiting, found.requests_executing + len(found.brief), found.dispatched + brief,
        found.rejected, found.timed_out, found.cancelled,
    )  # fmt: skip
    return (level.name, str(active), *flags, *map(str, numbers))


def _queue_rows(level: Level) -> Iterator[Row]:
    for number, queue in enumerate(level.queue_set.queues):
        yield (
            level.name, str(number), str(len(queue.waiting)), str(len(queue.executing)),
            str(queue.seats_in_use), shown_work(queue.next_dispatch_r), str(queue.initial_seats_sum),
            str(queue.seats_sum), shown_work(queue.work_sum),
        )  # fmt: skip


def _request_rows(level: Level, as_time: AsTime, *, details: bool) -> Iterator[Row]:
    found = level.queue_set
    for number, queue in enumerate(found.queues):
        for index, request in enumerate(queue.waiting):
            yield _request_row(level, request, (number, index), as_time, details=details)
        for request in queue.executing:
            yield _request_row(level, request, (number, -1), as_time, details=details)
    for request in found.executing:
        yield _request_row(level, request, (-1, -1), as_time, details=details)
    for served, flow in found.brief.items():
        began = as_time(served.received)
        row = (level.name, flow.schema, "-1", "-1", flow.distinguisher, began, "1", "0", "0s", began)
        yield (*row, *(_detail_cells(served) if details else ()))


def _request_row(
    level: Level, request: Request, place: tuple[int, int], as_time: AsTime, *, details: bool
) -> Row:
    started = as_time(request.started_at) if request.is_executing else NEVER
    row = (
        level.name, request.flow.schema, *map(str, place), request.flow.distinguisher,
        as_time(request.arrived_at), str(request.initial_seats), str(request.final_seats),
        go_duration(request.additional_seconds), started,
    )  # fmt: skip
    return (*row, *(_detail_cells(request.details) if details else ()))


def _detail_cells(request: HttpRequest | None) -> Row:
    if request is None:
        return ("",) * len(DETAIL_COLUMNS)
    asked = shown_attributes(request)
    parts = request.path.split("/")
    version = parts[3 if asked.group else 2] if asked.resource else ""
    return (
        request.user.name if request.user else "", asked.verb, request.path, asked.namespace, asked.name,
        f"{asked.group}/{version}" if asked.group else version, asked.resource, asked.subresource,
    )  # fmt: skip


def _rfc3339(moment: datetime) -> str:
    text = moment.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{text}Z"
