"""The status of PodUnavailableBudgets beside an API server in memory, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.api.core_v1 import Pod
from podling.controllers.owner_references import controller_reference
from podling.machinery.encoding import codec
from podling.testing import running
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.names import DEPRECATED_RELATED_BUDGET, RELATED_BUDGET
from podling_kruise.podunavailablebudget.controller import BudgetController
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from tests.support.budgets import LABELS, SELECTOR, budget, numbers_of, owner_of, ready_pod, status_of
from tests.support.clone_sets import Kruise, kruise_api, manifest
from tests.support.control_loops import told
from tests.support.scalable_kinds import create_scalable
from tests.support.sidecar_sets import create

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found, running(found.plane.client, BudgetController):
        yield found


async def deploy(kruise: Kruise, replicas: int, sets: dict[str, int]) -> None:
    """Create a Deployment with replica sets, and the ready pods of each."""
    spec = {"replicas": replicas, "selector": SELECTOR, "template": TEMPLATE}
    plain = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    deployment = await kruise.client.create(codec.from_plain(plain, Deployment))
    for name, count in sets.items():
        metadata = {
            "name": name,
            "namespace": "default",
            "ownerReferences": [codec.to_plain(controller_reference(deployment))],
        }
        made = codec.from_plain({"metadata": metadata, "spec": {**spec, "replicas": count}}, ReplicaSet)
        owner = controller_reference(await kruise.client.create(made))
        for number in range(count):
            await ready_pod(kruise.client, f"{name}-{number}", owner=owner)
    await kruise.wait(1)


@pytest.mark.parametrize("spec", [{"selector": SELECTOR}, {"selector": None, "targetRef": TARGET}])
async def test_replica_sets_of_a_deployment_count_once(kruise: Kruise, spec: dict[str, Any]) -> None:
    await create(kruise, budget(**spec, maxUnavailable="30%"))
    await deploy(kruise, 10, {"web-a": 7, "web-b": 4})
    assert await numbers_of(kruise.client) == (4, 11, 7, 10)


@pytest.mark.parametrize("spec", [{"selector": SELECTOR}, {"selector": None, "targetRef": TARGET}])
async def test_scaling_changes_what_may_go_at_once(kruise: Kruise, spec: dict[str, Any]) -> None:
    await create(kruise, budget(**spec, maxUnavailable="10%"))
    await deploy(kruise, 10, {"web-a": 10})
    assert await numbers_of(kruise.client) == (1, 10, 9, 10)
    await kruise.client.patch(Deployment, "web", {"spec": {"replicas": 5}}, "default")
    await kruise.wait(1)
    assert await numbers_of(kruise.client) == (6, 10, 4, 5)


async def test_pods_of_a_deployment_that_is_being_deleted_are_free(kruise: Kruise) -> None:
    await create(kruise, budget())
    await deploy(kruise, 3, {"web-a": 3})
    keep = {"metadata": {"finalizers": ["example.com/keep"]}}
    await kruise.client.patch(Deployment, "web", keep, "default")
    await kruise.client.delete(Deployment, "web", "default")
    await kruise.wait(1)
    assert await numbers_of(kruise.client) == (3, 3, 0, 0)
    await kruise.client.delete(Pod, "web-a-0", "default")


async def test_target_of_another_kind_has_its_number(kruise: Kruise) -> None:
    await create(kruise, manifest(replicas=4))
    reference = {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "name": "web"}
    await create(kruise, budget(selector=None, targetRef=reference))
    owner = controller_reference(await kruise.client.get(CloneSet, "web", "default"))
    for number in range(4):
        await ready_pod(kruise.client, f"web-{number}", owner=owner)
    await kruise.wait(1)
    assert await numbers_of(kruise.client) == (1, 4, 3, 4)


async def test_number_of_a_custom_kind_is_read_from_its_scale(kruise: Kruise) -> None:
    owner = await create_scalable(kruise.plane.client, replicas=5)
    await create(kruise, budget(maxUnavailable="40%"))
    for number in range(5):
        await ready_pod(kruise.client, f"web-{number}", owner=owner)
    await kruise.wait(1)
    assert await numbers_of(kruise.client) == (2, 5, 3, 5)


async def test_budget_has_a_number_of_its_own_where_no_workload_has_one(kruise: Kruise) -> None:
    await create(kruise, budget(protectTotalReplicas=3))
    for number in range(3):
        await ready_pod(kruise.client, f"web-{number}")
    await kruise.wait(1)
    assert await numbers_of(kruise.client) == (1, 3, 2, 3)


async def test_new_and_old_pods_get_the_name_of_their_budget(kruise: Kruise) -> None:
    await ready_pod(kruise.client, "old")
    await create(kruise, budget())
    await kruise.wait(1)
    await ready_pod(kruise.client, "new")
    for name in ("old", "new"):
        pod = await kruise.client.get(Pod, name, "default")
        for key in (RELATED_BUDGET, DEPRECATED_RELATED_BUDGET):
            assert pod.metadata.annotations[key] == "web"


async def test_pods_follow_a_budget_that_takes_the_place_of_another(kruise: Kruise) -> None:
    await create(kruise, budget(name="first"))
    await ready_pod(kruise.client, "web-0")
    await kruise.client.delete(PodUnavailableBudget, "first", "default")
    await create(kruise, budget(name="second"))
    await kruise.wait(1)
    pod = await kruise.client.get(Pod, "web-0", "default")
    assert pod.metadata.annotations[RELATED_BUDGET] == "second"


async def test_deletion_that_does_not_come_is_reported_and_given_back(kruise: Kruise) -> None:
    await create(kruise, budget())
    owner = await owner_of(kruise.client, 3)
    for number in range(3):
        await ready_pod(kruise.client, f"web-{number}", owner=owner)
    await kruise.wait(1)
    held = await kruise.client.get(PodUnavailableBudget, "web", "default")
    promised = {"disruptedPods": {"web-0": held.metadata.creation_timestamp}, "unavailableAllowed": 0}
    patch = {"status": codec.to_plain(promised)}
    await kruise.client.patch(PodUnavailableBudget, "web", patch, "default", subresource="status")
    await kruise.wait(10)
    assert await numbers_of(kruise.client) == (0, 2, 2, 3)
    await kruise.wait(15)
    assert await numbers_of(kruise.client) == (1, 3, 2, 3)
    assert (await status_of(kruise.client)).disrupted_pods == {}
    text = "Pod was expected by PUB default/web to be deleted but it wasn't"
    assert any(text in each for each in await told(kruise.plane.client))


async def test_budget_without_pods_says_so(kruise: Kruise) -> None:
    await create(kruise, budget())
    await kruise.wait(1)
    assert any("NoPods" in each and "No matching pods found" in each for each in await told(kruise.client))
