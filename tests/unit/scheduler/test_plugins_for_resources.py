"""The plugins that count: resources that must be left, how full nodes look, host ports."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import (
    ContainerPort,
    ContainerStatus,
    PodCondition,
    PodStatus,
    ResourceRequirements,
)
from podling.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from podling.scheduler.plugins.node_ports import NodePorts
from podling.scheduler.plugins.node_resources_fit import NodeResourcesFit
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    container,
    facts,
    node,
    pod,
    rejections,
    scores,
    unresolvable,
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


class TestFit:
    @pytest.mark.parametrize(
        ("asked", "reasons"),
        [
            ({"cpu": "3"}, []),
            ({"cpu": "3001m"}, ["Insufficient cpu"]),
            ({"cpu": "4", "memory": "8Gi"}, ["Insufficient cpu", "Insufficient memory"]),
            ({"ephemeral-storage": "1Ti"}, ["Insufficient ephemeral-storage"]),
            ({"example.com/gpu": "1"}, ["Insufficient example.com/gpu"]),
            ({"hugepages-2Mi": "2Mi"}, ["Insufficient hugepages-2Mi"]),
            ({}, []),
        ],
    )
    def test_free_amounts_decide_fit(self, asked: dict[str, str], reasons: list[str]) -> None:
        cache = cache_of(node("n"), pods={"n": [pod(cpu="1", memory="1Gi")]})
        found = rejections(NodeResourcesFit(), facts(containers=[container(asked)]), cache)
        assert found.get("n", []) == reasons

    def test_too_many_pods_is_said_beside_other_shortages(self) -> None:
        cache = cache_of(node("n", pods="1"), pods={"n": [pod(cpu="4")]})
        assert rejections(NodeResourcesFit(), facts(cpu="1"), cache) == {
            "n": ["Too many pods", "Insufficient cpu"]
        }

    def test_node_too_small_is_unresolvable_by_preemption(self) -> None:
        full = pod(cpu="4")
        cache = cache_of(node("full"), node("small", cpu="1"), pods={"full": [full]})
        assert accepted(NodeResourcesFit(), facts(cpu="2"), cache) == []
        assert unresolvable(NodeResourcesFit(), facts(cpu="2"), cache) == ["small"]

    def test_extended_resources_are_counted_like_any_other(self) -> None:
        gpus = {"example.com/gpu": "2"}
        cache = cache_of(node("plain"), node("gpus", extended=gpus))
        one = facts(containers=[container({"example.com/gpu": "1"})])
        assert accepted(NodeResourcesFit(), one, cache) == ["gpus"]
        cache.add_pod(facts(containers=[container(gpus)]), "gpus")
        assert accepted(NodeResourcesFit(), one, cache) == []

    def test_the_emptier_node_is_better(self) -> None:
        """(free CPU share + free memory share) / 2, with the pod there: 1 CPU and 2 GiB of 4 and 8."""
        cache = cache_of(node("empty"), node("half"), pods={"half": [pod(cpu="2", memory="4Gi")]})
        one = facts(cpu="1", memory="2Gi")
        assert scores(NodeResourcesFit(), one, cache) == {"empty": 75, "half": 25}

    def test_an_overfull_node_scores_nothing_and_not_less(self) -> None:
        cache = cache_of(node("n", cpu="1", memory="1Gi"), pods={"n": [pod(cpu="5", memory="5Gi")]})
        assert scores(NodeResourcesFit(), facts(), cache) == {"n": 0}

    def test_a_node_of_unknown_memory_is_scored_by_what_is_known(self) -> None:
        cache = cache_of(node("n", memory="0"))
        assert scores(NodeResourcesFit(), facts(cpu="1"), cache) == {"n": 75}


@pytest.mark.parametrize(
    ("there", "score"),
    [
        ([], 100),
        ([pod(cpu="2", memory="4Gi")], 100),
        ([pod(cpu="2", memory="0")], 75),
        ([pod(cpu="9", memory="0")], 56),
    ],
    ids=["empty", "even", "cpu half used", "capped at full"],
)
def test_a_balanced_node_is_better(there: list[Any], score: int) -> None:
    """The pod takes an eighth of both; a difference d in shares costs d/2."""
    cache = cache_of(node("n"), pods={"n": there})
    one = facts(cpu="500m", memory="1Gi")
    assert scores(NodeResourcesBalancedAllocation(), one, cache) == {"n": score}


def test_pods_without_requests_are_not_balanced() -> None:
    assert scores(NodeResourcesBalancedAllocation(), facts(), cache_of(node("n"))) is None


def port(number: int, protocol: str = "TCP", address: str = "") -> ContainerPort:
    return ContainerPort(container_port=80, host_port=number, protocol=protocol, host_ip=address)


class TestHostPorts:
    @pytest.mark.parametrize(
        ("used", "wanted", "free"),
        [
            (port(80), port(80), False),
            (port(80), port(81), True),
            (port(80), port(80, "UDP"), True),
            (port(80, address="10.0.0.1"), port(80, address="10.0.0.2"), True),
            (port(80, address="10.0.0.1"), port(80, address="10.0.0.1"), False),
            (port(80, address="10.0.0.1"), port(80), False),
            (port(80), port(80, address="10.0.0.1"), False),
            (port(80, address="0.0.0.0"), port(80, address="10.0.0.1"), False),
            (ContainerPort(container_port=80), port(80), True),
        ],
    )
    def test_host_ports_conflict_by_address_and_protocol(
        self, used: ContainerPort, wanted: ContainerPort, free: bool
    ) -> None:
        cache = cache_of(node("n"), pods={"n": [pod(containers=[container(ports=[used])])]})
        one = facts(containers=[container(ports=[wanted])])
        assert accepted(NodePorts(), one, cache) == (["n"] if free else [])
        assert unresolvable(NodePorts(), one, cache) == []

    def test_ports_of_sidecars_count_and_those_of_init_containers_do_not(self) -> None:
        sidecar = container(ports=[port(80)], restart_policy="Always")
        init = container(ports=[port(81)])
        assert [each.port for each in facts(init_containers=(sidecar, init)).ports] == [80]

    def test_a_port_is_free_again_when_its_pod_has_gone(self) -> None:
        user = pod(containers=[container(ports=[port(80)])])
        cache = cache_of(node("n"), pods={"n": [user]})
        one = facts(containers=[container(ports=[port(80)])])
        cache.remove_pod(user.metadata.uid or "")
        assert accepted(NodePorts(), one, cache) == ["n"]
