"""Pods as their budget sees them. Cases of upstream's ``pub_control_test.go``."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.clock import now
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling_kruise.names import UNAVAILABLE_PREFIX, UPDATE_STATE
from podling_kruise.podunavailablebudget.protection import RECORDS_MAX, costs, is_available, spent
from podling_kruise.podunavailablebudget.types import DELETE, EVICT, RESIZE, UPDATE, PodUnavailableBudget
from tests.support.budgets import READY, budget

OLD, NEW = "repo@sha256:" + "a" * 64, "repo@sha256:" + "b" * 64
RECORD = '{"revision":"r","lastContainerStatuses":{"main":{"imageID":"one"}}}'


def pod(image: str = "web:1", image_id: str = "one", shown: str = "", **metadata: Any) -> Pod:
    statuses = [{"name": "main", "image": shown or image, "imageID": image_id}]
    plain = {
        "metadata": {"name": "web", **metadata},
        "spec": {"containers": [{"name": "main", "image": image}]},
        "status": {**READY, "containerStatuses": statuses},
    }
    return codec.from_plain(plain, Pod)


@pytest.mark.parametrize(
    ("seen", "available"),
    [
        (pod(), True),
        (pod(labels={f"{UNAVAILABLE_PREFIX}x": "1"}), False),
        (pod(deletionTimestamp="2026-01-01T00:00:00Z"), False),
        (pod(OLD, OLD), True),
        (pod(NEW, OLD), False),
        (pod("web:2", shown="web:1", annotations={UPDATE_STATE: RECORD}), False),
        (pod("web:2", "two", annotations={UPDATE_STATE: RECORD}), True),
        (pod(annotations={UPDATE_STATE: "nonsense"}), False),
    ],
)
def test_pod_is_available_when_it_is_ready_and_what_its_spec_says(seen: Pod, available: bool) -> None:
    assert is_available(seen) is available


SINCE = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("spec", "status", "operation", "paid"),
    [
        ({}, {}, DELETE, True),
        ({}, {"desiredAvailable": 0}, DELETE, False),
        ({}, {"disruptedPods": {"web": SINCE}}, DELETE, False),
        ({}, {"unavailablePods": {"web": SINCE}}, DELETE, False),
        ({}, {"unavailablePods": {"other": SINCE}}, DELETE, True),
        ({}, {}, RESIZE, False),
        ({"protectOperations": ["RESIZE"]}, {}, RESIZE, True),
        ({"protectOperations": ["RESIZE"]}, {}, DELETE, False),
        ({"ignoredPodSelector": {"matchLabels": {"app": "web"}}}, {}, DELETE, False),
        ({"ignoredPodSelector": {"matchLabels": {"app": "log"}}}, {}, DELETE, True),
        ({"ignoredPodSelector": {}}, {}, DELETE, True),
    ],
)
def test_operation_costs_once_what_is_protected(
    spec: dict[str, Any], status: dict[str, Any], operation: str, paid: bool
) -> None:
    plain = {**budget(**spec), "status": {"desiredAvailable": 1, **status}}
    held = codec.from_plain(plain, PodUnavailableBudget)
    assert costs(pod(labels={"app": "web"}), held, operation) is paid


@pytest.mark.parametrize(
    ("operation", "field"),
    [
        (DELETE, "disrupted_pods"),
        (EVICT, "disrupted_pods"),
        (UPDATE, "unavailable_pods"),
        (RESIZE, "unavailable_pods"),
    ],
)
def test_operation_is_recorded_by_its_kind(operation: str, field: str) -> None:
    plain = {**budget(), "status": {"unavailableAllowed": 1, "desiredAvailable": 1}}
    found = spent(codec.from_plain(plain, PodUnavailableBudget), pod(), operation, now()).status
    assert found.unavailable_allowed == 0
    assert {name for name in ("disrupted_pods", "unavailable_pods") if getattr(found, name)} == {field}


def test_budget_with_too_many_records_allows_nothing() -> None:
    names = {f"pod-{number}": "2026-01-01T00:00:00Z" for number in range(RECORDS_MAX + 1)}
    status = {"unavailableAllowed": 5, "desiredAvailable": 1, "disruptedPods": names}
    full = codec.from_plain({**budget(), "status": status}, PodUnavailableBudget)
    with pytest.raises(ApiError, match="DisruptedPods and UnavailablePods map too big"):
        spent(full, pod(), DELETE, now())
