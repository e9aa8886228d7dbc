"""A timeline as a picture: one SVG document that stands on its own. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from html import escape

from podling.cli.timeline_model import Lane, Mark, Span, Timeline, duration

WIDTH, ROW, HEAD, MARGIN, FOOT = 1100, 46, 64, 24, 62
BAR, THIN = 20, 7
LABEL_MIN, LETTER = 90, 7.2
COLOURS = {
    "scheduling": "#9db8d9",
    "waiting": "#dfe3e8",
    "pulling": "#7cc6d6",
    "backoff": "#f5d58a",
    "running": "#a9dcb8",
    "ready": "#3f9d63",
    "hook": "#8e6bbf",
    "terminating": "#c9a3da",
}
NAMES = {
    "scheduling": "waiting for a node",
    "waiting": "not Ready",
    "pulling": "pulling",
    "backoff": "back-off",
    "running": "running",
    "ready": "ready",
    "hook": "hook",
    "terminating": "terminating",
}
LABELLED = ("scheduling", "pulling", "backoff", "terminating")
"""Kinds that say what they are where they are wide enough; the others are drawn over one another."""
GOOD, BAD, PLAIN, STOP = "#2e8b57", "#c0392b", "#34495e", "#b9770e"
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400)
TICKS_MAX = 10


def svg(drawn: Timeline) -> str:
    """Return the whole document."""
    height = HEAD + ROW * len(drawn.lanes) + FOOT
    body = "\n".join(_Picture(drawn).body())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


class _Picture:
    """One timeline and where its moments lie."""

    def __init__(self, drawn: Timeline) -> None:
        self._drawn = drawn
        longest = max(len(lane.name) for lane in drawn.lanes)
        self._label = max(LABEL_MIN, MARGIN + longest * LETTER)
        self._length = (drawn.end - drawn.start).total_seconds()

    def _x(self, moment: datetime) -> float:
        since = (moment - self._drawn.start).total_seconds()
        share = since / self._length if self._length > 0 else 0.0
        return self._label + min(1.0, max(0.0, share)) * (WIDTH - self._label - MARGIN)

    def body(self) -> Iterator[str]:
        drawn = self._drawn
        title = f"{drawn.namespace}/{drawn.pod}: {drawn.status}"
        when = f"{duration(drawn.end - drawn.start)} from {drawn.start:%Y-%m-%d %H:%M:%S} UTC"
        yield f'<text x="{MARGIN}" y="24" font-size="16" font-weight="bold">{_text(title)}</text>'
        yield f'<text x="{WIDTH - MARGIN}" y="24" text-anchor="end" fill="#667">{_text(when)}</text>'
        yield from self._ticks()
        for position, lane in enumerate(drawn.lanes):
            yield from self._lane(lane, HEAD + ROW * position)
        yield from self._legend(HEAD + ROW * len(drawn.lanes) + 24)

    def _ticks(self) -> Iterator[str]:
        step = next((step for step in STEPS if self._length / step <= TICKS_MAX), STEPS[-1])
        bottom = HEAD + ROW * len(self._drawn.lanes)
        for number in range(int(min(self._length / step, 1000)) + 1):
            since = timedelta(seconds=step * number)
            x = self._x(self._drawn.start + since)
            yield f'<line x1="{x:.1f}" y1="{HEAD - 6}" x2="{x:.1f}" y2="{bottom}" stroke="#e4e7ea"/>'
            text = _text(duration(since) if number else "0")
            yield f'<text x="{x:.1f}" y="{HEAD - 12}" text-anchor="middle" fill="#667">{text}</text>'

    def _lane(self, lane: Lane, top: float) -> Iterator[str]:
        middle = top + BAR / 2 + 8
        left = self._label - 10
        yield f'<text x="{left:.1f}" y="{middle:.1f}" text-anchor="end">{_text(lane.name)}</text>'
        for span in lane.spans:
            yield from self._span(span, top + 4)
        for mark in lane.marks:
            yield self._mark(mark, top)

    def _span(self, span: Span, top: float) -> Iterator[str]:
        left = self._x(span.start)
        wide = max(1.5, self._x(span.end) - left)
        high = THIN if span.kind == "hook" else BAR
        title = f"{NAMES[span.kind]}: {span.text} ({duration(span.end - span.start)})"
        yield (
            f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{high}" rx="2" '
            f'fill="{COLOURS[span.kind]}"><title>{_text(title)}</title></rect>'
        )
        label = span.text if span.kind == "backoff" else NAMES[span.kind]
        if span.kind in LABELLED and wide > len(label) * LETTER:
            yield f'<text x="{left + 5:.1f}" y="{top + 14}" font-size="11" fill="#333">{_text(label)}</text>'

    def _mark(self, mark: Mark, top: float) -> str:
        x, low = self._x(mark.at), top + BAR + 13
        times = f" x{mark.count}" if mark.count > 1 else ""
        title = f"<title>{_text(f'{mark.reason}{times}: {mark.text}')}</title>"
        if mark.kind == "signal":
            colour, letter = (BAD, "K") if mark.reason == "SIGKILL" else (STOP, "T")
            return (
                f'<g fill="{colour}">{title}<rect x="{x - 1:.1f}" y="{top}" width="2" height="{BAR + 8}"/>'
                f'<text x="{x + 3:.1f}" y="{top + 18}" font-size="12" font-weight="bold" stroke="white" '
                f'stroke-width="3" paint-order="stroke">{letter}</text></g>'
            )
        colour = BAD if mark.warning else PLAIN if mark.kind == "event" else GOOD
        if mark.kind == "probe":
            points = f"{x:.1f},{low - 5} {x + 5:.1f},{low} {x:.1f},{low + 5} {x - 5:.1f},{low}"
            return f'<polygon points="{points}" fill="{colour}">{title}</polygon>'
        if mark.kind == "end":
            return f'<rect x="{x - 3:.1f}" y="{low - 3}" width="6" height="6" fill="{colour}">{title}</rect>'
        return f'<circle cx="{x:.1f}" cy="{low}" r="3" fill="{colour}">{title}</circle>'

    def _legend(self, top: float) -> Iterator[str]:
        """Return the legend: each kind of interval and mark once."""
        kinds = {span.kind for lane in self._drawn.lanes for span in lane.spans}
        x = float(MARGIN)
        for kind, name in NAMES.items():
            if kind in kinds:
                box = f'x="{x:.1f}" y="{top - 10}" width="12" height="12" rx="2"'
                yield f'<rect {box} fill="{COLOURS[kind]}"/>'
                yield f'<text x="{x + 17:.1f}" y="{top}" fill="#555">{_text(name)}</text>'
                x += 17 + len(name) * LETTER + 14
        marks = "◆ probe verdict   ● event   ■ end of a run   T stop signal   K SIGKILL   (red: bad)"
        yield f'<text x="{MARGIN}" y="{top + 20}" fill="#555" xml:space="preserve">{marks}</text>'


def _text(text: str) -> str:
    """As XML takes it: escaped, and without the control characters that it has no place for."""
    return escape("".join(letter for letter in text if letter >= " " or letter in "\t\n"))
