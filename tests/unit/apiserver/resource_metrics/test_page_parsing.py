"""Reading the pages of kubelets."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.apiserver.resource_metrics.page_parsing import Point, parse_page
from podling.sim.loop import EPOCH

MILLISECONDS = int(EPOCH.timestamp() * 1000)
PAGE = f"""
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
node_cpu_usage_seconds_total 350.5 {MILLISECONDS}
node_memory_working_set_bytes 1.616273408e+09 {MILLISECONDS}
container_cpu_usage_seconds_total{{container="c",namespace="ns",pod="p"}} 4.7 {MILLISECONDS}
container_memory_working_set_bytes{{pod="p",container="c",namespace="ns"}} 2048 {MILLISECONDS}
container_start_time_seconds{{container="c",namespace="ns",pod="p"}} {EPOCH.timestamp() - 60}
container_cpu_usage_seconds_total{{container="half",namespace="ns",pod="q"}} 4.7 {MILLISECONDS}
container_cpu_usage_seconds_total{{container="whole",namespace="ns",pod="q"}} 4.7 {MILLISECONDS}
container_memory_working_set_bytes{{container="whole",namespace="ns",pod="q"}} 2048 {MILLISECONDS}
pod_cpu_usage_seconds_total{{namespace="ns",pod="p"}} 4.7 {MILLISECONDS}
scrape_error 0
"""


def test_page_holds_node_and_complete_pods() -> None:
    sample = parse_page(PAGE, EPOCH)
    assert sample.node == Point(EPOCH, 350_500_000_000, 1_616_273_408)
    started = EPOCH - timedelta(minutes=1)
    assert sample.pods == {("ns", "p"): {"c": Point(EPOCH, 4_700_000_000, 2048, started)}}


def test_samples_without_a_time_are_of_now() -> None:
    later = EPOCH + timedelta(seconds=3)
    sample = parse_page("node_cpu_usage_seconds_total 1\nnode_memory_working_set_bytes 2\n", later)
    assert sample.node == Point(later, 1_000_000_000, 2)


def test_page_of_a_kubelet_without_figures_of_its_machine() -> None:
    assert parse_page("resource_scrape_error 0\n", EPOCH).node is None


@pytest.mark.parametrize("text", ["<html>", "node_cpu_usage_seconds_total", "node_cpu_usage_seconds_total x"])
def test_page_of_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no sample|could not convert"):
        parse_page(text, EPOCH)


@given(st.text(alphabet='abcdefgh_{}="\\ 0123456789.e+-N\n', max_size=200))
def test_no_page_raises_anything_else(text: str) -> None:
    with suppress(ValueError, OverflowError):
        parse_page(text, EPOCH)
