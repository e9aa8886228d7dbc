"""The pod conditions that the kubelet owns, as tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStatus, PodCondition
from podling.kubelet.status.conditions import (
    containers_ready_condition,
    initialized_condition,
    ready_condition,
    with_transitions,
)
from tests.support.kubelet_node import pod
from tests.unit.kubelet.instances import NOON

SPEC = pod(
    containers=[{"name": "app"}],
    initContainers=[{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
    readinessGates=[{"conditionType": "example.com/ready"}],
).spec


def statuses(**flags: dict[str, Any]) -> dict[str, ContainerStatus]:
    return {name: msgspec.convert({"name": name, **found}, ContainerStatus) for name, found in flags.items()}


READY, STARTED = {"ready": True}, {"started": True}


@pytest.mark.parametrize(
    ("found", "phase", "expected"),
    [
        ({}, "Pending", ("False", "UnknownContainerStatuses", "")),
        (
            {"setup": READY, "proxy": {}},
            "Pending",
            ("False", "ContainersNotInitialized", "containers with incomplete status: [proxy]"),
        ),
        (
            {"setup": {}},
            "Pending",
            (
                "False",
                "ContainersNotInitialized",
                "containers with incomplete status: [setup], containers with unknown status: [proxy]",
            ),
        ),
        ({"setup": READY, "proxy": STARTED}, "Running", ("True", "", "")),
        ({"setup": {}, "proxy": {}, "app": STARTED}, "Running", ("True", "", "")),
        ({"setup": {}, "proxy": {}}, "Succeeded", ("True", "PodCompleted", "")),
    ],
)
def test_initialized_lists_the_init_containers_left(
    found: dict[str, Any], phase: str, expected: tuple[str, str, str]
) -> None:
    condition = initialized_condition(SPEC, statuses(**found), phase)
    assert (condition.status, condition.reason or "", condition.message or "") == expected


@pytest.mark.parametrize(
    ("found", "phase", "expected"),
    [
        ({}, "Pending", ("False", "UnknownContainerStatuses", "")),
        ({"proxy": READY, "app": READY}, "Running", ("True", "", "")),
        (
            {"app": {}},
            "Running",
            (
                "False",
                "ContainersNotReady",
                "containers with unknown status: [proxy], containers with unready status: [app]",
            ),
        ),
        ({"proxy": {}, "app": {}}, "Succeeded", ("False", "PodCompleted", "")),
        ({"proxy": READY, "app": READY}, "Failed", ("False", "PodFailed", "")),
    ],
)
def test_containers_ready_lists_the_unready_containers(
    found: dict[str, Any], phase: str, expected: tuple[str, str, str]
) -> None:
    condition = containers_ready_condition(SPEC, statuses(**found), phase)
    assert (condition.status, condition.reason or "", condition.message or "") == expected


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (None, 'corresponding condition of pod readiness gate "example.com/ready" does not exist.'),
        ("False", 'the status of pod readiness gate "example.com/ready" is not "True", but False'),
        ("True", ""),
    ],
)
def test_ready_waits_for_readiness_gates(gate: str | None, message: str) -> None:
    conditions = [] if gate is None else [PodCondition(type="example.com/ready", status=gate)]
    found = ready_condition(SPEC, conditions, PodCondition(type="ContainersReady", status="True"))
    assert (found.status, found.message) == ("False" if message else "True", message)


@pytest.mark.parametrize(
    ("containers", "first", "second", "expected"),
    [
        ("True", "True", "True", "True"),
        ("True", "True", "False", "False"),
        ("True", "False", "True", "False"),
        ("False", "True", "True", "False"),
    ],
)
def test_ready_needs_ready_containers_and_all_gates(
    containers: str, first: str, second: str, expected: str
) -> None:
    gates = {"example.com/first": first, "example.com/second": second}
    spec = pod(readinessGates=[{"conditionType": gate} for gate in gates]).spec
    shown = [PodCondition(type=gate, status=status) for gate, status in gates.items()]
    found = ready_condition(spec, shown, PodCondition(type="ContainersReady", status=containers))
    assert found.status == expected


def test_transition_time_changes_only_with_the_status() -> None:
    later = NOON + timedelta(seconds=5)
    held = (PodCondition(type="Ready", status="True", last_transition_time=NOON),)
    same, other = (
        with_transitions((PodCondition(type="Ready", status=status),), held, 3, later)[0]
        for status in ("True", "False")
    )
    assert (same.last_transition_time, other.last_transition_time) == (NOON, later)
    assert same.observed_generation == 3
