"""The figures of a run as tables, in CSV and as JSON lines.

Times are seconds of virtual time since the run's begin, CPU is in cores, memory in bytes. Pure, but for
``write_tables``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from podling.sim.report.report_data import Interval, ReportData
from podling.sim.statistics import PERCENTILES, PHASES, Sample

Row = Mapping[str, object]


def tables(data: ReportData) -> dict[str, list[Row]]:
    """Return the rows of every table, by its name. All rows of a table have the same columns."""
    statistics = data.statistics
    return {
        "samples": [_sample(each) for each in statistics.samples],
        "budgets": [
            {"at": sample.at, "budget": name, "headroom": headroom}
            for sample in statistics.samples
            for name, headroom in sample.headroom.items()
        ],
        "pods": [
            {
                "pod": each.name,
                "uid": uid,
                "node": each.node,
                "created": each.created,
                "bound": each.bound,
                "ready": each.ready,
                "scheduling_seconds": _between(each.created, each.bound),
                "start_seconds": _between(each.created, each.ready),
            }
            for uid, each in statistics.times.items()
        ],
        "latencies": [
            *_latencies("scheduling", data.scheduling()),
            *_latencies("start", data.starts()),
        ],
        "nodes": [
            _plain(each) for each in sorted(statistics.spans, key=lambda span: (span.node, span.begin))
        ],
        "disruptions": [
            {"reason": reason, "pods": count} for reason, count in sorted(statistics.disruptions.items())
        ],
        "actions": [_plain(each) for each in data.outcome.actions],
        "assertions": [_plain(each) for each in data.results()],
        "violations": [
            {"at": data.second_of(each), "checker": each.checker, "text": each.text}
            for each in data.outcome.violations
        ],
    }


def csv_text(rows: Sequence[Row]) -> str:
    """Return rows as CSV with a line of names; empty without rows. An absent value is an empty field."""
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def json_lines(rows: Sequence[Row]) -> bytes:
    """Return rows as JSON, one a line."""
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def write_tables(data: ReportData, folder: Path) -> list[str]:
    """Write every table twice into a folder; return the names of the files. Raises ``OSError``."""
    names = []
    for name, rows in tables(data).items():
        (folder / f"{name}.csv").write_text(csv_text(rows))
        (folder / f"{name}.jsonl").write_bytes(json_lines(rows))
        names += [f"{name}.csv", f"{name}.jsonl"]
    return names


def _sample(sample: Sample) -> Row:
    row = dict(_plain(sample))
    phases = row.pop("phases")
    row.pop("headroom")
    assert isinstance(phases, dict)
    return {"at": row.pop("at")} | {name.lower(): phases.get(name, 0) for name in PHASES} | row


def _latencies(name: str, intervals: Sequence[Interval]) -> list[Row]:
    return [
        {"at": each.at, "of": name, "pods": each.pods}
        | {f"p{number}": each.percentiles[number] for number in PERCENTILES}
        for each in intervals
    ]


def _between(begin: float, end: float | None) -> float | None:
    return None if end is None else round(end - begin, 3)


def _plain(value: msgspec.Struct) -> Row:
    found: Row = msgspec.structs.asdict(value)
    return found
