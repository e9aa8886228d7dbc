"""The state of pods for their controllers and the order of deletions (cases of controller_utils_test.go)."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import permutations

import pytest
from msgspec import structs

from podling.api.core_v1 import Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.pod_state import (
    DELETION_COST,
    available_at,
    deletion_cost,
    is_active,
    is_available,
    is_terminating,
    plain_removal_order,
    removal_order,
    restarts,
    seconds_to_next_available,
)
from podling.sim.loop import EPOCH

NOW = EPOCH + timedelta(days=1)


def pod(
    name: str,
    *,
    node: str = "",
    phase: str = "Running",
    ready_for: float | None = None,
    age: float = 3600,
    deleted: bool = False,
    cost: str = "",
    restarted: int = 0,
) -> Pod:
    since = None if ready_for is None else NOW - timedelta(seconds=ready_for)
    ready = PodCondition(
        type="Ready", status="False" if since is None else "True", last_transition_time=since
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            uid=name,
            annotations={DELETION_COST: cost} if cost else {},
            creation_timestamp=NOW - timedelta(seconds=age),
            deletion_timestamp=NOW if deleted else None,
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(
            phase=phase,
            conditions=(ready,),
            container_statuses=(ContainerStatus(name="c", restart_count=restarted),),
        ),
    )


@pytest.mark.parametrize(
    ("phase", "deleted", "active", "terminating"),
    [
        ("Pending", False, True, False),
        ("Running", False, True, False),
        ("Running", True, False, True),
        ("Succeeded", False, False, False),
        ("Failed", False, False, False),
        ("Failed", True, False, False),
    ],
)
def test_pod_is_active_until_it_ends_or_is_deleted(
    phase: str, deleted: bool, active: bool, terminating: bool
) -> None:
    found = pod("p", phase=phase, deleted=deleted)
    assert (is_active(found), is_terminating(found)) == (active, terminating)


@pytest.mark.parametrize(
    ("ready_for", "min_ready_seconds", "available"),
    [(None, 0, False), (0, 0, True), (0, 1, False), (29, 30, False), (30, 30, True), (None, 30, False)],
)
def test_pod_is_available_after_min_ready_seconds(
    ready_for: float | None, min_ready_seconds: int, available: bool
) -> None:
    assert is_available(pod("p", ready_for=ready_for), min_ready_seconds, NOW) is available


def test_available_time_is_ready_time_plus_min_ready_seconds() -> None:
    assert available_at(pod("p", ready_for=10), 30) == NOW + timedelta(seconds=20)
    assert available_at(pod("p"), 30) is None


def test_next_available_pod_is_the_one_with_the_shortest_wait() -> None:
    pods = [pod("a", ready_for=5), pod("b", ready_for=20), pod("c", ready_for=90), pod("d")]
    assert seconds_to_next_available(pods, 30, NOW) == 10
    assert seconds_to_next_available(pods, 0, NOW) is None
    assert seconds_to_next_available(pods[2:], 30, NOW) is None


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 0),
        ("10", 10),
        ("-10", -10),
        ("2147483647", 2147483647),
        ("-2147483648", -2147483648),
        ("2147483648", 0),
        ("+10", 0),
        ("1.5", 0),
        ("cheap", 0),
    ],
)
def test_deletion_cost_is_a_32_bit_number_or_zero(text: str, cost: int) -> None:
    assert deletion_cost(pod("p", cost=text)) == cost


def test_restarts_of_sidecars_count_apart_from_regular_containers() -> None:
    spec = PodSpec(
        init_containers=(Container(name="setup"), Container(name="proxy", restart_policy="Always")),
        containers=(Container(name="c"),),
    )
    status = PodStatus(
        container_statuses=(ContainerStatus(name="c", restart_count=2),),
        init_container_statuses=(
            ContainerStatus(name="setup", restart_count=9),
            ContainerStatus(name="proxy", restart_count=4),
        ),
    )
    assert restarts(Pod(spec=spec, status=status)) == (2, 4)


ORDERS = [
    pytest.param(pod("first"), pod("last", node="n"), id="unbound"),
    pytest.param(
        pod("first", node="n", phase="Pending"), pod("last", node="n", phase="Unknown"), id="pending"
    ),
    pytest.param(pod("first", node="n", phase="Unknown"), pod("last", node="n"), id="unknown"),
    pytest.param(pod("first", node="n"), pod("last", node="n", ready_for=9), id="not-ready"),
    pytest.param(
        pod("first", node="n", ready_for=9, cost="-1"), pod("last", node="n", ready_for=9), id="cost"
    ),
    pytest.param(
        pod("first", node="n", ready_for=9), pod("last", node="n", ready_for=9000), id="ready-recently"
    ),
    pytest.param(
        pod("first", node="n", ready_for=9, restarted=3),
        pod("last", node="n", ready_for=9),
        id="restarted",
    ),
    pytest.param(pod("first", node="n", age=60), pod("last", node="n", age=86400 / 2), id="created-recently"),
    pytest.param(pod("a", node="n", age=5000), pod("b", node="n", age=5001), id="uid-among-equally-old"),
]


@pytest.mark.parametrize(("first", "last"), ORDERS)
def test_removal_order_of_two_pods(first: Pod, last: Pod) -> None:
    assert removal_order([last, first], [], NOW) == [first, last]
    assert removal_order([first, last], [], NOW) == [first, last]


def test_removal_order_does_not_depend_on_the_given_one() -> None:
    """Two pods of one second, and one of another whose age has the same logarithm: UIDs decide them all."""
    ages = {"a": 1000.0, "b": 1001.0, "c": 1000.0}
    pods = [pod(name, node="node", ready_for=age, age=age) for name, age in ages.items()]
    for given in permutations(pods):
        assert [each.metadata.name for each in removal_order(given, [], NOW)] == ["a", "b", "c"]


MONTH, HOUR = 30 * 86400.0, 3600.0
NEWBORN = 0.0
UNSCHEDULED = pod("unscheduled", phase="Pending")
PENDING = pod("pending", node="node", phase="Pending")
UNKNOWN = pod("unknown", node="node", phase="Unknown")
NOT_READY = pod("not-ready", node="node")
READY_NOW = pod("ready-now", node="node", ready_for=0, age=NEWBORN)
READY_LONG = pod("ready-long", node="node", ready_for=MONTH, age=MONTH)
RESTARTED = pod("restarted", node="node", ready_for=0, age=NEWBORN, restarted=9001)
CREATED_LONG = pod("created-long", node="node", ready_for=0, age=MONTH)
CHEAP = pod("cheap", node="node", ready_for=0, age=MONTH, cost="10")
DEAR = pod("dear", node="node", ready_for=0, age=MONTH, cost="100")

# the first and the last, each with the number of pods on its node
RANKED: list[tuple[Pod, int, Pod, int]] = [
    (UNSCHEDULED, 1, PENDING, 2),
    (UNSCHEDULED, 2, PENDING, 1),
    (PENDING, 1, UNKNOWN, 2),
    (UNKNOWN, 1, NOT_READY, 2),
    (NOT_READY, 1, READY_NOW, 1),
    (READY_NOW, 1, READY_LONG, 1),
    (READY_NOW, 2, READY_LONG, 1),
    (RESTARTED, 1, READY_NOW, 1),
    (READY_NOW, 2, RESTARTED, 1),
    (READY_NOW, 1, CREATED_LONG, 1),
    (CREATED_LONG, 2, READY_NOW, 1),
    (CHEAP, 2, DEAR, 1),
    (CHEAP, 1, DEAR, 2),
]


@pytest.mark.parametrize(("first", "crowd", "last", "other_crowd"), RANKED)
def test_crowd_counts_after_state_and_cost(first: Pod, crowd: int, last: Pod, other_crowd: int) -> None:
    placed = []
    for node, each in (("a", first), ("b", last)):
        spec = structs.replace(each.spec, node_name=node if each.spec.node_name else "")
        placed.append(structs.replace(each, spec=spec))
    related = [
        pod(f"{node}{number}", node=node)
        for node, count in (("a", crowd), ("b", other_crowd))
        for number in range(count)
    ]
    assert removal_order(placed[::-1], related, NOW) == placed
    assert removal_order(placed, related, NOW) == placed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pod("a", phase="Pending", age=5 * HOUR), pod("b", phase="Pending", age=8 * HOUR)),
        (pod("a", ready_for=5 * HOUR, age=MONTH), pod("b", ready_for=8 * HOUR, age=MONTH)),
    ],
)
def test_ages_of_one_magnitude_leave_the_choice_to_the_uid(one: Pod, other: Pod) -> None:
    assert removal_order([other, one], [], NOW) == [one, other]


def test_jobs_rank_pods_without_costs_and_magnitudes() -> None:
    ordered = [
        UNSCHEDULED,
        PENDING,
        UNKNOWN,
        NOT_READY,
        pod("newer", node="node", ready_for=5 * HOUR, age=MONTH, cost="7"),
        pod("older", node="node", ready_for=8 * HOUR, age=MONTH),
    ]
    assert plain_removal_order(ordered[::-1]) == ordered
    assert plain_removal_order([READY_LONG, READY_NOW, RESTARTED]) == [RESTARTED, READY_NOW, READY_LONG]


def test_pod_on_crowded_node_is_removed_first() -> None:
    alone = pod("alone", node="quiet", ready_for=9)
    crowded = pod("crowded", node="busy", ready_for=9000)
    related = [alone, crowded, pod("other", node="busy")]
    assert removal_order([alone, crowded], related, NOW) == [crowded, alone]


def test_ended_pods_do_not_crowd_a_node() -> None:
    alone = pod("alone", node="quiet", ready_for=9)
    other = pod("other", node="busy", ready_for=9000)
    related = [alone, other, pod("ended", node="busy", phase="Failed")]
    assert removal_order([other, alone], related, NOW) == [alone, other]


def test_ready_pod_without_transition_time_is_available_from_its_creation() -> None:
    unknown = Pod(
        metadata=ObjectMeta(creation_timestamp=NOW),
        status=PodStatus(conditions=(PodCondition(type="Ready", status="True"),)),
    )
    moments: list[datetime | None] = [available_at(unknown, 0), available_at(unknown, 1)]
    assert moments == [NOW, None]
