"""Deletions, evictions and updates of pods that a PodUnavailableBudget protects, through the API server.

Cases of upstream's ``pod_unavailable_budget_test.go`` and ``pub_control_utils_test.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from podling.api.apps_v1 import ReplicaSet
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import DeleteOptions, ObjectMeta
from podling.api.policy_v1 import Eviction
from podling.machinery.errors import ApiError
from podling.testing import running
from podling_kruise.names import NO_PROTECTION, RELATED_BUDGET, UNAVAILABLE_PREFIX
from podling_kruise.podunavailablebudget.controller import BudgetController
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from tests.support.budgets import budget, numbers_of, owner_of, ready_pod, status_of
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.control_loops import told
from tests.support.sidecar_sets import create

REFUSED = 'podunavailablebudget.policy.kruise.io "web" is forbidden: pub unavailable allowed is negative'


@asynccontextmanager
async def budget_cluster(**features: bool) -> AsyncIterator[Kruise]:
    """Run the controller of budgets beside an API server."""
    async with kruise_api(**features) as kruise, running(kruise.plane.client, BudgetController):
        yield kruise


async def fill(kruise: Kruise, count: int = 3, /, **spec: Any) -> None:
    """Create a budget and ready pods, and wait for its status."""
    await create(kruise, budget(**spec))
    owner = await owner_of(kruise.client, count)
    for number in range(count):
        await ready_pod(kruise.client, f"web-{number}", owner=owner)
    await kruise.wait(1)


async def delete(kruise: Kruise, name: str, *, dry_run: bool = False) -> None:
    await kruise.client.delete(Pod, name, "default", dry_run=dry_run)


async def evict(kruise: Kruise, name: str, *, dry_run: bool = False) -> None:
    options = DeleteOptions(dry_run=("All",)) if dry_run else None
    body = Eviction(metadata=ObjectMeta(name=name, namespace="default"), delete_options=options)
    await kruise.client.create_subresource(Pod, name, "eviction", body, "default")


async def update(kruise: Kruise, name: str, *, dry_run: bool = False) -> None:
    patch = {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}
    await kruise.client.patch(Pod, name, patch, "default", dry_run=dry_run)


async def put_label(kruise: Kruise, name: str, *, dry_run: bool = False) -> None:
    patch = {"metadata": {"labels": {f"{UNAVAILABLE_PREFIX}drain": "true"}}}
    await kruise.client.patch(Pod, name, patch, "default", dry_run=dry_run)


Act = Callable[..., Awaitable[None]]
OPERATIONS: dict[str, Act] = {"DELETE": delete, "EVICT": evict, "UPDATE": update, "label": put_label}


@pytest.mark.parametrize("act", OPERATIONS.values(), ids=OPERATIONS)
async def test_operation_is_allowed_until_the_budget_is_spent(act: Act) -> None:
    async with budget_cluster() as kruise:
        await fill(kruise)
        assert await numbers_of(kruise.client) == (1, 3, 2, 3)
        await act(kruise, "web-0")
        assert (await status_of(kruise.client)).unavailable_allowed == 0
        with pytest.raises(ApiError, match=REFUSED) as refused:
            await act(kruise, "web-1")
        assert refused.value.code == 403
        await kruise.wait(1)
        events = [text for text in await told(kruise.plane.client) if "PubPreventPodDeletion" in text]
        assert len(events) == 1
        assert events[0].endswith("web-1: openkruise pub prevents pod deletion")
        pod = await kruise.client.get(Pod, "web-1", "default")
        assert pod.metadata.deletion_timestamp is None
        assert pod.spec.containers[0].image == "web:1"


async def test_new_pod_has_the_budget_of_the_deployment_behind_its_replica_set() -> None:
    async with kruise_api() as kruise:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        await create(kruise, budget(selector=None, targetRef=target))
        owner = await owner_of(kruise.client, 1, "web-1")
        alone = await ready_pod(kruise.client, "alone", owner=owner)
        assert RELATED_BUDGET not in alone.metadata.annotations
        above = {**target, "uid": "u", "controller": True}
        await kruise.client.patch(ReplicaSet, "web-1", {"metadata": {"ownerReferences": [above]}}, "default")
        pod = await ready_pod(kruise.client, "web-0", owner=owner)
        assert pod.metadata.annotations[RELATED_BUDGET] == "web"


@pytest.mark.parametrize(
    ("act", "disrupted"), [(delete, True), (evict, True), (update, False)], ids=["DELETE", "EVICT", "UPDATE"]
)
async def test_status_records_the_pod_and_is_spent_for_it_once(act: Act, disrupted: bool) -> None:
    async with kruise_api() as kruise:  # no controller: the status stays as admission leaves it
        await create(kruise, budget(maxUnavailable=2))
        status = {"unavailableAllowed": 2, "currentAvailable": 3, "desiredAvailable": 1, "totalReplicas": 3}
        patch = {"status": status}
        await kruise.client.patch(PodUnavailableBudget, "web", patch, "default", subresource="status")
        # A finalizer keeps the deleted pod, so that it can be deleted again.
        await ready_pod(kruise.client, "web-0")
        keep = {"metadata": {"finalizers": ["example.com/keep"]}}
        await kruise.client.patch(Pod, "web-0", keep, "default")
        for _ in range(2):
            await act(kruise, "web-0")
            found = await status_of(kruise.client)
            assert found.unavailable_allowed == 1
            assert (list(found.disrupted_pods), list(found.unavailable_pods)) == (
                (["web-0"], []) if disrupted else ([], ["web-0"])
            )


@pytest.mark.parametrize("act", OPERATIONS.values(), ids=OPERATIONS)
async def test_dry_run_spends_nothing_and_is_refused_alike(act: Act) -> None:
    async with budget_cluster() as kruise:
        await fill(kruise)
        before = await kruise.client.get(PodUnavailableBudget, "web", "default")
        for name in ("web-0", "web-1", "web-2"):
            await act(kruise, name, dry_run=True)
        assert await kruise.client.get(PodUnavailableBudget, "web", "default") == before
        await act(kruise, "web-0")
        with pytest.raises(ApiError, match=REFUSED):
            await act(kruise, "web-1", dry_run=True)


FREE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "marked as not protected": ({}, {"annotations": {NO_PROTECTION: "true"}}),
    "not ready": ({}, {"status": {"phase": "Running"}}),
    "has not begun": ({}, {"status": {"phase": "Pending"}}),
    "counts as unavailable by its label": ({}, {"labels": {"app": "web", f"{UNAVAILABLE_PREFIX}x": ""}}),
    "ignored by the budget": (
        {"ignoredPodSelector": {"matchLabels": {"skip": "yes"}}},
        {"labels": {"app": "web", "skip": "yes"}},
    ),
    "not selected": ({}, {"labels": {"app": "other"}}),
}


@pytest.mark.parametrize(("spec", "pod"), FREE.values(), ids=FREE)
async def test_pod_without_protection_goes_while_nothing_is_left(
    spec: dict[str, Any], pod: dict[str, Any]
) -> None:
    async with budget_cluster() as kruise:
        await fill(kruise, 3, maxUnavailable=None, minAvailable=10, **spec)
        await ready_pod(kruise.client, "free", **pod)
        await kruise.wait(1)
        await delete(kruise, "free")
        with pytest.raises(ApiError, match=REFUSED):
            await delete(kruise, "web-0")


@pytest.mark.parametrize("protected", ["DELETE", "EVICT", "UPDATE"])
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
async def test_budget_protects_from_the_operations_that_it_lists(protected: str, version: str) -> None:
    async with budget_cluster() as kruise:
        plain = budget(version, maxUnavailable=0)
        if version == "v1alpha1":
            plain["metadata"]["annotations"] = {"kruise.io/pub-protect-operations": protected}
        else:
            plain["spec"]["protectOperations"] = [protected]
        await create(kruise, plain)
        owner = await owner_of(kruise.client, 4)
        names = ["DELETE", "EVICT", "UPDATE", "rest"]
        for name in names:
            await ready_pod(kruise.client, name.lower(), owner=owner)
        await kruise.wait(1)
        for name in names[:3]:
            if name == protected:
                with pytest.raises(ApiError, match=REFUSED):
                    await OPERATIONS[name](kruise, name.lower())
            else:
                await OPERATIONS[name](kruise, name.lower())


async def test_gates_turn_protection_off() -> None:
    features = {"PodUnavailableBudgetDeleteGate": False, "PodUnavailableBudgetUpdateGate": False}
    async with budget_cluster(**features) as kruise:
        await fill(kruise, 3, maxUnavailable=0)
        await update(kruise, "web-0")
        await evict(kruise, "web-1")
        await delete(kruise, "web-2")


async def test_changes_that_leave_a_pod_available_cost_nothing() -> None:
    async with budget_cluster() as kruise:
        await fill(kruise, 3, maxUnavailable=0)
        patch = {"metadata": {"labels": {"more": "x"}, "annotations": {"more": "x"}}}
        await kruise.client.patch(Pod, "web-0", patch, "default")
        status = {"status": {"message": "x"}}
        await kruise.client.patch(Pod, "web-0", status, "default", subresource="status")


async def test_pod_of_a_budget_that_is_gone_is_free() -> None:
    async with budget_cluster() as kruise:
        await fill(kruise, 3, maxUnavailable=0)
        await kruise.client.delete(PodUnavailableBudget, "web", "default")
        pod = await kruise.client.get(Pod, "web-0", "default")
        assert pod.metadata.annotations[RELATED_BUDGET] == "web"
        await delete(kruise, "web-0")


@pytest.mark.parametrize("allowed", [0, 1, 7, 19])
@pytest.mark.parametrize("act", [delete, evict, update], ids=["DELETE", "EVICT", "UPDATE"])
async def test_twenty_operations_at_once_get_exactly_what_is_allowed(act: Act, allowed: int) -> None:
    async with budget_cluster() as kruise:
        await fill(kruise, 20, maxUnavailable=allowed)
        assert await numbers_of(kruise.client) == (allowed, 20, 20 - allowed, 20)
        results = await asyncio.gather(
            *(act(kruise, f"web-{number}") for number in range(20)), return_exceptions=True
        )
        refused = [each for each in results if each is not None]
        assert len(refused) == 20 - allowed
        assert {str(each) for each in refused} == {REFUSED}
        found = await status_of(kruise.client)
        assert found.unavailable_allowed == 0


async def test_operations_of_all_kinds_share_one_budget() -> None:
    async with budget_cluster() as kruise:
        await fill(kruise, 5, maxUnavailable=2)
        acts = [delete, evict, update, delete, evict]
        calls = (act(kruise, f"web-{number}") for number, act in enumerate(acts))
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(each is None for each in results) == 2
