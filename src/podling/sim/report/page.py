"""The HTML page of a report. It needs no network and no script. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from podling.machinery.durations import go_duration
from podling.sim.report.report_data import ReportData
from podling.sim.statistics import Statistics, percentiles

ROWS_MAX = 200
SLOWEST = 10
CSS = """
:root { color-scheme: light; }
body { font: 14px/1.45 system-ui, sans-serif; color: #1f2430; background: #f5f6f8; margin: 0; }
main { max-width: 1060px; margin: 0 auto; padding: 20px 16px 60px; }
h1 { font-size: 21px; margin: 0; } h2 { font-size: 15px; margin: 0; display: inline; }
.about { color: #5b6270; margin: 2px 0 14px; }
.verdict { border-radius: 8px; padding: 10px 16px; color: #fff; font-size: 16px; font-weight: 600; }
.good { background: #2f7d4f; } .bad { background: #b23b30; }
.tiles { display: flex; flex-wrap: wrap; gap: 10px; margin: 12px 0; }
.tile { background: #fff; border-radius: 8px; padding: 8px 14px; flex: 1 1 130px; }
.tile b { display: block; font-size: 19px; font-variant-numeric: tabular-nums; }
.tile span { color: #5b6270; font-size: 12px; }
section { background: #fff; border-radius: 8px; padding: 10px 14px; margin: 12px 0; overflow-x: auto; }
section p { display: inline; color: #5b6270; margin-left: 8px; }
svg { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; margin-top: 6px; font-variant-numeric: tabular-nums; }
td, th { text-align: left; padding: 3px 10px 3px 0; border-bottom: 1px solid #eceef1; vertical-align: top; }
th { font-weight: 600; color: #5b6270; } td.time { white-space: nowrap; }
pre, code { font: 12.5px/1.4 ui-monospace, monospace; white-space: pre-wrap; margin: 0; }
pre { overflow-wrap: anywhere; }
.FAIL { color: #b23b30; font-weight: 600; } .PASS { color: #2f7d4f; font-weight: 600; }
"""

Plot = tuple[str, str, str]


def page(data: ReportData, plots: Iterable[Plot], files: Sequence[str]) -> str:
    """Return the page.

    Args:
        plots: title, explanation and SVG of each.
        files: the names of the files beside the page.
    """
    outcome = data.outcome
    body = [
        f"<h1>{escape(data.scenario.description or data.file)}</h1>",
        f'<div class="about">{escape(data.file)}, seed {outcome.seed}</div>',
        _verdict(data),
        _tiles(data),
        _failures(data),
        *(_section(title, text, svg) for title, text, svg in plots),
        _actions(data),
        _assertions(data),
        _slowest(data.statistics),
        _origin(data, files),
    ]
    title = escape(data.scenario.description or data.file)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{CSS}</style></head>\n<body><main>\n" + "\n".join(body) + "\n"
        "</main></body></html>\n"
    )


def verdict(data: ReportData) -> tuple[bool, str]:
    """Return whether the run went well, and that in one sentence. Pure."""
    failures = data.failures()
    held = sum(each.passed for each in data.results())
    if not data.outcome.is_complete:
        return False, f"Interrupted after {go_duration(data.outcome.seconds)}: this is what was so far."
    if not failures:
        assertions = f"{held} assertions held" if held else "there were no assertions"
        return True, f"Passed: {assertions}, every action was done, no invariant was violated."
    at, name, _ = failures[0]
    more = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
    return False, f"Failed: {name} at {go_duration(at)}{more}."


def _verdict(data: ReportData) -> str:
    good, text = verdict(data)
    return f'<div class="verdict {"good" if good else "bad"}">{escape(text)}</div>'


def _tiles(data: ReportData) -> str:
    statistics, outcome = data.statistics, data.outcome
    last = statistics.samples[-1]
    speed = outcome.seconds / data.elapsed if data.elapsed else 0.0
    lowest = min((low for each in statistics.samples for low in each.headroom.values()), default=None)
    found = [
        (go_duration(round(outcome.seconds)), f"virtual time, in {data.elapsed:.1f} s ({speed:,.0f}x)"),
        (f"{last.ready_nodes} of {last.nodes}", "nodes Ready at the end"),
        (f"{last.ready_pods} of {sum(last.phases.values())}", "pods Ready at the end"),
        (f"{statistics.created['Pod']:,}", f"pods created, {statistics.deleted['Pod']:,} deleted"),
        (_latency(statistics.scheduling_seconds()), "creation to binding, p50 / p99"),
        (_latency(statistics.start_seconds()), "creation to Ready, p50 / p99"),
        (f"{statistics.restarts:,}", "restarts of containers"),
        (f"{statistics.disruptions.total():,}", _reasons(statistics)),
    ]
    if lowest is not None:
        found.append((str(lowest), "lowest headroom of a disruption budget"))
    tiles = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(text)}</span></div>' for value, text in found
    )
    return f'<div class="tiles">{tiles}</div>'


def _latency(values: Sequence[float]) -> str:
    found = percentiles(values)
    return f"{found[50]:.1f} / {found[99]:.1f} s" if found else "none"


def _reasons(statistics: Statistics) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(statistics.disruptions.items()))
    return f"disruptions: {reasons}" if reasons else "disruptions"


def _failures(data: ReportData) -> str:
    rows = [(go_duration(at), escape(name), _pre(text)) for at, name, text in data.failures()]
    return _table("What failed", ("at", "what", "how"), rows) if rows else ""


def _actions(data: ReportData) -> str:
    rows = [
        (go_duration(each.at), str(number), escape(each.name), _pre(each.error) if each.error else "done")
        for number, each in enumerate(data.moments(), 1)
    ]
    return _table("Actions", ("at", "number", "action", "outcome"), rows) if rows else ""


def _assertions(data: ReportData) -> str:
    rows = []
    for each in data.results():
        word = "PASS" if each.passed else "FAIL"
        name = f'<span class="{word}">{word}</span> {escape(each.name)}'
        rows.append((go_duration(each.at), name, _pre(each.text)))
    return _table("Assertions", ("decided at", "assertion", "outcome"), rows) if rows else ""


def _slowest(statistics: Statistics) -> str:
    ready = [
        (each.ready - each.created, each) for each in statistics.times.values() if each.ready is not None
    ]
    ready.sort(key=lambda item: (-item[0], item[1].name))
    rows = [
        (
            go_duration(each.created),
            escape(each.name),
            escape(each.node),
            f"{(each.bound or each.created) - each.created:.1f} s",
            f"{seconds:.1f} s",
        )
        for seconds, each in ready[:SLOWEST]
    ]
    heads = ("created at", "pod", "node", "to bound", "to Ready")
    return _table("Slowest starts", heads, rows) if rows else ""


def _origin(data: ReportData, files: Sequence[str]) -> str:
    links = " ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in files)
    command = f"podling sim {data.file} --seed {data.outcome.seed}"
    return (
        "<section><h2>The same run again, and its figures</h2>"
        f"<pre>{escape(command)}\ndigest: {data.outcome.digest}</pre>{links}</section>"
    )


def _section(title: str, text: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2><p>{escape(text)}</p>{content}</section>"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already; the first one is a time."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    shown = "".join(
        f'<tr><td class="time">{first}</td>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows[:ROWS_MAX]
    )
    more = f"<p>and {len(rows) - ROWS_MAX} more, in the files below</p>" if len(rows) > ROWS_MAX else ""
    return f"<section><h2>{escape(title)}</h2>{more}<table><tr>{head}</tr>{shown}</table></section>"


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
