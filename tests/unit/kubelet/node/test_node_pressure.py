"""Thresholds, pressure conditions and refusals, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.kubelet.node.node_pressure import (
    Observation,
    Pressure,
    Threshold,
    needs_no_eviction,
    observe_pressure,
    pressure_refusal,
    thresholds,
)
from tests.support.kubelet_node import pod

START = datetime(2026, 1, 1, tzinfo=UTC)
MI = 1 << 20
HARD = Threshold("memory.available", "100Mi")
SOFT = Threshold("memory.available", "10%", timedelta(seconds=60))


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def seen(available_mi: int) -> dict[str, Observation]:
    return {"memory.available": Observation(available_mi * MI, 2000 * MI)}


def test_hard_threshold_counts_at_once() -> None:
    pressure = observe_pressure(Pressure(), [HARD], seen(99), START)
    assert pressure.due(START) == (HARD,)
    assert observe_pressure(Pressure(), [HARD], seen(101), START).due(START) == ()


def test_soft_threshold_counts_after_its_grace_period() -> None:
    pressure = observe_pressure(Pressure(), [SOFT], seen(150), START)
    assert pressure.due(START) == ()
    assert pressure.conditions(START, timedelta(minutes=5)) == {"MemoryPressure"}
    pressure = observe_pressure(pressure, [SOFT], seen(150), at(59))
    assert pressure.due(at(59)) == ()
    assert observe_pressure(pressure, [SOFT], seen(150), at(60)).due(at(60)) == (SOFT,)
    recovered = observe_pressure(pressure, [SOFT], seen(500), at(60))
    assert observe_pressure(recovered, [SOFT], seen(150), at(70)).due(at(70)) == ()


def test_soft_threshold_without_a_grace_period_is_a_hard_one() -> None:
    found = thresholds({}, {"memory.available": "10%"}, {"memory.available": 0})
    assert [(each.signal, each.grace) for each in found] == [
        ("memory.available", None),
        ("allocatableMemory.available", None),
    ]


def test_condition_stays_for_the_transition_period() -> None:
    pressure = observe_pressure(Pressure(), [HARD], seen(50), START)
    pressure = observe_pressure(pressure, [HARD], seen(500), at(10))
    transition = timedelta(minutes=5)
    assert pressure.conditions(at(10), transition) == {"MemoryPressure"}
    assert pressure.conditions(at(301), transition) == frozenset()


def test_threshold_stays_met_until_the_minimum_is_reclaimed() -> None:
    configured = [Threshold("memory.available", "100Mi", None, "50Mi")]
    pressure = observe_pressure(Pressure(), configured, seen(120), START)
    assert pressure.due(START) == ()
    pressure = observe_pressure(pressure, configured, seen(99), at(10))
    assert pressure.due(at(10)) == tuple(configured)
    pressure = observe_pressure(pressure, configured, seen(149), at(20))
    assert pressure.due(at(20)) == tuple(configured)
    pressure = observe_pressure(pressure, configured, seen(150), at(30))
    assert pressure.due(at(30)) == ()
    assert not needs_no_eviction(configured, seen(149))
    assert needs_no_eviction(configured, seen(150))
    assert needs_no_eviction(configured, {})


def test_thresholds_are_read_from_the_configuration() -> None:
    found = thresholds(
        {"nodefs.available": "0%", "containerfs.available": "5%", "pid.available": "10%"},
        {"imagefs.available": "20%"},
        {"imagefs.available": 30},
        {"pid.available": "1%"},
    )
    assert found == (
        Threshold("pid.available", "10%", None, "1%"),
        Threshold("imagefs.available", "20%", timedelta(seconds=30)),
    )


def test_hard_memory_threshold_also_holds_for_the_memory_of_pods() -> None:
    found = thresholds({"memory.available": "1Gi"}, {}, {}, {"memory.available": "1Mi"})
    assert [(each.signal, each.amount, each.reclaim) for each in found] == [
        ("memory.available", "1Gi", "1Mi"),
        ("allocatableMemory.available", "1Gi", "1Mi"),
    ]


@pytest.mark.parametrize(
    ("hard", "soft", "grace", "reclaim", "problem"),
    [
        ({"moon.available": "1"}, {}, {}, {}, "unsupported eviction signal moon.available"),
        ({}, {}, {}, {"moon.available": "1"}, "unsupported eviction signal moon.available"),
        (
            {},
            {"memory.available": "1Gi"},
            {},
            {},
            "grace period must be specified for the soft eviction threshold memory.available",
        ),
        ({}, {}, {"memory.available": -1}, {}, "invalid eviction grace period specified: -1"),
        (
            {"memory.available": "-1Gi"},
            {},
            {},
            {},
            "threshold memory.available must be positive: -1Gi",
        ),
        ({"memory.available": "-5%"}, {}, {}, {}, "must be >= 0%: -5%"),
        ({"memory.available": "105%"}, {}, {}, {}, "must be <= 100%: 105%"),
        ({}, {}, {}, {"memory.available": "-1"}, "eviction threshold memory.available must be positive: -1"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(
    hard: dict[str, str],
    soft: dict[str, str],
    grace: dict[str, float],
    reclaim: dict[str, str],
    problem: str,
) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        thresholds(hard, soft, grace, reclaim)
    assert problem in str(raised.value)


REQUESTING = {"name": "setup", "image": "i", "resources": {"requests": {"cpu": "1"}}}
TOLERANT = {"tolerations": [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("spec", "conditions", "refused"),
    [
        ({}, [], False),
        ({}, ["MemoryPressure"], True),
        (TOLERANT, ["MemoryPressure"], False),
        (TOLERANT, ["DiskPressure"], True),
        ({"priority": 2_000_000_000}, ["DiskPressure"], False),
        ({"resources": {"requests": {"memory": "1Mi"}}}, ["MemoryPressure"], False),
        ({"initContainers": [REQUESTING]}, ["MemoryPressure"], False),
        ({"tolerations": [{**TOLERANT["tolerations"][0], "operator": "Equal"}]}, ["MemoryPressure"], False),
        (
            {"tolerations": [{**TOLERANT["tolerations"][0], "operator": "Equal", "value": "x"}]},
            ["MemoryPressure"],
            True,
        ),
        ({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}, ["MemoryPressure"], True),
    ],
)
def test_node_under_pressure_refuses_by_qos_class(
    spec: dict[str, Any], conditions: list[str], refused: bool
) -> None:
    assert bool(pressure_refusal(pod(**spec), frozenset(conditions))) == refused


def test_refusal_lists_the_conditions_as_go_prints_a_list() -> None:
    both = frozenset({"MemoryPressure", "DiskPressure"})
    assert pressure_refusal(pod(), both) == "The node had condition: [DiskPressure MemoryPressure]. "


def test_percentages_are_of_single_precision() -> None:
    assert Threshold("nodefs.available", "15%").limit(67469250560) == 10120387986
