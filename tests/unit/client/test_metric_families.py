"""Families of metrics as bytes and back."""

from __future__ import annotations

import msgspec
import pytest
from prometheus_client import generate_latest
from prometheus_client.registry import CollectorRegistry

from podling.client.metric_families import check_families, decode_families, encode_families
from podling.machinery.histograms import Histogram, counters, gauges, histograms, summaries


class Families:
    """A collector of given families."""

    def __init__(self, families: list[object]) -> None:
        self._families = families

    def collect(self) -> list[object]:
        return self._families


def page(families: list[object]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Families(families))  # type: ignore[arg-type]
    return generate_latest(registry)


def test_families_of_every_type_are_shown_as_before() -> None:
    seconds = Histogram((0.1, 1.0))
    for value in (0.05, 0.5, 5.0):
        seconds.observe(value)
    families = [
        counters("requests", "Requests.", ("code", "verb"), {("200", "GET"): 3, ('4"4', "a\nb"): 1}),
        gauges("depth", "Depth.", ("name",), {("q",): float("inf"), ("r",): -0.5}),
        histograms("seconds", "Seconds.", ("name",), {("a",): seconds}),
        summaries("sizes", "Sizes.", (), {(): seconds}),
        counters("none", "Nothing yet.", ("code",), {}),
    ]
    assert page(list(decode_families(encode_families(families)))) == page(families)


def test_other_bytes_are_refused() -> None:
    check_families(encode_families([]))
    with pytest.raises(msgspec.MsgspecError):
        check_families(b"\x00")


def test_decoded_families_may_be_changed() -> None:
    data = encode_families([counters("requests", "Requests.", (), {(): 3})])
    (first,) = decode_families(data)
    first.samples.clear()
    (second,) = decode_families(data)
    assert [sample.value for sample in second.samples] == [3]
