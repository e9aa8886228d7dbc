"""Groups of pods: the cases of ``TestGroupPods`` and ``TestCalculatePodRequests``."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from podling.api.core_v1 import Container, PodCondition, ResourceRequirements
from podling.controllers.autoscaling.pod_groups import (
    MetricError,
    PodMetric,
    group_pods,
    pod_requests,
    ready_pods,
)
from podling.controllers.autoscaling.settings import DEFAULT_SETTINGS
from tests.unit.controllers.autoscaling.autoscaled import NOW, pod

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("resource", "age", "since", "ready", "window", "expected"),
    [
        pytest.param("memory", None, None, None, 60, "ready", id="memory needs no readiness"),
        pytest.param("cpu", 0, None, None, 60, "unready", id="no condition"),
        pytest.param("cpu", None, 0, True, 60, "unready", id="no start"),
        pytest.param("cpu", 60, 30, True, 30, "ready", id="fresh sample while starting"),
        pytest.param("cpu", 60, 30, True, 60, "unready", id="sample from before it was ready"),
        pytest.param("cpu", 60, 30, False, 10, "unready", id="unready while starting"),
        pytest.param("cpu", 600, 594, False, 60, "unready", id="has never been ready"),
        pytest.param("cpu", 600, 570, False, 60, "ready", id="became unready after the delay"),
        pytest.param("cpu", 600, 571, False, 60, "unready", id="became unready within the delay"),
        pytest.param("cpu", 600, 0, False, 60, "ready", id="was ready"),
        pytest.param("cpu", 301, 1, True, 60, "ready", id="after the initialization period"),
        pytest.param("cpu", 299, 1, True, 60, "unready", id="within the initialization period"),
    ],
)
def test_pods_by_readiness(
    resource: str, age: int | None, since: int | None, ready: bool | None, window: int, expected: str
) -> None:
    """``age`` and ``since``: seconds since the start and since the last change of readiness."""
    one = pod("p")
    started = NOW - timedelta(seconds=age) if age is not None else None
    conditions: tuple[PodCondition, ...] = ()
    if ready is not None:
        changed = NOW - timedelta(seconds=since or 0)
        status = "True" if ready else "False"
        conditions = (structs.replace(one.status.conditions[0], status=status, last_transition_time=changed),)
    one = structs.replace(one, status=structs.replace(one.status, start_time=started, conditions=conditions))
    metrics = {"p": PodMetric(1, NOW, timedelta(seconds=window))}
    groups = group_pods([one], metrics, resource, DEFAULT_SETTINGS, NOW)
    assert (groups.ready, groups.unready) == ((1, frozenset()) if expected == "ready" else (0, {"p"}))


@pytest.mark.parametrize(
    ("phase", "deleted", "measured", "group"),
    [
        ("Running", False, False, "missing"),
        ("Succeeded", False, False, "missing"),
        ("Pending", False, False, "unready"),
        ("Pending", False, True, "unready"),
        ("Failed", False, True, "ignored"),
        ("Failed", False, False, "ignored"),
        ("Running", True, True, "ignored"),
        ("Pending", True, False, "ignored"),
    ],
)
def test_pods_by_phase(phase: str, deleted: bool, measured: bool, group: str) -> None:
    metrics = {"p": PodMetric(1, NOW)} if measured else {}
    groups = group_pods([pod("p", phase=phase, deleted=deleted)], metrics, "cpu", DEFAULT_SETTINGS, NOW)
    assert getattr(groups, group) == {"p"}
    assert groups.ready == 0


def test_requests_are_those_of_containers_and_sidecars() -> None:
    one = pod("p", "100m")
    request = ResourceRequirements(requests={"cpu": "50m"})
    sidecar = Container(name="side", restart_policy="Always", resources=request)
    spec = structs.replace(one.spec, init_containers=(sidecar, Container(name="init", resources=request)))
    one = structs.replace(one, spec=spec)
    assert pod_requests([one], "", "cpu") == {"p": 150}
    assert pod_requests([one], "side", "cpu") == {"p": 50}
    assert pod_requests([one], "main", "cpu") == {"p": 100}
    with pytest.raises(MetricError, match="missing request for memory in container main of Pod p"):
        pod_requests([one], "", "memory")
    whole = structs.replace(spec, resources=ResourceRequirements(requests={"cpu": "2"}))
    assert pod_requests([structs.replace(one, spec=whole)], "", "cpu") == {"p": 2000}
    assert pod_requests([structs.replace(one, spec=whole)], "main", "cpu") == {"p": 100}


def test_ready_pods_run() -> None:
    assert ready_pods([pod("a"), pod("b", ready=False), pod("c", phase="Succeeded")]) == 1
    with pytest.raises(MetricError, match="no pods returned by selector"):
        ready_pods([])
