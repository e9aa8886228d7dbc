"""The more of a cluster is down, the less is done about it: zones and rates as tables."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.nodes.zones import (
    Rates,
    TaintQueue,
    ZoneState,
    judge,
    rate_of,
    zone_of,
    zone_state,
)
from podling.controllers.options import DEFAULT_OPTIONS

UP, DOWN = True, False
NORMAL, PARTIAL, FULL = ZoneState.NORMAL, ZoneState.PARTIAL, ZoneState.FULL

DEFAULT_RATES = Rates.of(DEFAULT_OPTIONS)


@pytest.mark.parametrize(
    ("ready", "state"),
    [
        ([UP], NORMAL),
        ([DOWN], FULL),
        ([DOWN] * 5, FULL),
        ([UP, DOWN], NORMAL),
        ([UP, DOWN, DOWN], NORMAL),  # not more than two are down
        ([UP] * 2 + [DOWN] * 3, PARTIAL),  # 60 %
        ([UP] * 3 + [DOWN] * 3, NORMAL),  # 50 %
        ([UP] * 9 + [DOWN] * 11, PARTIAL),  # 55 %
    ],
)
def test_the_state_of_a_zone(ready: list[bool], state: ZoneState) -> None:
    assert zone_state(ready, DEFAULT_RATES) is state


@pytest.mark.parametrize(
    ("state", "size", "rate"),
    [(NORMAL, 3, 0.1), (NORMAL, 500, 0.1), (FULL, 3, 0.1), (PARTIAL, 50, 0.0), (PARTIAL, 51, 0.01)],
)
def test_the_rate_of_a_zone(state: ZoneState, size: int, rate: float) -> None:
    assert rate_of(state, size, DEFAULT_RATES) == rate


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "a"}, ":\x00:a"),
        ({"topology.kubernetes.io/region": "eu", "topology.kubernetes.io/zone": "a"}, "eu:\x00:a"),
        ({"failure-domain.beta.kubernetes.io/zone": "old"}, ":\x00:old"),
    ],
)
def test_the_zone_of_a_node(labels: dict[str, str], zone: str) -> None:
    assert zone_of(Node(metadata=ObjectMeta(name="n", labels=labels))) == zone


def test_one_zone_of_two_going_dark_is_still_evicted() -> None:
    verdict = judge({"a": NORMAL, "b": NORMAL}, {"a": [DOWN, DOWN], "b": [UP]}, DEFAULT_RATES)
    assert verdict.rates == {"a": 0.1}
    assert not verdict.stop


def test_when_every_zone_goes_dark_everything_stops() -> None:
    verdict = judge({"a": NORMAL, "b": FULL}, {"a": [DOWN], "b": [DOWN]}, DEFAULT_RATES)
    assert verdict.stop
    assert verdict.rates == {"a": 0.0, "b": 0.0}
    again = judge(verdict.states, {"a": [DOWN], "b": [DOWN]}, DEFAULT_RATES)
    assert not again.stop
    assert again.rates == {}


def test_when_the_first_node_comes_back_all_rates_are_set_anew() -> None:
    verdict = judge({"a": FULL, "b": FULL}, {"a": [UP], "b": [DOWN]}, DEFAULT_RATES)
    assert verdict.resume
    assert verdict.rates == {"a": 0.1, "b": 0.1}


def test_an_unchanged_zone_keeps_its_rate() -> None:
    assert judge({"a": NORMAL}, {"a": [UP, DOWN]}, DEFAULT_RATES).rates == {}


def test_a_queue_gives_the_first_at_once_and_then_by_its_rate() -> None:
    queue = TaintQueue(0.1)
    for node in ("a", "b", "c", "a"):
        queue.add(node)
    assert [queue.take(now) for now in (0, 0, 9.9, 10, 19, 20, 40)] == [
        "a",
        None,
        None,
        "b",
        None,
        "c",
        None,
    ]


def test_a_queue_at_rate_zero_gives_nothing_until_its_rate_rises() -> None:
    queue = TaintQueue(0.0)
    queue.add("a")
    assert queue.take(1000) is None
    queue.set_rate(0.1, 1000)
    assert [queue.take(now) for now in (1000, 1009, 1010)] == [None, None, "a"]


def test_a_node_that_recovered_leaves_the_queue() -> None:
    queue = TaintQueue(0.1)
    queue.add("a")
    queue.add("b")
    queue.forget("a")
    assert queue.take(0) == "b"
