"""Requests of a pod as the scheduler counts them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    ContainerStatus,
    PodCondition,
    PodStatus,
    ResourceRequirements,
)
from podling.scheduler.podfacts import facts_of, facts_of_bound
from tests.unit.scheduler.scheduling import (
    container,
    facts,
    pod,
)

GIB = 1024**3


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        ({"containers": [container({"cpu": "500m"}), container({"cpu": "1", "memory": "1Gi"})]},
         {"cpu": 1500, "memory": GIB}),
        ({"containers": [container({"cpu": "1"})], "init_containers": (container({"cpu": "3"}),)},
         {"cpu": 3000}),
        ({"containers": [container({"cpu": "1"})],
          "init_containers": (container({"cpu": "2"}, restart_policy="Always"), container({"cpu": "2"}))},
         {"cpu": 4000}),
        ({"containers": [container({"cpu": "1"})], "overhead": {"cpu": "250m", "memory": "120Mi"}},
         {"cpu": 1250, "memory": 120 * 1024**2}),
        ({"containers": [container({"cpu": "1", "example.com/gpu": "2"})],
          "resources": ResourceRequirements(requests={"cpu": "4"})},
         {"cpu": 4000, "example.com/gpu": 2}),
        ({"containers": [container({"cpu": "0"})]}, {}),
        ({"containers": [container({"memory": "1500m"})]}, {"memory": 2}),
    ],
    ids=["sum", "init", "sidecar", "overhead", "pod-level", "zero", "rounded up"],
)  # fmt: skip
def test_requests_of_pod_are_summed(spec: dict[str, Any], requests: dict[str, int]) -> None:
    assert facts(**spec).requests == requests


@pytest.mark.parametrize(
    ("reason", "cpu"), [("Deferred", 3000), ("Infeasible", 2000)], ids=["still to come", "never"]
)
def test_a_pod_that_is_being_resized_counts_with_the_most(reason: str, cpu: int) -> None:
    """It requests 3 CPUs, was allocated 2 and has 1; an infeasible resize is not counted."""
    held = ContainerStatus(
        name="c",
        resources=ResourceRequirements(requests={"cpu": "1"}),
        allocated_resources={"cpu": "2"},
    )
    pending = PodCondition(type="PodResizePending", status="True", reason=reason)
    status = PodStatus(container_statuses=(held,), conditions=(pending,))
    assert facts(cpu="3", node_name="n", status=status).requests == {"cpu": cpu}


@pytest.mark.parametrize(
    ("containers", "scored"),
    [
        ([container()], (100, 200 * 1024**2)),
        ([container(), container({"cpu": "1"})], (1100, 400 * 1024**2)),
        ([container({"cpu": "2", "memory": "1Gi"})], (2000, GIB)),
    ],
)
def test_containers_without_requests_score_with_defaults(
    containers: list[Any], scored: tuple[int, int]
) -> None:
    assert facts(containers=containers).scored == scored


SMALL = {"cpu": "500m", "memory": "500Mi"}
LARGE = {"cpu": "700m", "memory": "800Mi"}
MORE_CPU = {"cpu": "700m", "memory": "500Mi"}
MIB = 1024**2


def held_by(name: str, resources: dict[str, str]) -> ContainerStatus:
    return ContainerStatus(name=name, resources=ResourceRequirements(requests=resources))


def resize(kind: str, reason: str = "") -> tuple[PodCondition, ...]:
    return (PodCondition(type=kind, status="True", reason=reason),)


INIT = (structs.replace(container(LARGE), name="i"),)
SIDECAR = (*INIT, structs.replace(container(LARGE, restart_policy="Always"), name="s"))


@pytest.mark.parametrize(
    ("asks", "holds", "of_pod", "init", "conditions", "cpu", "memory"),
    [
        (SMALL, SMALL, None, (), (), 500, 500),
        (SMALL, MORE_CPU, (MORE_CPU, SMALL), (), (), 700, 500),
        (SMALL, SMALL, None, (), resize("PodResizeInProgress"), 500, 500),
        (SMALL, MORE_CPU, (MORE_CPU, SMALL), (), resize("PodResizeInProgress"), 700, 500),
        (LARGE, SMALL, None, (), resize("PodResizePending", "Deferred"), 700, 800),
        (SMALL, SMALL, (LARGE, SMALL), (), resize("PodResizePending", "Deferred"), 700, 800),
        (LARGE, SMALL, None, (), resize("PodResizePending", "Infeasible"), 500, 500),
        (SMALL, SMALL, None, INIT, (), 700, 800),
        (SMALL, SMALL, None, SIDECAR, (), 1200, 1300),
    ],
    ids=[
        "no resize",
        "no resize, for the pod",
        "in progress",
        "in progress, for the pod",
        "deferred",
        "deferred, for the pod",
        "infeasible",
        "init container",
        "sidecar",
    ],
)
def test_resizes_count_by_their_state(
    asks: dict[str, str],
    holds: dict[str, str],
    of_pod: tuple[dict[str, str], dict[str, str]] | None,
    init: tuple[Container, ...],
    conditions: tuple[PodCondition, ...],
    cpu: int,
    memory: int,
) -> None:
    """The cases of upstream's ``TestCalculatePodResourcesWithResize``."""
    status = PodStatus(
        phase="Running",
        container_statuses=(held_by("c", holds),),
        init_container_statuses=tuple(held_by(each.name, LARGE) for each in init),
        resources=ResourceRequirements(requests=of_pod[1]) if of_pod else None,
        conditions=conditions,
    )
    found = facts(
        containers=[container(asks)],
        init_containers=init,
        resources=ResourceRequirements(requests=of_pod[0]) if of_pod else None,
        node_name="n",
        status=status,
    )
    assert found.requests == {"cpu": cpu, "memory": memory * MIB}
    assert found.scored == (cpu, memory * MIB)


