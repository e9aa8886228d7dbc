"""The pod conditions that the kubelet owns, as tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ContainerStatus, PodCondition
from podling.kubelet.status.conditions import (
    all_restarting_condition,
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
RUNNING: dict[str, Any] = {"state": {"running": {}}}
ENDED: dict[str, Any] = {"state": {"terminated": {"exitCode": 0}}}


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
                "containers with unknown status: [proxy], containers with incomplete status: [setup]",
            ),
        ),
        ({"setup": READY, "proxy": STARTED}, "Running", ("True", "", "")),
        ({"setup": READY, "proxy": {"started": False}, "app": RUNNING}, "Running", ("True", "", "")),
        ({"setup": {"state": {"waiting": {}}}, "proxy": {}, "app": ENDED}, "Running", ("True", "", "")),
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


def test_pod_that_was_initialized_stays_so() -> None:
    found = statuses(setup={}, proxy={}, app={})
    assert initialized_condition(SPEC, found, "Pending", before=True).status == "True"


@pytest.mark.parametrize(
    ("init", "found", "phase", "expected"),
    [
        ("", {}, "Running", ("True", "")),
        ("1234 5678", {}, "Running", ("False", "UnknownContainerStatuses")),
        ("1234", {"regular": {}}, "Running", ("False", "ContainersNotInitialized")),
        ("1234 5678", {"1234": READY, "5678": READY}, "Running", ("True", "")),
        ("1234 5678", {"1234": READY}, "Running", ("False", "ContainersNotInitialized")),
        ("1234 5678", {"1234": READY, "5678": {}}, "Running", ("False", "ContainersNotInitialized")),
        ("1234", {"1234": READY}, "Succeeded", ("True", "PodCompleted")),
        ("sidecar", {"sidecar": {"started": False}}, "Pending", ("False", "ContainersNotInitialized")),
        ("sidecar", {"sidecar": STARTED}, "Running", ("True", "")),
        ("sidecar", {"sidecar": {"started": False}, "regular": RUNNING}, "Running", ("True", "")),
        ("1234", {"1234": {"state": {"waiting": {}}}, "regular": ENDED}, "Running", ("True", "")),
    ],
)
def test_initialized_as_upstream(
    init: str, found: dict[str, Any], phase: str, expected: tuple[str, str]
) -> None:
    """The cases of ``TestGeneratePodInitializedCondition``."""
    policy = {"sidecar": {"restartPolicy": "Always"}}
    spec = pod(
        containers=[{"name": "regular"}],
        initContainers=[{"name": name, **policy.get(name, {})} for name in init.split()],
    ).spec
    condition = initialized_condition(spec, statuses(**found), phase)
    assert (condition.status, condition.reason or "") == expected


UNKNOWN, UNREADY = "containers with unknown status: ", "containers with unready status: "


@pytest.mark.parametrize(
    ("wanted", "found", "phase", "reason", "message"),
    [
        ("1234", {"5678": READY}, "Running", "ContainersNotReady", UNKNOWN + "[1234]"),
        ("1234 5678", {"1234": READY, "5678": READY}, "Running", "", ""),
        ("1234 5678", {"1234": READY}, "Running", "ContainersNotReady", UNKNOWN + "[5678]"),
        ("1234 5678", {"1234": READY, "5678": {}}, "Running", "ContainersNotReady", UNREADY + "[5678]"),
        ("1234", {"1234": {}}, "Succeeded", "PodCompleted", ""),
        ("side-1 app", {"app": READY}, "Running", "ContainersNotReady", UNKNOWN + "[side-1]"),
        ("side-1 side-2 app", {"side-1": READY, "side-2": READY, "app": READY}, "Running", "", ""),
        (
            "side-1 side-2 app",
            {"side-1": READY, "app": READY},
            "Running",
            "ContainersNotReady",
            UNKNOWN + "[side-2]",
        ),
        (
            "side-1 side-2 app",
            {"side-1": READY, "side-2": {}, "app": READY},
            "Running",
            "ContainersNotReady",
            UNREADY + "[side-2]",
        ),
    ],
)
def test_ready_as_upstream(wanted: str, found: dict[str, Any], phase: str, reason: str, message: str) -> None:
    """The cases of ``TestGenerateContainersReadyCondition`` and ``TestGeneratePodReadyCondition``."""
    names = wanted.split()
    spec = pod(
        containers=[{"name": name} for name in names if "side" not in name],
        initContainers=[{"name": name, "restartPolicy": "Always"} for name in names if "side" in name],
    ).spec
    containers = containers_ready_condition(spec, statuses(**found), phase)
    for condition in (containers, ready_condition(spec, (), containers)):
        assert (condition.status, condition.reason or "", condition.message or "") == (
            "False" if reason else "True",
            reason,
            message,
        )


@pytest.mark.parametrize(
    ("restarting", "phase", "expected"),
    [
        (False, "Pending", ("False", "", "")),
        (False, "Failed", ("False", "PodFailed", "")),
        (False, "Succeeded", ("False", "PodCompleted", "")),
        (True, "Failed", ("False", "PodFailed", "")),
        (
            True,
            "Running",
            ("True", "RestartAllContainersStarted", "container exited with restart policy rule"),
        ),
    ],
)
def test_restart_of_all_containers_as_upstream(
    restarting: bool, phase: str, expected: tuple[str, str, str]
) -> None:
    """The cases of ``TestGenerateAllContainersRestartingCondition``."""
    condition = all_restarting_condition(restarting, phase)
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
