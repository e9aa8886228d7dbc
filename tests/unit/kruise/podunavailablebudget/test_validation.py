"""Validation of PodUnavailableBudgets. Cases of upstream's ``pub_validating_test.go``."""

from __future__ import annotations

from typing import Any

import pytest

from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling_kruise.names import PROTECT_OPERATIONS, PROTECT_TOTAL_REPLICAS
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from tests.support.budgets import SELECTOR, budget
from tests.support.clone_sets import kruise_api
from tests.support.sidecar_sets import create

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
OTHER = {"matchLabels": {"app": "other"}}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "neither selector nor target": ({"selector": None}, "no selector or targetRef defined"),
    "both": ({"targetRef": TARGET}, "selector and targetRef are mutually exclusive"),
    "empty target": ({"selector": None, "targetRef": {}}, "empty targetRef is not valid"),
    "empty selector": ({"selector": {}}, "empty selector is not valid for PodUnavailableBudget."),
    "no amount": ({"maxUnavailable": None}, "no maxUnavailable or minAvailable defined"),
    "both amounts": ({"minAvailable": 1}, "maxUnavailable and minAvailable are mutually exclusive"),
    "negative amount": ({"maxUnavailable": -1}, "must be greater than or equal to 0"),
    "no percentage": ({"maxUnavailable": "x"}, "a valid percent string must be a numeric string"),
    "more than all": ({"maxUnavailable": "101%"}, "must not be greater than 100%"),
    "unknown operation": (
        {"protectOperations": ["SCALE"]},
        'spec.protectOperations[0]: Unsupported value: "SCALE"',
    ),
    "no pods in total": ({"protectTotalReplicas": 0}, "spec.protectTotalReplicas: Invalid value: 0"),
    "empty selector of ignored pods": ({"ignoredPodSelector": {}}, "empty ignoredPodSelector is not valid"),
}


async def refusal(plain: dict[str, Any]) -> ApiError:
    async with kruise_api() as kruise:
        with pytest.raises(ApiError) as refused:
            await create(kruise, plain)
    return refused.value


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
async def test_invalid_budgets_are_refused(spec: dict[str, Any], message: str) -> None:
    error = await refusal(budget(**spec))
    assert (error.code, message in str(error)) == (422, True), str(error)


VALID: dict[str, dict[str, Any]] = {
    "target": {"selector": None, "targetRef": TARGET},
    "least amount": {"maxUnavailable": None, "minAvailable": "30%"},
    "ignored pods": {"ignoredPodSelector": OTHER},
    "operations": {"protectOperations": ["DELETE", "RESIZE"]},
}


@pytest.mark.parametrize("spec", VALID.values(), ids=VALID)
async def test_valid_budgets_are_stored(spec: dict[str, Any]) -> None:
    async with kruise_api() as kruise:
        assert await create(kruise, budget(**spec)) == []
        stored = await kruise.client.get(PodUnavailableBudget, "web", "default")
        assert codec.to_plain(stored.spec) == budget(**spec)["spec"]


@pytest.mark.parametrize(
    ("version", "annotations", "code", "message"),
    [
        (
            "v1alpha1",
            {PROTECT_OPERATIONS: "SCALE"},
            400,
            f'invalid {PROTECT_OPERATIONS} value "SCALE"',
        ),
        ("v1alpha1", {PROTECT_TOTAL_REPLICAS: "many"}, 400, f"failed to parse {PROTECT_TOTAL_REPLICAS}"),
        ("v1beta1", {PROTECT_TOTAL_REPLICAS: "many"}, 422, "must be a valid int32"),
    ],
)
async def test_unreadable_annotations_are_refused(
    version: str, annotations: dict[str, str], code: int, message: str
) -> None:
    plain = budget(version)
    plain["metadata"]["annotations"] = annotations
    error = await refusal(plain)
    assert (error.code, message in str(error)) == (code, True), str(error)


async def test_annotation_must_agree_with_the_field() -> None:
    plain = budget(protectTotalReplicas=5)
    plain["metadata"]["annotations"] = {PROTECT_TOTAL_REPLICAS: "6"}
    assert "must match spec.protectTotalReplicas when both are set" in str(await refusal(plain))


CONFLICTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another target": ({"targetRef": TARGET}, {"targetRef": {**TARGET, "name": "other"}}, ""),
    "the same target": (
        {"targetRef": TARGET},
        {"targetRef": {**TARGET, "apiVersion": "apps/v1beta1"}},
        "pub.spec.targetReference is in conflict with other PodUnavailableBudget first",
    ),
    "another selector": ({"selector": SELECTOR}, {"selector": OTHER}, ""),
    "the same selector": (
        {"selector": SELECTOR},
        {"selector": SELECTOR},
        "pub.spec.selector is in conflict with other PodUnavailableBudget first",
    ),
    "target and selector": ({"selector": SELECTOR}, {"targetRef": TARGET}, ""),
}


@pytest.mark.parametrize(("first", "second", "message"), CONFLICTS.values(), ids=CONFLICTS)
async def test_pods_have_one_budget(first: dict[str, Any], second: dict[str, Any], message: str) -> None:
    async with kruise_api() as kruise:
        await create(kruise, budget(name="first", **{"selector": None, **first}))
        plain = budget(name="second", **{"selector": None, **second})
        if not message:
            await create(kruise, plain)
            return
        with pytest.raises(ApiError, match=message):
            await create(kruise, plain)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"selector": {"matchLabels": {"app": "other"}}}, True),
        ({"selector": None, "targetRef": TARGET}, True),
        ({"maxUnavailable": 2}, False),
    ],
)
async def test_pods_of_a_budget_cannot_be_changed(change: dict[str, Any], refused: bool) -> None:
    async with kruise_api() as kruise:
        await create(kruise, budget())
        patch = kruise.client.patch(PodUnavailableBudget, "web", {"spec": change}, "default")
        if not refused:
            assert (await patch).spec.max_unavailable == 2
            return
        with pytest.raises(ApiError, match="selector and targetRef cannot be modified"):
            await patch
