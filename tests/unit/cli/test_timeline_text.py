"""Lives of pods drawn in the terminal."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from podling.cli.timeline import timeline
from podling.cli.timeline_text import BLOCKS, lines
from tests.support.timelines import event, everything, life


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    shown = [click.unstyle(line) for line in lines(everything(), width, cut=True)]
    chart = shown[: shown.index("")]
    assert all(len(line) <= max(width, 26) for line in chart), chart
    assert all(len(line) <= max(width, 45) for line in shown)


def test_legend_lists_only_used_signs() -> None:
    shown = [click.unstyle(line) for line in lines(everything(), 200)]
    legend = next(line for line in shown if "waiting for a node" in line)
    assert all(text in legend for _, _, text in BLOCKS.values())
    assert "K SIGKILL" in legend
    assert "probe" not in legend


def test_workload_is_refused_before_the_cluster_is_read(tmp_path: Path) -> None:
    found = CliRunner().invoke(timeline, ["deployment/web", "--data-dir", str(tmp_path)])
    assert found.exit_code == 2
    assert "deployment/web is no pod; name one of its pods" in found.output


def test_signs_differ_without_colours() -> None:
    assert len({sign for sign, _, _ in BLOCKS.values()}) == len(BLOCKS)


def test_moments_are_listed_in_order_and_bounded() -> None:
    shown = [click.unstyle(line) for line in lines(everything(), 80)]
    assert shown[-1].strip() == "50.0s  main  Error: Error, exit code 137"
    many = life(*(event(second, "Started") for second in range(1, 59)))
    shown = [click.unstyle(line) for line in lines(many, 80)]
    assert "... 8 earlier moments are left out; --all tells them too" in shown
    assert len(list(lines(many, 80, everything=True))) == len(shown) + 7
