"""Conversion of PodUnavailableBudgets. Cases of upstream's ``podunavailablebudget_conversion_test.go``."""

from __future__ import annotations

from typing import Any

import pytest

from podling_kruise.names import PROTECT_OPERATIONS, PROTECT_TOTAL_REPLICAS
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from tests.support.budgets import SELECTOR, budget
from tests.support.clone_sets import kruise_api
from tests.support.sidecar_sets import create

OLD = {PROTECT_OPERATIONS: "DELETE, EVICT", PROTECT_TOTAL_REPLICAS: "5", "mine": "x"}


async def test_annotations_of_the_older_version_are_fields_of_the_newer() -> None:
    async with kruise_api() as kruise:
        plain = budget("v1alpha1")
        plain["metadata"]["annotations"] = OLD
        await create(kruise, plain)
        found = await kruise.client.get(PodUnavailableBudget, "web", "default")
        assert (found.spec.protect_operations, found.spec.protect_total_replicas) == (("DELETE", "EVICT"), 5)
        assert found.metadata.annotations == OLD


@pytest.mark.parametrize(
    ("spec", "annotations"),
    [
        ({"protectOperations": ["DELETE", "EVICT"]}, {PROTECT_OPERATIONS: "DELETE,EVICT"}),
        ({"protectTotalReplicas": 5}, {PROTECT_TOTAL_REPLICAS: "5"}),
        ({}, {}),
    ],
)
async def test_fields_of_the_newer_version_are_annotations_of_the_older(
    spec: dict[str, Any], annotations: dict[str, str]
) -> None:
    async with kruise_api() as kruise:
        plain = budget(**spec)
        plain["metadata"]["annotations"] = {"mine": "x"}
        await create(kruise, plain)
        older = kruise.plane.server.catalogue.by_path("policy.kruise.io", "v1alpha1", "podunavailablebudgets")
        assert older is not None
        found: Any = await kruise.plane.client.get(older.type, "web", "default")
        assert found.metadata.annotations == {"mine": "x", **annotations}
        assert found.content["spec"] == {"selector": SELECTOR, "maxUnavailable": 1}
