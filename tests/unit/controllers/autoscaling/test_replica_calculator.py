"""From metrics to replicas: the cases of ``replica_calculator_test.go``, and an oracle in fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling.api.core_v1 import Pod
from podling.controllers.autoscaling.pod_groups import MetricError, PodMetric
from podling.controllers.autoscaling.replica_calculator import (
    Replicas,
    average_replicas,
    plain_replicas,
    resource_replicas,
    value_replicas,
)
from tests.unit.controllers.autoscaling.autoscaled import COOL, NOW, levels, pod, scaled

HOT = timedelta(0)
T, F = True, False


def pods_of(
    count: int,
    requests: Sequence[str] = (),
    ready: Sequence[bool] = (),
    hot: Sequence[bool] = (),
    phases: str = "",
    deleted: Sequence[bool] = (),
) -> list[Pod]:
    """Return pods; ``phases`` has R, P or F (running, pending, failed) for each."""
    names = {"R": "Running", "P": "Pending", "F": "Failed"}
    return [
        pod(
            f"p{place}",
            requests[place] if requests else "1",
            ready=ready[place] if ready else True,
            age=HOT if hot and hot[place] else COOL,
            phase=names[phases[place]] if phases else "Running",
            deleted=bool(deleted and deleted[place]),
        )
        for place in range(count)
    ]


@pytest.mark.parametrize(
    ("current", "count", "kind", "used", "target", "expected"),
    [
        pytest.param(3, 3, {}, (300, 500, 700), 30, (5, 500, 50), id="up"),
        pytest.param(3, 3, {"ready": (F, T, T)}, (300, 500, 700), 30, (4, 600, 60), id="up, one unready"),
        pytest.param(3, 3, {"hot": (T, F, F)}, (300, 500, 700), 30, (4, 600, 60), id="up, one starting"),
        pytest.param(
            3, 3, {"ready": (T, F, F)}, (400, 500, 700), 30, (3, 400, 40), id="unready damp to none"
        ),
        pytest.param(
            3,
            3,
            {"ready": (T, F, F), "hot": (F, T, T)},
            (400, 500, 700),
            30,
            (3, 400, 40),
            id="starting damp",
        ),
        pytest.param(
            2,
            4,
            {"ready": (T, T, F, F), "phases": "RRFF"},
            (500, 700),
            30,
            (4, 600, 60),
            id="up, failed pods",
        ),
        pytest.param(
            2, 4, {"ready": (T, T, F, F), "deleted": (F, F, T, T)}, (500, 700), 30, (4, 600, 60), id="deleted"
        ),
        pytest.param(5, 5, {}, (100, 300, 500, 250, 250), 50, (3, 280, 28), id="down"),
        pytest.param(
            5, 5, {"ready": (T, T, T, F, F)}, (100, 300, 500, 250, 250), 50, (2, 300, 30), id="down, unready"
        ),
        pytest.param(
            5, 5, {"ready": (T, F, F, F, F), "phases": "RPPPP"}, (100,), 50, (1, 100, 10), id="down, pending"
        ),
        pytest.param(
            5, 5, {"hot": (F, F, F, T, T)}, (100, 300, 500, 250, 250), 50, (2, 300, 30), id="down, starting"
        ),
        pytest.param(
            1,
            3,
            {"ready": (T, T, F)},
            (500, 500, 500),
            60,
            (2, 500, 50),
            id="unready, more pods than replicas",
        ),
        pytest.param(
            5,
            7,
            {"ready": (T, T, T, T, T, F, F), "phases": "RRRRRFF"},
            (100, 300, 500, 250, 250),
            50,
            (3, 280, 28),
            id="down, failed pods",
        ),
        pytest.param(
            5,
            7,
            {"ready": (T, T, T, T, T, F, F), "deleted": (F, F, F, F, F, T, T)},
            (100, 300, 500, 250, 250),
            50,
            (3, 280, 28),
            id="down, deleted pods",
        ),
        pytest.param(
            3,
            3,
            {"requests": ("900m", "1", "1100m")},
            (1010, 1030, 1020),
            100,
            (3, 1020, 102),
            id="tolerated",
        ),
        pytest.param(
            4, 4, {}, (4000, 9500, 3000, 7000, 3200, 2000), 100, (24, 5875, 587), id="metrics of other pods"
        ),
        pytest.param(4, 4, {}, (400, 95), 100, (3, 247, 24), id="missing metrics use their request"),
        pytest.param(2, 2, {}, (1000,), 100, (2, 1000, 100), id="missing, on target"),
        pytest.param(2, 2, {}, (1900,), 100, (2, 1900, 190), id="missing, above target"),
        pytest.param(2, 2, {}, (600,), 100, (2, 600, 60), id="missing, below target"),
        pytest.param(3, 3, {"ready": (F, T, T)}, (100, 450), 50, (3, 450, 45), id="missing and unready"),
        pytest.param(3, 3, {"hot": (T, F, F)}, (100, 450), 50, (3, 450, 45), id="missing and starting"),
        pytest.param(3, 3, {"ready": (F, T, T)}, (100, 2000), 50, (4, 2000, 200), id="missing, unready, up"),
        pytest.param(
            3, 3, {"ready": (F, T, T), "hot": (T, F, F)}, (100, 2000), 50, (4, 2000, 200), id="starting, up"
        ),
        pytest.param(
            4, 4, {"ready": (F, T, T, T)}, (100, 100, 100), 50, (3, 100, 10), id="missing, unready, down"
        ),
        pytest.param(
            4,
            4,
            {"ready": (F, T, T, T), "requests": ("1", "1", "2", "2")},
            (200, 100, 100),
            300,
            (2, 100, 6),
            id="missing use a target above all of their request",
        ),
        pytest.param(2, 3, {}, (100, 100), 50, (2, 100, 10), id="surge of a rolling update"),
        pytest.param(3, 3, {}, (330, 330, 330), 30, (3, 330, 33), id="ratio of exactly 1.1 is tolerated"),
        pytest.param(3, 3, {}, (331, 340, 350), 30, (4, 340, 34), id="ratio above 1.1 is not"),
        pytest.param(10, 10, {}, (270,) * 10, 30, (10, 270, 27), id="ratio of exactly 0.9 is tolerated"),
        pytest.param(10, 10, {}, (260,) * 10, 30, (9, 260, 26), id="ratio below 0.9 is not"),
    ],
)
def test_replicas_for_a_utilization(
    current: int,
    count: int,
    kind: dict[str, Any],
    used: Sequence[int],
    target: int,
    expected: tuple[int, int, int],
) -> None:
    """``expected``: replicas, mean use and utilization."""
    found = resource_replicas(scaled(pods_of(count, **kind), current), levels(used), "cpu", target)
    assert found == Replicas(*expected)


@pytest.mark.parametrize(
    ("current", "kind", "used", "target", "expected"),
    [
        pytest.param(3, {}, (20000, 10000, 30000), 15000, (4, 20000), id="up"),
        pytest.param(
            3,
            {"ready": (T, T, F), "hot": (F, F, T)},
            (50000, 10000, 30000),
            15000,
            (6, 30000),
            id="unready counts",
        ),
        pytest.param(
            3,
            {"ready": (F, T, F), "hot": (T, F, T)},
            (50000, 15000, 30000),
            15000,
            (7, 31666),
            id="two unready",
        ),
        pytest.param(1, {}, (8600,), 4400, (2, 8600), id="one pod"),
        pytest.param(5, {}, (12000,) * 5, 20000, (3, 12000), id="down"),
        pytest.param(3, {}, (20000, 21000, 21000), 20000, (3, 20666), id="tolerated"),
        pytest.param(5, {}, (20000, 19000, 21000), 20000, (5, 20000), id="missing, on target"),
        pytest.param(
            5, {}, (40000, 40000), 20000, (5, 40000), id="missing use nothing when others need more"
        ),
        pytest.param(5, {}, (1000, 1000), 20000, (4, 1000), id="missing are on target when others need less"),
    ],
)
def test_replicas_for_a_metric_of_pods(
    current: int, kind: dict[str, Any], used: Sequence[int], target: int, expected: tuple[int, int]
) -> None:
    found = plain_replicas(scaled(pods_of(current, **kind), current), levels(used), "", target)
    assert found == Replicas(*expected)


def test_surge_of_a_rolling_update_with_a_metric_of_pods() -> None:
    found = plain_replicas(scaled(pods_of(3), 2), levels((10000, 10000)), "", 17000)
    assert found == Replicas(2, 10000)


@pytest.mark.parametrize(
    ("current", "ready", "value", "target", "expected"),
    [
        (3, (T, T, T), 20000, 15000, 4),
        (3, (F, T, F), 50000, 10000, 5),
        (3, (F, T, F), 8600, 4400, 2),
        (5, (T,) * 5, 12000, 20000, 3),
        (5, (T,) * 5, 8600, 14334, 3),
        (3, (T, T, T), 20666, 20000, 3),
        (3, (T, T, T), 8600, 8888, 3),
        (0, (), 0, 1000, 0),
        (0, (), 1, 1000, 1),
        (0, (), 2500, 1000, 3),
    ],
)
def test_replicas_for_one_value(
    current: int, ready: Sequence[bool], value: int, target: int, expected: int
) -> None:
    found = value_replicas(scaled(pods_of(current, ready=ready), current), value, target)
    assert found == Replicas(expected, value)


@pytest.mark.parametrize(
    ("seen", "value", "target", "expected"),
    [
        (3, 20000, 5000, (4, 6667)),
        (5, 6000, 2000, (3, 1200)),
        (4, 20166, 5000, (4, 5042)),
        (3, 8600, 2150, (4, 2867)),
        (5, 8600, 2867, (3, 1720)),
        (3, 8600, 2900, (3, 2867)),
        (0, 0, 1000, (0, 0)),
        (0, 2500, 1000, (3, 2500)),
    ],
)
def test_replicas_for_a_value_per_pod(seen: int, value: int, target: int, expected: tuple[int, int]) -> None:
    assert average_replicas(scaled((), seen), value, target) == Replicas(*expected)


def test_value_per_pod_is_that_of_the_pods_in_the_status() -> None:
    whole = structs.replace(scaled((), 5), seen=3)
    assert average_replicas(whole, 9000, 2900) == Replicas(3, 3000)


@pytest.mark.parametrize(
    ("pods", "metrics", "message"),
    [
        (pods_of(1), {"older": PodMetric(100, NOW)}, "no metrics returned matched known pods"),
        ([], {}, "no pods returned by selector while calculating replica count"),
        (pods_of(1), {}, "did not receive metrics for targeted pods (pods might be unready)"),
        (
            pods_of(1, ready=(F,)),
            levels((5,)),
            "did not receive metrics for targeted pods (pods might be unready)",
        ),
        (pods_of(1, ("",)), levels((200,)), "missing request for cpu in container main of Pod p0"),
    ],
)
def test_unusable_metrics_raise(pods: Sequence[Pod], metrics: dict[str, PodMetric], message: str) -> None:
    with pytest.raises(MetricError) as found:
        resource_replicas(scaled(pods, 1), metrics, "cpu", 100)
    assert str(found.value) == message


EIGHTH = Fraction(1, 8)
"""A tolerance that floating point has exactly."""


def oracle(states: Sequence[str], used: Sequence[int], current: int, target: int) -> set[int]:
    """Compute the replicas from the documentation, in fractions.

    ``states``: r(eady), u(nready), m(issing metric), d(eleted) for each pod, all with a request of 1000.
    Where the exact number is whole, floating point may be just above it: both are returned.
    """
    ready = [use for state, use in zip(states, used, strict=True) if state == "r"]
    missing, unready = states.count("m"), states.count("u")
    percent = Fraction(sum(ready) * 100 // (1000 * len(ready)), target)
    if not missing and (not unready or percent <= 1):
        return {current} if abs(1 - percent) <= EIGHTH else ceilings(percent * len(ready))
    assumed = list(ready)
    if percent < 1:
        assumed += [10 * max(100, target)] * missing
    if percent > 1:
        assumed += [0] * (missing + unready)
    again = Fraction(sum(assumed) * 100 // (1000 * len(assumed)), target)
    if abs(1 - again) <= EIGHTH or (percent - 1) * (again - 1) < 0:
        return {current}
    counts = ceilings(again * len(assumed))
    return {current if (again - 1) * (count - current) < 0 else count for count in counts}


def ceilings(exact: Fraction) -> set[int]:
    return {math.ceil(exact), math.floor(exact) + 1}


@given(
    st.lists(st.sampled_from("rrrumd"), min_size=1, max_size=8).filter(lambda states: "r" in states),
    st.data(),
    st.integers(1, 12),
    st.integers(1, 300),
)
def test_replicas_agree_with_the_oracle(
    states: list[str], data: st.DataObject, current: int, target: int
) -> None:
    used = data.draw(st.lists(st.integers(0, 5000), min_size=len(states), max_size=len(states)))
    pods = [pod(f"p{place}", ready=state != "u", deleted=state == "d") for place, state in enumerate(states)]
    metrics = {name: each for name, each in levels(used).items() if states[int(name[1:])] not in "md"}
    found = resource_replicas(scaled(pods, current, tolerance=0.125), metrics, "cpu", target).count
    assert found in oracle(states, used, current, target)
