"""Two runs beside one another, as a table in Markdown: without and with the protection, for example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.abusing.report import milliseconds

Figures = Mapping[str, Any]
HEAD = (
    "deed", "GET p99, ms", "GET max, ms", "LIST p99, ms", "event p99, ms", "failed", "heartbeat late, s",
    "memory, MiB", "recovery, s", "answers a second", "of these 429",
)  # fmt: skip


def compared(before: Sequence[Figures], now: Sequence[Figures]) -> str:
    """Return a row for each deed of ``now``; cells have the value before, if there is one, and the new."""
    known = {each["deed"]: each for each in before}
    rows = [HEAD, tuple("---" for _ in HEAD)]
    rows += [_row(known.get(each["deed"]), each) for each in now]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(before: Figures | None, now: Figures) -> tuple[str, ...]:
    cells = _cells(now)
    if before is not None:
        pairs = zip(_cells(before), cells, strict=True)
        cells = tuple(old if old == new else f"{old} → {new}" for old, new in pairs)
    return (now["title"], *cells)


def _cells(figures: Figures) -> tuple[str, ...]:
    recovery = figures["recovery"]
    codes: Mapping[str, int] = figures["codes"]
    answers = sum(codes.values()) / figures["seconds"]
    refused = codes.get("429", 0) / figures["seconds"]
    times = (figures[name] for name in ("get_p99", "get_max", "list_p99", "event_p99"))
    return (
        *(milliseconds(each).removesuffix(" ms") for each in times),
        str(sum(figures["failures"].values())),
        f"{figures['heartbeat']:.1f}",
        f"{figures['memory_peak']:.0f}",
        "none" if recovery is None else f"{recovery:.1f}",
        f"{answers:.3g}",
        f"{refused:.3g}",
    )
