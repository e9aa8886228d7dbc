"""The plots of a report, where the extra that draws them is installed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from podling.sim.node_figures import NodeSpan
from tests.support.reports import finished_run

pytest.importorskip("matplotlib", reason="the extra 'report' is not installed")
from podling.sim.report.plots import NODES_MAX, _short, _shown_nodes, mark_texts, plots, tick_seconds


def texts(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    return " ".join(
        "".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")
    )


def test_each_plot_is_a_document_with_legible_words() -> None:
    found = {title: texts(svg) for title, _, svg in plots(finished_run())}
    assert list(found) == [
        "Pods",
        "Nodes",
        "Scheduling",
        "Start",
        "Utilisation",
        "Restarts and disruptions",
        "Budget headroom",
    ]
    for text, words in {
        "Pods": ("Running", "Ready", "1-2", "8m"),
        "Nodes": ("n-1", "n-2", "NotReady"),
        "Start": ("p50", "p99"),
        "Utilisation": ("CPU", "memory"),
        "Budget headroom": ("default/web",),
    }.items():
        assert all(word in found[text] for word in words), (text, found[text])


def test_same_run_gives_the_same_picture() -> None:
    first, again = ([svg for _, _, svg in plots(finished_run())] for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([], []),
        ([0.1, 0.5], [(0.1, "1"), (0.5, "2")]),
        ([0.1, 0.11, 0.12, 0.5], [(0.1, "1-3"), (0.5, "4")]),
    ],
)
def test_numbers_of_close_actions_are_joined(parts: list[float], shown: list[tuple[float, str]]) -> None:
    assert mark_texts(parts) == shown


@pytest.mark.parametrize(
    ("seconds", "ticks"), [(8, 1), (300, 30), (1800, 300), (86400, 14400), (31 * 86400, 4 * 86400)]
)
def test_axis_has_at_most_ten_ticks(seconds: float, ticks: float) -> None:
    assert tick_seconds(seconds) == ticks


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (60, "1m"), (3600, "1h"), (5400, "1h30m"), (90, "1m30s")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert _short(seconds) == text


def test_nodes_that_changed_are_shown_first() -> None:
    spans = [NodeSpan(f"n-{number}", "Ready", 0, 9) for number in range(1, 101)]
    spans[89] = NodeSpan("n-90", "NotReady", 0, 9)
    shown, others = _shown_nodes(spans)
    assert len(shown) == NODES_MAX
    assert others == 40
    assert shown[:2] == ["n-1", "n-2"]
    assert shown[-1] == "n-90"
