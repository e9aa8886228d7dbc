"""The plots of a run: SVG texts, drawn with matplotlib.

All have the same width and margins, and so one axis of time: what stands below one another happened at the
same time. The extra ``podling[report]`` brings matplotlib; nothing else imports this module.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from podling.machinery.durations import go_duration
from podling.sim.node_figures import NodeSpan
from podling.sim.report.report_data import Interval, ReportData
from podling.sim.statistics import PERCENTILES

WIDTH, LEFT, RIGHT = 10.6, 0.85, 1.75
"""Inches: of the picture, and of the margins of the axes; legends stand in the right one."""
TOP, BOTTOM = 0.22, 0.36
HEIGHT, ROW = 1.75, 0.16
NODES_MAX = 60
"""Nodes that have a line in the plot of the nodes."""
BUDGETS_MAX = 8
MARK_DISTANCE = 0.035
"""The part of the width below which the numbers of actions are joined."""
COLOURS = {
    "Running": "#5aa874",
    "Pending": "#e3b341",
    "Terminating": "#b48ac8",
    "Succeeded": "#86a9d4",
    "Failed": "#cf5b4f",
    "Unknown": "#8a8f98",
}
NODE_COLOURS = {"Ready": "#a9d5b5", "Cordoned": "#e3b341", "NotReady": "#cf5b4f"}
LINES = ("#2f6f9f", "#c0562f", "#6a4c93", "#3d8f5f", "#946b2d", "#b03a6f", "#4b5563", "#0f8b8d")
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "podling",
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9aa1ab",
    "axes.grid": True,
    "grid.color": "#e6e8ec",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.color": "#555b66",
    "ytick.color": "#555b66",
    "legend.frameon": False,
    "lines.linewidth": 1.5,
}


def plots(data: ReportData) -> Iterator[tuple[str, str, str]]:
    """Yield each plot that has something to show: title, explanation and SVG."""
    samples = data.statistics.samples
    yield "Pods", "by phase; numbers are actions, shaded times are faults", _svg(data, _phases, marks=True)
    yield "Nodes", "the state of each node over time", _svg(data, _nodes, height=_nodes_height(data))
    if data.scheduling():
        yield "Scheduling", "seconds from creation to binding, of pods created then", _svg(data, _scheduling)
    if data.starts():
        yield "Start", "seconds from creation to the first Ready, of pods created then", _svg(data, _starts)
    yield "Utilisation", "the part of the allocatable resources that bound pods request", _svg(data, _use)
    if data.statistics.restarts or data.statistics.disruptions:
        text = "restarts of containers, and pods that were evicted, preempted or lost; sums"
        yield "Restarts and disruptions", text, _svg(data, _ends)
    if any(each.headroom for each in samples):
        text = "healthy pods above what each disruption budget wants; below zero: too few"
        yield "Budget headroom", text, _svg(data, _headroom)


def tick_seconds(seconds: float) -> float:
    """Return a distance of ticks that gives at most ten of them. Pure."""
    return next((float(each) for each in STEPS if seconds / each <= 10), 86400.0 * -(-seconds // 864000))


def _svg(
    data: ReportData, draw: Callable[[Any, ReportData], None], *, height: float = HEIGHT, marks: bool = False
) -> str:
    with matplotlib.rc_context(STYLE):
        whole = height + TOP + BOTTOM
        figure = Figure(figsize=(WIDTH, whole))
        FigureCanvasSVG(figure)
        place = (LEFT / WIDTH, BOTTOM / whole, (WIDTH - LEFT - RIGHT) / WIDTH, height / whole)
        axes = figure.add_axes(place)
        _shade(axes, data)
        draw(axes, data)
        if marks:
            _mark(axes, data)
        _time_axis(axes, data)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _time_axis(axes: Any, data: ReportData) -> None:
    axes.set_xlim(0, data.seconds)
    axes.xaxis.set_major_locator(MultipleLocator(tick_seconds(data.seconds)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _short(seconds: float) -> str:
    """Return ``1h30m`` for 5400. Pure."""
    text = go_duration(seconds)
    for zero in ("m0s", "h0m"):
        text = text.removesuffix(zero) + zero[0] if text.endswith(zero) else text
    return text


def _shade(axes: Any, data: ReportData) -> None:
    for fault in data.faults():
        axes.axvspan(fault.begin, fault.end, color="#f3d9d6", alpha=0.55, linewidth=0)
    for record in data.moments():
        axes.axvline(record.at, color="#b9a7a5", linewidth=0.7, linestyle=(0, (2, 2)))


def mark_texts(parts: Sequence[float]) -> list[tuple[float, str]]:
    """Return where the numbers of actions stand, and each text: ``3``, or ``3-5`` for close ones. Pure.

    Args:
        parts: the moments as parts of the run, in their order.
    """
    groups: list[list[int]] = []
    for number, part in enumerate(parts):
        if groups and part - parts[groups[-1][0]] < MARK_DISTANCE:
            groups[-1].append(number)
        else:
            groups.append([number])
    return [
        (parts[each[0]], f"{each[0] + 1}" if len(each) == 1 else f"{each[0] + 1}-{each[-1] + 1}")
        for each in groups
    ]


def _mark(axes: Any, data: ReportData) -> None:
    """Write the numbers of the actions above the plot."""
    for at, text in mark_texts([each.at / data.seconds for each in data.moments()]):
        axes.text(at, 1.02, text, transform=axes.transAxes, ha="left", va="bottom", color="#a33b30")


def _phases(axes: Any, data: ReportData) -> None:
    samples = data.statistics.samples
    names = [name for name in COLOURS if any(each.phases.get(name) for each in samples)]
    heights = [[each.phases.get(name, 0) for each in samples] for name in names]
    at = [each.at for each in samples]
    if names:
        axes.stackplot(
            at, *heights, labels=names, colors=[COLOURS[name] for name in names], step="post", linewidth=0
        )
    axes.step(at, [each.ready_pods for each in samples], where="post", color="#1f4e37", label="Ready")
    _counts(axes)
    _legend(axes)


def _nodes_height(data: ReportData) -> float:
    return max(0.5, ROW * len(_shown_nodes(data.statistics.spans)[0]))


def _shown_nodes(spans: Sequence[NodeSpan]) -> tuple[list[str], int]:
    """Return the nodes that have a line, those with more than one state first, and the number of others."""
    names = list(dict.fromkeys(each.node for each in spans))
    names.sort(key=_natural)
    if len(names) <= NODES_MAX:
        return names, 0
    changed = {each.node for each in spans if each.state != "Ready"}
    chosen = sorted(names, key=lambda name: name not in changed)[:NODES_MAX]
    return sorted(chosen, key=_natural), len(names) - NODES_MAX


def _natural(name: str) -> tuple[str, int, str]:
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0), name


def _nodes(axes: Any, data: ReportData) -> None:
    names, others = _shown_nodes(data.statistics.spans)
    rows = {name: row for row, name in enumerate(names)}
    for state, colour in NODE_COLOURS.items():
        mine = [each for each in data.statistics.spans if each.state == state and each.node in rows]
        if mine:
            axes.barh(
                [rows[each.node] for each in mine],
                [each.end - each.begin for each in mine],
                left=[each.begin for each in mine],
                height=0.8,
                color=colour,
                linewidth=0,
                label=state,
            )
    axes.set_yticks(range(len(names)), names, fontsize=6.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    if others:
        axes.text(1.01, 0.0, f"and {others} more", transform=axes.transAxes, va="bottom", color="#555b66")
    _legend(axes)


def _scheduling(axes: Any, data: ReportData) -> None:
    _percentiles(axes, data.scheduling())


def _starts(axes: Any, data: ReportData) -> None:
    _percentiles(axes, data.starts())


def _percentiles(axes: Any, intervals: Sequence[Interval]) -> None:
    for number, colour in zip(PERCENTILES, ("#9dc3e0", "#4f8fbf", "#1d4f7a"), strict=True):
        values = [each.percentiles[number] for each in intervals]
        axes.plot([each.at for each in intervals], values, "o-", ms=3, color=colour, label=f"p{number}")
    axes.set_ylim(bottom=0, top=max(1.0, axes.get_ylim()[1]))
    axes.set_ylabel("seconds")
    _legend(axes)


def _use(axes: Any, data: ReportData) -> None:
    samples = data.statistics.samples
    at = [each.at for each in samples]
    for label, colour, values in (
        ("CPU", LINES[0], [_share(each.cpu_requested, each.cpu_allocatable) for each in samples]),
        ("memory", LINES[1], [_share(each.memory_requested, each.memory_allocatable) for each in samples]),
    ):
        axes.step(at, values, where="post", color=colour, label=label)
    axes.set_ylim(0, max(100.0, axes.get_ylim()[1]))
    axes.set_ylabel("%")
    _legend(axes)


def _ends(axes: Any, data: ReportData) -> None:
    samples = data.statistics.samples
    at = [each.at for each in samples]
    axes.step(at, [each.restarts for each in samples], where="post", color=LINES[1], label="restarts")
    axes.step(at, [each.disruptions for each in samples], where="post", color=LINES[2], label="disruptions")
    _counts(axes)
    _legend(axes)


def _headroom(axes: Any, data: ReportData) -> None:
    samples = data.statistics.samples
    lowest: dict[str, int] = {}
    for sample in samples:
        for name, value in sample.headroom.items():
            lowest[name] = min(value, lowest.get(name, value))
    shown = sorted(lowest, key=lambda name: lowest[name])[:BUDGETS_MAX]
    for number, name in enumerate(shown):
        mine = [each for each in samples if name in each.headroom]
        at, values = [each.at for each in mine], [each.headroom[name] for each in mine]
        axes.step(at, values, where="post", color=LINES[number], label=name)
    axes.axhline(0, color="#cf5b4f", linewidth=0.9)
    axes.set_ylim(bottom=min(-0.5, axes.get_ylim()[0]))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    _legend(axes)


def _counts(axes: Any) -> None:
    axes.set_ylim(bottom=0, top=max(1.0, axes.get_ylim()[1]))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def _legend(axes: Any) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.03), handlelength=1.1, borderaxespad=0.2)


def _share(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
