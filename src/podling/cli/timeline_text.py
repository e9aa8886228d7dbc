"""A timeline in the terminal: a row of blocks per lane, then what happened, in order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import click

from podling.cli.timeline_model import Lane, Mark, Timeline
from podling.machinery.tables import human_duration

BLOCKS = {
    "scheduling": ("░", "blue"),
    "waiting": ("░", "white"),
    "pulling": ("▒", "cyan"),
    "running": ("█", "green"),
    "ready": ("█", "green"),
    "backoff": ("·", "yellow"),
    "terminating": ("▓", "magenta"),
}
LEGEND = "░ waiting  ▒ pulling  █ running or Ready  · back-off  ▓ terminating"


def lines(drawn: Timeline, width: int) -> Iterator[str]:
    """The lines to print, at most ``width`` columns wide (their colours not counted)."""
    label = max(len(lane.name) for lane in drawn.lanes) + 2
    columns = max(20, width - label)
    length = drawn.end - drawn.start
    yield f"{drawn.pod}: {human_duration(length)} from {drawn.start:%Y-%m-%d %H:%M:%S} UTC"
    yield " " * label + _scale(drawn, columns)
    for lane in drawn.lanes:
        yield f"{lane.name:<{label}}" + "".join(_row(lane, drawn, columns))
    yield " " * label + LEGEND
    yield ""
    told = [(mark, lane.name) for lane in drawn.lanes for mark in lane.marks]
    for mark, name in sorted(told, key=lambda pair: pair[0].at):
        yield _told(drawn.start, name, mark)


def _scale(drawn: Timeline, columns: int) -> str:
    total = human_duration(drawn.end - drawn.start)
    half = human_duration((drawn.end - drawn.start) / 2)
    middle = f"0s{half:^{max(0, columns - 2 - len(total))}}"
    return middle[: columns - len(total)].ljust(columns - len(total)) + total


def _row(lane: Lane, drawn: Timeline, columns: int) -> Iterator[str]:
    """One character a column: the last span that touches the column decides."""
    cells = [" "] * columns
    for span in lane.spans:
        block, colour = BLOCKS[span.kind]
        first, last = _column(span.start, drawn, columns), _column(span.end, drawn, columns)
        for column in range(first, last + 1):
            cells[column] = click.style(block, fg=colour)
    for mark in lane.marks:
        if mark.warning:
            cells[_column(mark.at, drawn, columns)] = click.style("!", fg="red", bold=True)
    return iter(cells)


def _column(moment: datetime, drawn: Timeline, columns: int) -> int:
    length = (drawn.end - drawn.start).total_seconds()
    share = (moment - drawn.start).total_seconds() / length if length > 0 else 0.0
    return min(columns - 1, max(0, int(share * columns)))


def _told(start: datetime, name: str, mark: Mark) -> str:
    seconds = max(0.0, (mark.at - start).total_seconds())
    times = f" (x{mark.count})" if mark.count > 1 else ""
    reason = click.style(mark.reason, fg="red" if mark.warning else None, bold=True)
    return f"{seconds:9.0f}s  {name}  {reason}{times}: {mark.text}"
