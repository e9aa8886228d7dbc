"""The pods that need an update: upstream's tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ContainerState, ContainerStateTerminated, ContainerStatus, Pod
from podling.api.core_v1 import ResourceRequirements as Given
from podling.machinery.encoding import codec
from podling.sim.loop import EPOCH
from podling_vpa.types import EvictionRequirement
from podling_vpa.updater.priority import (
    Candidate,
    Priority,
    candidate,
    has_lower,
    meets,
    ordered,
    priority_of,
)
from podling_vpa.updater.settings import DEFAULT_SETTINGS
from tests.support.vertical_autoscalers import (
    amounts,
    autoscaler,
    container,
    pod,
    recommendation,
    recommended,
)

TWO = "beside"
HIGHER, LOWER = "TargetHigherThanRequests", "TargetLowerThanRequests"


def one(requests: Any, **bounds: Any) -> tuple[Any, Any]:
    return [container(requests=requests)], [recommended(**bounds)]


CASES: list[tuple[str, Any, Any, tuple[bool, bool, float]]] = [
    ("simple scale up", *one(amounts("2"), target=amounts("10")), (False, True, 4.0)),
    ("simple scale down", *one(amounts("4"), target=amounts("2")), (False, False, 0.5)),
    ("no resource diff", *one(amounts("2"), target=amounts("2")), (False, False, 0.0)),
    ("scale up on milliquantities", *one(amounts("10m"), target=amounts("900m")), (False, True, 89.0)),
    (
        "scale up outside recommended range",
        *one(amounts("4"), target=amounts("10"), lower=amounts("6"), upper=amounts("14")),
        (True, True, 1.5),
    ),
    (
        "scale down outside recommended range",
        *one(amounts("8"), target=amounts("2"), lower=amounts("1"), upper=amounts("3")),
        (True, False, 0.75),
    ),
    (
        "multiple resources, both scale up",
        *one(amounts("3", "10M"), target=amounts("6", "20M")),
        (False, True, 2.0),
    ),
    (
        "multiple resources, only one scale up",
        *one(amounts("4", "10M"), target=amounts("2", "20M")),
        (False, True, 1.5),
    ),
    (
        "multiple resources, both scale down",
        *one(amounts("4", "20M"), target=amounts("2", "10M")),
        (False, False, 1.0),
    ),
    (
        "multiple resources, one outside recommended range",
        *one(
            amounts("4", "20M"),
            target=amounts("2", "10M"),
            lower=amounts("1", "5M"),
            upper=amounts("3", "30M"),
        ),
        (True, False, 1.0),
    ),
    (
        "multiple containers, both scale up",
        [container(requests=amounts("1")), container(TWO, amounts("2"))],
        [recommended(target=amounts("4")), recommended(TWO, amounts("8"))],
        (False, True, 3.0),
    ),
    (
        "multiple containers, both scale down",
        [container(requests=amounts("3")), container(TWO, amounts("7"))],
        [recommended(target=amounts("1")), recommended(TWO, amounts("2"))],
        (False, False, 0.7),
    ),
    (
        "multiple containers, both scale up, one outside range",
        [container(requests=amounts("1")), container(TWO, amounts("2"))],
        [
            recommended(target=amounts("4"), lower=amounts("1")),
            recommended(TWO, amounts("8"), amounts("3"), amounts("10")),
        ],
        (True, True, 3.0),
    ),
    (
        "multiple containers, multiple resources",
        [container(requests=amounts("6", "10M")), container(TWO, amounts("4", "30M"))],
        [recommended(target=amounts("8", "20M")), recommended(TWO, amounts("7", "30M"))],
        (False, True, 0.75),
    ),
    ("no request", *one({}, target=amounts("1m")), (True, True, 0.0)),
    ("no recommendation", [container(requests=amounts("5"))], [], (False, False, 0.0)),
]


@pytest.mark.parametrize(
    ("containers", "found", "expected"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_priority_of_a_pod(containers: Any, found: Any, expected: tuple[bool, bool, float]) -> None:
    priority = priority_of(pod(*containers), recommendation(*found))
    assert (priority.is_outside, priority.scales_up) == expected[:2]
    assert priority.difference == pytest.approx(expected[2])


def test_resources_of_the_status_precede_those_of_the_spec() -> None:
    made = pod(container(requests=amounts("10000")))
    status = ContainerStatus(name="app", resources=Given(requests={"cpu": "2"}))
    made = structs.replace(made, status=structs.replace(made.status, container_statuses=(status,)))
    assert priority_of(made, recommendation(recommended(target=amounts("10")))).difference == 4.0


@pytest.mark.parametrize(("observed", "difference"), [(None, 9.0), ("app", 9.0), ("", 0.0), ("abcd;';", 9.0)])
def test_containers_that_admission_did_not_see_do_not_count(observed: str | None, difference: float) -> None:
    annotations = {} if observed is None else {"vpaObservedContainers": observed}
    made = pod(container(requests=amounts("1")), annotations=annotations)
    assert priority_of(made, recommendation(recommended(target=amounts("10")))).difference == difference


def aged(hours: float, made: Pod) -> Pod:
    """Return the pod as one that started so many hours ago."""
    started = EPOCH - timedelta(hours=hours)
    return structs.replace(made, status=structs.replace(made.status, start_time=started))


def oomed(seconds: float, made: Pod) -> Pod:
    """Return the pod with a container that ran out of memory after so many seconds."""
    ended = ContainerStateTerminated(
        exit_code=137,
        reason="OOMKilled",
        started_at=EPOCH - timedelta(seconds=seconds),
        finished_at=EPOCH,
    )
    status = ContainerStatus(name="app", last_state=ContainerState(terminated=ended))
    return structs.replace(made, status=structs.replace(made.status, container_statuses=(status,)))


@pytest.mark.parametrize(
    ("made", "target", "is_updated"),
    [
        (aged(1, pod(container(requests=amounts("2")))), "4", False),
        (aged(13, pod(container(requests=amounts("2")))), "4", True),
        (aged(13, pod(container(requests=amounts("2")))), "2100m", False),
        (aged(1, pod(container(requests=amounts("9")))), "4", True),
        (pod(container(requests=amounts("2"))), "4", False),
        (oomed(60, pod(container(requests=amounts("2")))), "4", True),
        (oomed(60, pod(container(requests=amounts("2")))), "2", False),
        (oomed(3600, pod(container(requests=amounts("2")))), "4", False),
    ],
    ids=[
        "young and within bounds",
        "old enough",
        "old, and nearly right",
        "outside of the bounds",
        "not started",
        "out of memory quickly",
        "out of memory, and right",
        "out of memory after an hour",
    ],
)
def test_pod_is_updated_when_it_pays(made: Pod, target: str, is_updated: bool) -> None:
    found = recommendation(recommended(target=amounts(target), lower=amounts("1"), upper=amounts("8")))
    each = candidate(made, autoscaler(found), found, DEFAULT_SETTINGS, EPOCH)
    assert (each is not None) is is_updated


def test_containers_that_are_off_do_not_count_as_out_of_memory() -> None:
    found = recommendation(recommended(target=amounts("4")))
    owner = autoscaler(found, {"containerName": "*", "mode": "Off"})
    made = oomed(60, pod(container(requests=amounts("2"))))
    assert candidate(made, owner, found, DEFAULT_SETTINGS, EPOCH) is None


def requirement(change: str, *resources: str) -> EvictionRequirement:
    return EvictionRequirement(change_requirement=change, resources=resources)


@pytest.mark.parametrize(
    ("target", "requirements", "expected"),
    [
        (amounts("600m", "10Gi"), [], True),
        (amounts("600m", "10Gi"), [requirement(HIGHER, "cpu")], True),
        (amounts("400m", "10Gi"), [requirement(LOWER, "cpu")], True),
        (amounts("500m", "10Gi"), [requirement(HIGHER, "cpu")], False),
        (amounts("500m", "11Gi"), [requirement(HIGHER, "cpu", "memory")], True),
        (amounts("500m", "11Gi"), [requirement(HIGHER, "cpu")], False),
        (amounts("500m", "9Gi"), [requirement(LOWER, "cpu", "memory")], True),
        (amounts("500m", "9Gi"), [requirement(HIGHER, "cpu", "memory")], False),
        (amounts("600m", "9Gi"), [requirement(HIGHER, "cpu"), requirement(LOWER, "memory")], True),
        (amounts("600m", "9Gi"), [requirement(HIGHER, "cpu"), requirement(HIGHER, "memory")], False),
    ],
)
def test_requirements_of_an_eviction(
    target: dict[str, str], requirements: list[EvictionRequirement], expected: bool
) -> None:
    made = pod(container(requests=amounts("500m", "10Gi")))
    assert meets(made, recommendation(recommended(target=target)), requirements) is expected


@pytest.mark.parametrize(
    ("one_", "two", "expected"), [("600m", "700m", True), ("200m", "700m", True), ("200m", "300m", False)]
)
def test_change_of_one_container_meets_the_requirements(one_: str, two: str, expected: bool) -> None:
    requests = amounts("500m", "10Gi")
    made = pod(container(requests=requests), container(TWO, requests))
    found = recommendation(recommended(target=amounts(one_, "10Gi")), recommended(TWO, amounts(two, "10Gi")))
    assert meets(made, found, [requirement(HIGHER, "cpu")]) is expected


def test_pod_without_requests_meets_all_requirements() -> None:
    assert meets(pod(), recommendation(recommended(target=amounts("1"))), [requirement(LOWER, "cpu")])


def test_growing_pods_come_first_and_then_the_largest_change() -> None:
    ranks = {"down": (False, 3.0), "small": (True, 1.0), "large": (True, 2.0)}
    found = recommendation(recommended(target=amounts("1")))
    candidates = [
        Candidate(pod(name=name), Priority(False, scales_up=up, difference=size), found)
        for name, (up, size) in ranks.items()
    ]
    assert [each.pod.metadata.name for each in ordered(candidates, ())] == ["large", "small", "down"]


def test_lower_recommendation_is_one_with_a_lower_target() -> None:
    old = recommendation(recommended(target=amounts("2", "2Gi")))
    assert has_lower(recommendation(recommended(target=amounts("3", "1Gi"))), old)
    assert not has_lower(recommendation(recommended(target=amounts("2", "3Gi"))), old)
    assert not has_lower(recommendation(recommended(TWO, amounts("1"))), old)
    assert codec.to_plain(old)["containerRecommendations"][0]["target"] == {"cpu": "2", "memory": "2Gi"}