LARGEST = {"cpu": "1200m", "memory": "1200Mi"}
STORED = {"ephemeral-storage": "500Mi"}
STORED_MORE = {"ephemeral-storage": "800Mi"}


@pytest.mark.parametrize(
    ("asks", "of_init", "of_pod", "requests", "scored"),
    [
        ([{}], None, None, {}, (100, 200)),
        ([SMALL], None, None, {"cpu": 500, "memory": 500 * MIB}, (500, 500)),
        ([SMALL, LARGE], None, None, {"cpu": 1200, "memory": 1300 * MIB}, (1200, 1300)),
        ([SMALL], (SMALL, ""), LARGEST, {"cpu": 1200, "memory": 1200 * MIB}, (1200, 1200)),
        ([SMALL], (SMALL, "Always"), LARGEST, {"cpu": 1200, "memory": 1200 * MIB}, (1200, 1200)),
        ([{}], ({}, ""), {"memory": "1200Mi"}, {"memory": 1200 * MIB}, (100, 1200)),
        ([{}], ({}, ""), {"cpu": "500m"}, {"cpu": 500}, (500, 200)),
        (
            [STORED_MORE],
            (STORED, ""),
            {"cpu": "500m"},
            {"cpu": 500, "ephemeral-storage": 800 * MIB},
            (500, 200),
        ),
    ],
    ids=[
        "without requests",
        "one container",
        "two containers",
        "of the pod, with an init container",
        "of the pod, with a sidecar",
        "memory of the pod",
        "CPU of the pod",
        "CPU of the pod, storage of containers",
    ],
)
def test_requests_and_scored_amounts(
    asks: list[dict[str, str]],
    of_init: tuple[dict[str, str], str] | None,
    of_pod: dict[str, str] | None,
    requests: dict[str, int],
    scored: tuple[int, int],
) -> None:
    """The cases of upstream's ``TestPodInfoCalculateResources`` without resource claims."""
    found = facts(
        containers=[container(each) for each in asks],
        init_containers=(container(of_init[0], restart_policy=of_init[1] or None),) if of_init else (),
        resources=ResourceRequirements(requests=of_pod) if of_pod else None,
    )
    assert found.requests == requests
    assert found.scored == (scored[0], scored[1] * MIB)


PORT = ContainerPort(container_port=80, host_port=80)


@pytest.mark.parametrize(
    ("spec", "taken"),
    [
        ({"containers": [container()]}, 0),
        ({"containers": [container(ports=(ContainerPort(container_port=80),))]}, 0),
        ({"containers": [container(ports=(PORT,))]}, 1),
        ({"init_containers": (container(ports=(PORT,)),)}, 0),
        ({"init_containers": (container(ports=(PORT,), restart_policy="Always"),)}, 1),
    ],
    ids=["none", "not of the host", "of the host", "init container", "sidecar"],
)
def test_host_ports_are_those_of_containers_that_go_on(spec: dict[str, Any], taken: int) -> None:
    """The cases of upstream's ``TestUpdateUsedPorts_PodAdd``."""
    assert len(facts(**spec).ports) == taken


HELD = ContainerStatus(name="c", resources=ResourceRequirements(requests={"cpu": "8"}))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"labels": {"topology.kubernetes.io/zone": "z"}},
        {"containers": [container({"cpu": "3"})]},
        {"containers": [container({"cpu": "1"}, ports=(ContainerPort(container_port=80, host_port=80),))]},
        {"status": PodStatus(container_statuses=(HELD,))},
    ],
    ids=["node only", "labels of the node", "resized", "host port", "resources it holds"],
)
def test_facts_of_bound_pod_are_those_of_a_new_one(changes: dict[str, Any]) -> None:
    common: dict[str, Any] = {"containers": [container({"cpu": "1"})]}
    bound = pod("a", **(common | changes), node_name="n")
    assert structs.asdict(facts_of_bound(bound, facts("a", **common))) == structs.asdict(facts_of(bound))


def test_binding_alone_computes_no_amounts_again() -> None:
    pending = facts("a", cpu="1")
    assert facts_of_bound(pod("a", cpu="1", node_name="n"), pending).requests is pending.requests
