"""The status of Advanced StatefulSets: counts by revision and lifecycle state, claims, conditions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import PersistentVolumeClaim
from podling_kruise.statefulset.status_rules import FAILED_CREATE, status_of, with_conditions
from podling_kruise.statefulset.types import StatefulSetStatus, VolumeClaimStatus
from tests.unit.kruise.statefulset.test_update_plan import NOW, numbered, view


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ("o o n", (3, 3, 3, 2, 1, 1, 1)),
        ("o o- n-", (3, 1, 1, 2, 1, 0, 0)),
        ("o o! n!", (3, 3, 3, 1, 0, 1, 1)),
        ("o o nd", (3, 3, 2, 2, 1, 1, 0)),
    ],
)
def test_pods_are_counted(words: str, counts: tuple[int, ...]) -> None:
    found = status_of(view(numbered(words)), 0, "app=web")
    assert counts == (
        found.replicas,
        found.ready_replicas,
        found.available_replicas,
        found.current_replicas,
        found.updated_replicas,
        found.updated_ready_replicas,
        found.updated_available_replicas,
    )
    assert (found.current_revision, found.update_revision) == ("web-old", "web-new")


def test_update_is_over_when_all_pods_are_ready_and_new() -> None:
    found = status_of(view(numbered("n n")), 0, "")
    assert (found.current_revision, found.current_replicas) == ("web-new", 2)
    assert status_of(view(numbered("n n-")), 0, "").current_revision == "web-old"
    assert status_of(view(numbered("n n"), type="OnDelete"), 0, "").current_revision == "web-old"


def test_pods_are_available_after_the_time_of_the_rolling_update() -> None:
    seen = view(numbered("n n"), rolling={"minReadySeconds": 10})
    assert status_of(seen, 0, "").available_replicas == 0
    assert status_of(replace(seen, now=NOW + timedelta(seconds=10)), 0, "").available_replicas == 2


def claim(name: str, requested: str, capacity: str) -> PersistentVolumeClaim:
    plain: dict[str, Any] = {
        "metadata": {"name": name},
        "spec": {"resources": {"requests": {"storage": requested}}},
        "status": {"capacity": {"storage": capacity}},
    }
    return msgspec.convert(plain, PersistentVolumeClaim)


def test_claims_are_compared_with_their_templates() -> None:
    template = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    seen = view(numbered("n n n"), volumeClaimTemplates=[template])
    claims = [
        claim("data-web-0", "2Gi", "2Gi"),
        claim("data-web-1", "2Gi", "1Gi"),
        claim("data-web-2", "1Gi", "1Gi"),
    ]
    found = status_of(replace(seen, claims={each.metadata.name or "": each for each in claims}), 0, "")
    expected = VolumeClaimStatus(volume_claim_name="data", compatible_replicas=2, compatible_ready_replicas=1)
    assert found.volume_claims == (expected,)


def test_condition_of_a_failure_stays_until_it_is_over() -> None:
    first = with_conditions(StatefulSetStatus(), StatefulSetStatus(), {FAILED_CREATE: ValueError("a")}, NOW)
    (condition,) = first.conditions
    assert (condition.type, condition.message) == (
        FAILED_CREATE,
        "StatefulPodControl failed to create Pod error: a",
    )
    later = NOW + timedelta(seconds=5)
    again = with_conditions(StatefulSetStatus(), first, {FAILED_CREATE: ValueError("b")}, later)
    assert again.conditions == first.conditions
    assert with_conditions(StatefulSetStatus(), again, {}, later).conditions == ()
    assert structs.replace(again, conditions=()) == StatefulSetStatus()
