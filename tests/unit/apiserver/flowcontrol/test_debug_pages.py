"""The debug pages, as Go's ``tabwriter`` aligns them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podling.apiserver.flowcontrol.debug_pages import LEVEL_COLUMNS, PREFIX, debug_page
from podling.apiserver.flowcontrol.flows import Flow
from podling.apiserver.flowcontrol.levels import Levels
from podling.apiserver.flowcontrol.queues import Request
from podling.apiserver.flowcontrol.work_estimate import WorkEstimate
from podling.apiserver.kinds.flowcontrol.defaults import flow_schemas, priority_levels

NOW = datetime(2026, 1, 2, 3, 4, 5, 250_000, UTC)


@pytest.fixture
def levels() -> Levels:
    found = Levels(245, 0.0)
    found.configure((each for each in priority_levels() if each.metadata.name != "system"), 0.0)
    return found


def page(levels: Levels, name: str, **query: str) -> list[str]:
    found = debug_page(levels, PREFIX + name, query, NOW, 100.0)
    assert found is not None
    return found.splitlines()


def test_levels_are_aligned_in_columns(levels: Levels) -> None:
    lines = page(levels, "dump_priority_levels")
    assert lines[0] == (
        "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, "
        "DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests"
    )
    columns = [lines[0].index(name) for name in LEVEL_COLUMNS]
    cells = ("catch-all,", "0,", "true,", "false,", "0,", "0,", "0,", "0,", "0,", "0")
    for column, cell in zip(columns, cells, strict=True):
        assert lines[1][column:].startswith(cell)
        assert lines[1][column - 1 : column] in ("", " ")
    assert len(lines) == 8


def test_requests_are_shown_with_their_queue_and_times(levels: Levels) -> None:
    level = levels.by_name["leader-election"]
    schema = next(each for each in flow_schemas() if each.metadata.name == "system-leader-election")
    flow = Flow(schema, level, "ann", lambda flow: None)
    for number in range(level.queue_set.limit + 1):
        estimate = WorkEstimate(1, 2, 0.005) if number == 0 else WorkEstimate()
        request = level.queue_set.start(flow.counts, estimate, flow.hash, 90.0)
        assert isinstance(request, Request)
        request.flow = flow
    lines = [[cell.strip() for cell in line.split(",")] for line in page(levels, "dump_requests")]
    rows = lines[1:]
    assert len(rows) == level.queue_set.limit + 1
    (first,) = [row for row in rows if row[7] == "2"]
    assert first[:2] == ["leader-election", "system-leader-election"]
    assert first[3:] == [
        "-1", "ann", "2026-01-02T03:03:55.25Z", "1", "2", "5ms", "2026-01-02T03:03:55.25Z"
    ]  # fmt: skip
    waiting = [row for row in rows if row[9] == "0001-01-01T00:00:00Z"]
    assert waiting
    queues = [[cell.strip() for cell in line.split(",")] for line in page(levels, "dump_queues")[1:]]
    own = [row for row in queues if row[0] == "leader-election"]
    assert sum(int(row[2]) for row in own) == len(waiting)
    assert sum(int(row[4]) for row in own) == level.queue_set.seats_in_use
    assert {row[8] for row in own} >= {"0.00000000ss", "0.00300000ss"}


def test_other_paths_have_no_page(levels: Levels) -> None:
    assert debug_page(levels, PREFIX + "other", {}, NOW, 100.0) is None
