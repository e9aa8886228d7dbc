"""Histograms and the metric families made of them."""

from __future__ import annotations

import pytest

from podling.machinery.histograms import Histogram, counters, gauges, histograms, summaries


def histogram_of(*values: float) -> Histogram:
    made = Histogram((0.1, 1, 5))
    for value in values:
        made.observe(value)
    return made


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ((), [0, 0, 0, 0]),
        ((0.05,), [1, 1, 1, 1]),
        ((0.1,), [1, 1, 1, 1]),
        ((0.11, 1), [0, 2, 2, 2]),
        ((5.1,), [0, 0, 0, 1]),
        ((0, 0.5, 3, 100), [1, 2, 3, 4]),
    ],
)
def test_buckets_are_cumulative_and_include_their_bound(values: tuple[float, ...], counts: list[int]) -> None:
    made = histogram_of(*values)
    assert made.cumulative() == list(zip(("0.1", "1", "5", "+Inf"), map(float, counts), strict=True))
    assert made.count == len(values)
    assert made.total == pytest.approx(sum(values))


def test_histogram_family_has_buckets_count_and_sum_per_labels() -> None:
    family = histograms(
        "wait", "Waits.", ("verb",), {("get",): histogram_of(0.05, 2), ("put",): histogram_of()}
    )
    found = {
        (each.name, each.labels["verb"], each.labels.get("le", "")): each.value for each in family.samples
    }
    assert found[("wait_bucket", "get", "0.1")] == 1
    assert found[("wait_bucket", "get", "+Inf")] == 2
    assert found[("wait_count", "get", "")] == 2
    assert found[("wait_sum", "get", "")] == pytest.approx(2.05)
    assert found[("wait_count", "put", "")] == 0


def test_summary_family_has_count_and_sum_without_buckets() -> None:
    family = summaries("wait", "Waits.", ("verb",), {("get",): histogram_of(1, 2)})
    assert {each.name: each.value for each in family.samples} == {"wait_count": 2, "wait_sum": 3}


def test_counter_and_gauge_families_have_one_sample_per_labels() -> None:
    values = {("get", "200"): 3.0, ("put", "409"): 1.0}
    counted = counters("requests", "Requests.", ("verb", "code"), values)
    shown = gauges("open", "Open.", ("verb", "code"), values)
    assert [(s.name, s.labels, s.value) for s in counted.samples] == [
        ("requests_total", {"verb": "get", "code": "200"}, 3.0),
        ("requests_total", {"verb": "put", "code": "409"}, 1.0),
    ]
    assert [(s.name, s.value) for s in shown.samples] == [("open", 3.0), ("open", 1.0)]
