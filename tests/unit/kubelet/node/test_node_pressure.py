"""Thresholds, pressure conditions and refusals, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.kubelet.node.node_pressure import (
    Observation,
    Pressure,
    Threshold,
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
    pressure = observe_pressure(pressure, [SOFT], seen(150), at(59))
    assert pressure.due(at(59)) == ()
    assert observe_pressure(pressure, [SOFT], seen(150), at(60)).due(at(60)) == (SOFT,)
    recovered = observe_pressure(pressure, [SOFT], seen(500), at(60))
    assert observe_pressure(recovered, [SOFT], seen(150), at(70)).due(at(70)) == ()


def test_condition_stays_for_the_transition_period() -> None:
    pressure = observe_pressure(Pressure(), [HARD], seen(50), START)
    pressure = observe_pressure(pressure, [HARD], seen(500), at(10))
    transition = timedelta(minutes=5)
    assert pressure.conditions(at(10), transition) == {"MemoryPressure"}
    assert pressure.conditions(at(301), transition) == frozenset()


def test_thresholds_are_read_from_the_configuration() -> None:
    found = thresholds({"memory.available": "1Gi", "nodefs.available": "0%"}, {}, {})
    assert found == (Threshold("memory.available", "1Gi"),)
    with pytest.raises(ValueError, match="unknown eviction signals: moon"):
        thresholds({"moon.available": "1"}, {}, {})
    with pytest.raises(ValueError, match="without a grace period"):
        thresholds({}, {"memory.available": "1Gi"}, {})


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
