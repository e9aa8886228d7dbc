"""The pods to update next.

Cases: ``TestGetNextUpgradePods``, ``TestParseUpdateScatterTerms`` and ``TestSortNextUpgradePods`` of
``sidecarset_strategy_test.go``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ContainerStatus, Pod, PodCondition, PodStatus
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.machinery.encoding import codec
from podling_kruise.common_types import OrderTerm, PriorityStrategy, ScatterTerm, WeightTerm
from podling_kruise.sidecarset.annotations import (
    INJECTED_LIST,
    SET_HASH,
    SET_HASH_WITHOUT_IMAGE,
    new_record,
    records_text,
)
from podling_kruise.sidecarset.types import SidecarSet, UpdateStrategy
from podling_kruise.sidecarset.update_plan import counted, expanded, next_pods
from tests.support.sidecar_sets import pod, sidecar_set

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def owner(bare: str = "same", **strategy: Any) -> SidecarSet:
    found = codec.from_plain(sidecar_set(), SidecarSet)
    annotations = {SET_HASH: "new", SET_HASH_WITHOUT_IMAGE: bare}
    return structs.replace(
        found,
        metadata=structs.replace(found.metadata, annotations=annotations),
        spec=structs.replace(found.spec, update_strategy=UpdateStrategy(type="RollingUpdate", **strategy)),
    )


def injected(number: int, *, updated: bool, ready: bool, **labels: str) -> Pod:
    digest = "new" if updated else "old"
    annotations = {
        SET_HASH: records_text({"sidecars": new_record("sidecars", digest, ["agent"], NOW)}),
        SET_HASH_WITHOUT_IMAGE: records_text({"sidecars": new_record("sidecars", "same", ["agent"], NOW)}),
        INJECTED_LIST: "sidecars",
    }
    found = pod(f"p-{number}", containers=[{"name": "main", "image": "a"}, {"name": "agent", "image": "b"}])
    condition = PodCondition(type="Ready", status="True" if ready else "False")
    statuses = tuple(
        ContainerStatus(name=name, image=image, image_id=image, ready=True)
        for name, image in (("main", "a"), ("agent", "b"))
    )
    return structs.replace(
        found,
        metadata=ObjectMeta(
            name=f"p-{number}",
            namespace="default",
            labels={"app": "web", **labels},
            annotations=annotations,
            creation_timestamp=NOW - timedelta(minutes=number),
        ),
        status=PodStatus(phase="Running", conditions=(condition,), container_statuses=statuses),
    )


def pods(total: int, updated: int, ready: int, labelled: int = 0) -> list[Pod]:
    """Return pods: so many are updated, and so many of these are ready."""
    return [
        injected(
            number,
            updated=number < updated,
            ready=number >= updated or number < ready,
            **({"canary": "yes"} if number < labelled else {}),
        )
        for number in range(total)
    ]


CANARY = LabelSelector(match_labels={"canary": "yes"})


@pytest.mark.parametrize(
    ("strategy", "total", "updated", "ready", "labelled", "chosen"),
    [
        ({"max_unavailable": 10}, 100, 30, 26, 0, 6),
        ({"max_unavailable": "10%"}, 1000, 300, 260, 0, 60),
        ({"max_unavailable": "5%"}, 1000, 300, 250, 0, 0),
        ({"max_unavailable": 100}, 100, 30, 27, 0, 70),
        ({"max_unavailable": 100, "partition": 180}, 1000, 800, 760, 0, 20),
        ({"max_unavailable": 100, "partition": 100}, 1000, 800, 760, 0, 60),
        ({"max_unavailable": 100, "partition": "18%"}, 1000, 800, 760, 0, 20),
        ({"max_unavailable": 100, "partition": "10%"}, 1000, 800, 760, 0, 60),
        ({"max_unavailable": 100, "selector": CANARY}, 1000, 0, 0, 30, 30),
        ({"max_unavailable": "5%"}, 5, 0, 0, 0, 1),
        ({"max_unavailable": 5, "partition": "99%"}, 5, 0, 0, 0, 1),
        ({"max_unavailable": 5, "partition": "1%"}, 5, 0, 0, 0, 4),
    ],
)
def test_strategy_limits_the_pods_that_are_updated(
    strategy: dict[str, Any], total: int, updated: int, ready: int, labelled: int, chosen: int
) -> None:
    found = next_pods(owner(**strategy), pods(total, updated, ready, labelled))
    assert (len(found.chosen), len(found.fixed)) == (chosen, 0)


def test_pods_with_other_changes_than_images_are_not_chosen() -> None:
    found = next_pods(owner("changed", max_unavailable=100), pods(100, 0, 0))
    assert (len(found.chosen), len(found.fixed)) == (0, 100)


def test_pods_that_are_not_ready_and_young_ones_come_first() -> None:
    waiting = pods(5, 0, 0)
    waiting[4] = injected(4, updated=False, ready=False)
    found = next_pods(owner(max_unavailable=2), waiting)
    assert [each.metadata.name for each in found.chosen] == ["p-4", "p-0", "p-1"]


def foo_before_bar() -> PriorityStrategy:
    terms = [
        WeightTerm(weight=weight, match_selector=LabelSelector(match_labels={"rank": rank}))
        for weight, rank in ((50, "foo"), (30, "bar"))
    ]
    return PriorityStrategy(weight_priority=tuple(terms))


BY_RANK = PriorityStrategy(order_priority=(OrderTerm(ordered_key="rank"),))
FIVES = dict.fromkeys(range(10, 20), "5")


@pytest.mark.parametrize(
    ("priority", "ready", "not_ready", "ranks", "chosen"),
    [
        (None, 5, (), {}, [10, 11, 12, 13, 14]),
        (None, 5, (13, 16), {}, [13, 16, 10, 11, 12, 14, 15]),
        (foo_before_bar(), 2, (), {15: "bar", 16: "foo"}, [16, 15]),
        (BY_RANK, 2, (), {**FIVES, 17: "10", 18: "20"}, [18, 17]),
    ],
    ids=["the youngest", "not ready", "by weight", "by order"],
)
def test_order_in_which_pods_are_updated(
    priority: PriorityStrategy | None,
    ready: int,
    not_ready: tuple[int, ...],
    ranks: dict[int, str],
    chosen: list[int],
) -> None:
    """Ten of twenty pods are updated, and so many of these ready; ten may be unavailable."""
    waiting = [
        injected(
            number,
            updated=False,
            ready=number not in not_ready,
            **({"rank": ranks[number]} if number in ranks else {}),
        )
        for number in range(10, 20)
    ]
    found = next_pods(
        owner(max_unavailable=10, priority_strategy=priority), [*waiting[::-1], *pods(10, 10, ready)]
    )
    assert [each.metadata.name for each in found.chosen] == [f"p-{number}" for number in chosen]


def test_asterisk_stands_for_all_values_of_a_label() -> None:
    labelled = [injected(number, updated=True, ready=True, zone=zone) for number, zone in enumerate("abab")]
    terms = [ScatterTerm(key="app", value="web"), ScatterTerm(key="zone", value="*")]
    assert [(each.key, each.value) for each in expanded(terms, labelled)] == [
        ("app", "web"),
        ("zone", "a"),
        ("zone", "b"),
    ]


def test_status_counts_pods() -> None:
    status = counted(owner(), pods(10, 6, 4), "revision", 2)
    numbers = (status.matched_pods, status.updated_pods, status.ready_pods, status.updated_ready_pods)
    assert numbers == (10, 6, 8, 4)
    assert (status.latest_revision, status.collision_count) == ("revision", 2)
