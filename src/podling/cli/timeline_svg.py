"""A timeline as a picture: one SVG document that stands on its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from html import escape

from podling.cli.timeline_model import Lane, Timeline
from podling.machinery.tables import human_duration

WIDTH, LABEL, ROW, HEAD, MARGIN = 1000, 140, 34, 56, 20
COLOURS = {
    "scheduling": "#9db8d9",
    "waiting": "#cfd4da",
    "pulling": "#7cc6d6",
    "running": "#4caf73",
    "ready": "#2e8b57",
    "backoff": "#f0c36d",
    "terminating": "#b48ac8",
}
TICKS = 5


def svg(drawn: Timeline) -> str:
    """The whole document."""
    height = HEAD + ROW * len(drawn.lanes) + MARGIN
    body = "\n".join(_body(drawn))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _body(drawn: Timeline) -> Iterator[str]:
    title = f"{drawn.pod}, from {drawn.start:%Y-%m-%d %H:%M:%S} UTC"
    yield f'<text x="{MARGIN}" y="20" font-size="15" font-weight="bold">{escape(title)}</text>'
    length = drawn.end - drawn.start
    bottom = HEAD + ROW * len(drawn.lanes)
    for tick in range(TICKS + 1):
        x = _x(drawn.start + length * tick / TICKS, drawn)
        text = escape(human_duration(length * tick / TICKS))
        yield f'<line x1="{x:.1f}" y1="{HEAD - 8}" x2="{x:.1f}" y2="{bottom}" stroke="#e4e7ea"/>'
        yield f'<text x="{x:.1f}" y="{HEAD - 14}" text-anchor="middle" fill="#667">{text}</text>'
    for position, lane in enumerate(drawn.lanes):
        yield from _lane(lane, HEAD + ROW * position, drawn)


def _lane(lane: Lane, top: float, drawn: Timeline) -> Iterator[str]:
    yield f'<text x="{LABEL - 8}" y="{top + 20}" text-anchor="end">{escape(lane.name)}</text>'
    for span in lane.spans:
        left = _x(span.start, drawn)
        wide = max(1.5, _x(span.end, drawn) - left)
        title = f"{span.kind}: {span.text} ({human_duration(span.end - span.start)})"
        yield (
            f'<rect x="{left:.1f}" y="{top + 6}" width="{wide:.1f}" height="{ROW - 14}" rx="2" '
            f'fill="{COLOURS[span.kind]}"><title>{escape(title)}</title></rect>'
        )
    for mark in lane.marks:
        x = _x(mark.at, drawn)
        colour = "#c0392b" if mark.warning else "#34495e"
        times = f" x{mark.count}" if mark.count > 1 else ""
        yield (
            f'<circle cx="{x:.1f}" cy="{top + ROW - 6}" r="3" fill="{colour}">'
            f"<title>{escape(f'{mark.reason}{times}: {mark.text}')}</title></circle>"
        )


def _x(moment: datetime, drawn: Timeline) -> float:
    length = (drawn.end - drawn.start).total_seconds()
    share = (moment - drawn.start).total_seconds() / length if length > 0 else 0.0
    return LABEL + min(1.0, max(0.0, share)) * (WIDTH - LABEL - MARGIN)
