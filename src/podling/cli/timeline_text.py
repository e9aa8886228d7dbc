"""A timeline in the terminal: a row of blocks per lane, then what happened, in order. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import click

from podling.cli.timeline_model import Lane, Mark, Timeline, duration

BLOCKS = {
    "scheduling": ("▁", "blue", "waiting for a node"),
    "waiting": ("░", "white", "not Ready"),
    "pulling": ("▒", "cyan", "pulling"),
    "backoff": ("·", "yellow", "back-off"),
    "running": ("▄", "green", "running"),
    "ready": ("█", "green", "ready"),
    "hook": ("▞", "magenta", "hook"),
    "terminating": ("▓", "magenta", "terminating"),
}
SIGNS = {
    "!": ("warning", "red"),
    "+": ("probe succeeds", "green"),
    "-": ("probe fails", "red"),
    "T": ("stop signal", "yellow"),
    "o": ("ended well", "green"),
    "x": ("ended badly", "red"),
    "K": ("SIGKILL", "red"),
}
"""Signs of marks; where several fall on one column the lowest here is shown."""
LABEL_MAX = 20
COLUMNS_MIN = 10
TOLD_MAX = 50


def lines(drawn: Timeline, width: int, *, cut: bool = False, everything: bool = False) -> Iterator[str]:
    """Return the lines to print; the chart is ``width`` columns wide, and with ``cut`` nothing is wider.

    They end with the last ``TOLD_MAX`` moments, or ``everything``.
    """
    names = [_cut(lane.name, LABEL_MAX) for lane in drawn.lanes]
    label = max(map(len, names)) + 2
    columns = max(COLUMNS_MIN, width - label)
    title = f"{drawn.namespace}/{drawn.pod}, {drawn.status}: {duration(drawn.end - drawn.start)} "
    title += f"from {drawn.start:%Y-%m-%d %H:%M:%S} UTC"
    yield _cut(title, width) if cut else title
    yield " " * label + _scale(drawn, columns)
    for name, lane in zip(names, drawn.lanes, strict=True):
        yield f"{name:<{label}}" + "".join(_row(lane, drawn, columns))
    yield from _legend(drawn, width)
    yield ""
    marks = sorted(((m, lane.name) for lane in drawn.lanes for m in lane.marks), key=lambda pair: pair[0].at)
    shown = marks if everything else marks[-TOLD_MAX:]
    if len(shown) < len(marks):
        yield f"... {len(marks) - len(shown)} earlier moments are left out; --all tells them too"
    for mark, name in shown:
        yield _told(drawn.start, name, mark, width if cut else 0)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: max(0, length - 1)]}…"


def _scale(drawn: Timeline, columns: int) -> str:
    total = duration(drawn.end - drawn.start)
    half = duration((drawn.end - drawn.start) / 2)
    middle = f"0s{half:^{max(0, columns - 2 - len(total))}}"
    return middle[: max(0, columns - len(total))].ljust(max(0, columns - len(total))) + total[:columns]


def _row(lane: Lane, drawn: Timeline, columns: int) -> Iterator[str]:
    """One character a column: the last span that touches the column decides, and marks go over spans."""
    cells = [" "] * columns
    for span in lane.spans:
        block, colour, _ = BLOCKS[span.kind]
        first, last = _column(span.start, drawn, columns), _column(span.end, drawn, columns)
        for column in range(first, last + 1):
            cells[column] = click.style(block, fg=colour)
    order = list(SIGNS)
    signs = [(sign, mark) for mark in lane.marks if (sign := _sign(mark))]
    for sign, mark in sorted(signs, key=lambda pair: order.index(pair[0])):
        cells[_column(mark.at, drawn, columns)] = click.style(sign, fg=SIGNS[sign][1], bold=True)
    return iter(cells)


def _sign(mark: Mark) -> str:
    if mark.kind == "signal":
        return "K" if mark.reason == "SIGKILL" else "T"
    if mark.kind == "end":
        return "x" if mark.warning else "o"
    if mark.kind == "probe":
        return "-" if mark.warning else "+"
    return "!" if mark.warning else ""


def _legend(drawn: Timeline, width: int) -> Iterator[str]:
    """Return the legend of the blocks and signs in use, wrapped at the width."""
    kinds = {span.kind for lane in drawn.lanes for span in lane.spans}
    signs = {_sign(mark) for lane in drawn.lanes for mark in lane.marks}
    words = [f"{block} {text}" for kind, (block, _, text) in BLOCKS.items() if kind in kinds]
    words += [f"{sign} {text}" for sign, (text, _) in SIGNS.items() if sign in signs]
    line = ""
    for word in words:
        if line and len(line) + 3 + len(word) > width:
            yield line
            line = ""
        line = f"{line}   {word}" if line else word
    yield line


def _column(moment: datetime, drawn: Timeline, columns: int) -> int:
    length = (drawn.end - drawn.start).total_seconds()
    share = (moment - drawn.start).total_seconds() / length if length > 0 else 0.0
    return min(columns - 1, max(0, int(share * columns)))


def _told(start: datetime, name: str, mark: Mark, width: int) -> str:
    since = max(mark.at - start, timedelta())
    when = f"{since.total_seconds():.1f}s" if since < timedelta(minutes=10) else duration(since)
    times = f" (x{mark.count})" if mark.count > 1 else ""
    text = f"{times}: {' '.join(mark.text.split())}"
    head = f"{when:>8}  {name}  "
    if width:
        text = _cut(text, max(10, width - len(head) - len(mark.reason)))
    return head + click.style(mark.reason, fg="red" if mark.warning else None, bold=True) + text
