"""Requests of a pod as the scheduler counts them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
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
