"""The number of evictions that a PodDisruptionBudget allows, and the record of those it allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from podling import clock
from podling.api.apps_v1 import ReplicaSet, ReplicaSetSpec
from podling.api.batch_v1 import Job
from podling.api.core_v1 import (
    Pod,
    PodSpec,
    PodTemplateSpec,
    ReplicationController,
    ReplicationControllerSpec,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.client.local import LocalClient
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.disruption import DisruptionController, StaleDisruptionController
from podling.machinery.conditions import find
from podling.machinery.errors import service_unavailable
from podling.machinery.scheme import resource_of
from podling.sim.connection import Connection, RequestFault
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running, set_phase, told


def budget(**spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"}), **spec),
    )


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, DisruptionController, StaleDisruptionController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def own_pods(cluster: ControlPlane, count: int, *, ready: int, replicas: int) -> None:
    """Pods under a replica set that wants ``replicas``; no controller creates or deletes any."""
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=pod("x").spec.containers)
    )
    owner = await cluster.client.create(
        ReplicaSet(
            metadata=ObjectMeta(name="web", namespace="default"),
            spec=ReplicaSetSpec(
                replicas=replicas, selector=LabelSelector(match_labels={"app": "web"}), template=template
            ),
        )
    )
    for number in range(count):
        await add_pod(cluster, f"p{number}", controller_reference(owner), ready=number < ready)


async def add_pod(
    cluster: ControlPlane, name: str, owner: OwnerReference | None = None, *, ready: bool = True
) -> None:
    from msgspec import structs

    wanted = pod(name, labels={"app": "web"})
    metadata = structs.replace(wanted.metadata, owner_references=(owner,) if owner is not None else ())
    await cluster.client.create(structs.replace(wanted, metadata=metadata))
    await set_phase(cluster.client, name, "Running", ready=ready)


async def current(cluster: ControlPlane) -> PodDisruptionBudget:
    return await cluster.client.get(PodDisruptionBudget, "web", "default")


async def condition(cluster: ControlPlane) -> tuple[str, str]:
    found = find((await current(cluster)).status.conditions, "DisruptionAllowed")
    assert found is not None
    return found.status, found.reason


@pytest.mark.usefixtures("manager")
async def test_a_budget_allows_what_is_healthy_beyond_its_minimum(cluster: ControlPlane) -> None:
    for number in range(4):
        await add_pod(cluster, f"p{number}", ready=number > 0)
    await cluster.client.create(budget(min_available=2))
    await cluster.advance(seconds=1)
    status = (await current(cluster)).status
    assert (status.expected_pods, status.desired_healthy) == (4, 2)
    assert (status.current_healthy, status.disruptions_allowed) == (3, 1)
    assert await condition(cluster) == ("True", "SufficientPods")
    await set_phase(cluster.client, "p1", "Running", ready=False)
    await cluster.advance(seconds=1)
    assert (await current(cluster)).status.disruptions_allowed == 0
    assert await condition(cluster) == ("False", "InsufficientPods")


@pytest.mark.usefixtures("manager")
async def test_a_pod_that_loses_its_label_counts_no_more(cluster: ControlPlane) -> None:
    for number in range(3):
        await add_pod(cluster, f"p{number}")
    await cluster.client.create(budget(min_available=2))
    await cluster.advance(seconds=1)
    assert (await current(cluster)).status.disruptions_allowed == 1
    await cluster.client.patch(Pod, "p0", {"metadata": {"labels": {"app": "other"}}}, "default")
    await cluster.advance(seconds=1)
    status = (await current(cluster)).status
    assert (status.expected_pods, status.current_healthy, status.disruptions_allowed) == (2, 2, 0)


@pytest.mark.usefixtures("manager")
async def test_a_share_is_one_of_what_the_owners_want(cluster: ControlPlane) -> None:
    await own_pods(cluster, 3, ready=3, replicas=4)
    await cluster.client.create(budget(max_unavailable="50%"))
    await cluster.advance(seconds=1)
    status = (await current(cluster)).status
    assert (status.expected_pods, status.desired_healthy, status.disruptions_allowed) == (4, 2, 1)


@pytest.mark.usefixtures("manager")
async def test_pods_of_what_cannot_be_scaled_make_it_uncountable(cluster: ControlPlane) -> None:
    ref = OwnerReference(api_version="batch/v1", kind="Job", name="j", uid="u1", controller=True)
    assert resource_of(Job).kind == ref.kind
    await add_pod(cluster, "p", ref)
    await cluster.client.create(budget(max_unavailable=1))
    await cluster.advance(seconds=1)
    assert await condition(cluster) == ("False", "SyncFailed")
    assert (await current(cluster)).status.disruptions_allowed == 0
    assert (
        "Warning CalculateExpectedPodCountFailed web: Failed to calculate the number of expected pods: "
        "jobs.batch does not implement the scale subresource"
    ) in await told(cluster.client)


async def test_owner_that_cannot_be_read_allows_nothing_until_it_can(cluster: ControlPlane) -> None:
    owner = await cluster.client.create(
        ReplicationController(
            metadata=ObjectMeta(name="web", namespace="default"),
            spec=ReplicationControllerSpec(
                replicas=2,
                selector={"app": "web"},
                template=PodTemplateSpec(
                    metadata=ObjectMeta(labels={"app": "web"}),
                    spec=PodSpec(containers=pod("x").spec.containers),
                ),
            ),
        )
    )
    for number in range(2):
        await add_pod(cluster, f"p{number}", controller_reference(owner))
    await cluster.client.create(budget(max_unavailable=1))
    connection = Connection(lambda: cluster.backend, "controller")
    async with running(LocalClient(connection), DisruptionController):
        await cluster.advance(seconds=1)
        assert await condition(cluster) == ("True", "SufficientPods")
        lost = RequestFault(verb="get", resource="replicationcontrollers", error=_busy, times=2)
        connection.faults.append(lost)
        await set_phase(cluster.client, "p0", "Running", ready=True, message="changed")
        await cluster.advance(seconds=0.001)
        assert await condition(cluster) == ("False", "SyncFailed")
        assert (await current(cluster)).status.disruptions_allowed == 0
        await cluster.advance(seconds=5)
        assert await condition(cluster) == ("True", "SufficientPods")
    assert (
        "Warning CalculateExpectedPodCountFailed web: "
        "Failed to calculate the number of expected pods: busy" in await told(cluster.client)
    )


def _busy() -> Exception:
    return service_unavailable("busy")


@pytest.mark.usefixtures("manager")
async def test_unmanaged_pods_are_reported_in_event(cluster: ControlPlane) -> None:
    await add_pod(cluster, "p")
    await cluster.client.create(budget(max_unavailable=1))
    await cluster.advance(seconds=1)
    (line,) = await told(cluster.client)
    assert line.startswith(
        "Warning UnmanagedPods web: Pods selected by this PodDisruptionBudget (selector: "
        "&LabelSelector{MatchLabels:map[string]string{app: web,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged."
    )


@pytest.mark.usefixtures("manager")
async def test_a_budget_without_pods_says_so(cluster: ControlPlane) -> None:
    await cluster.client.create(budget(min_available=1))
    await cluster.advance(seconds=1)
    assert await told(cluster.client) == ["Normal NoPods web: No matching pods found"]


@pytest.mark.usefixtures("manager")
async def test_a_promised_eviction_counts_as_gone_for_two_minutes(cluster: ControlPlane) -> None:
    for number in range(3):
        await add_pod(cluster, f"p{number}")
    await cluster.client.create(budget(min_available=1))
    await cluster.advance(seconds=1)
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    patch = {"status": {"disruptedPods": {"p0": now}, "disruptionsAllowed": 1}}
    await cluster.client.patch(PodDisruptionBudget, "web", patch, "default", subresource="status")
    await cluster.advance(seconds=1)
    assert (await current(cluster)).status.current_healthy == 2
    await cluster.advance(minutes=3)
    status = (await current(cluster)).status
    assert (status.current_healthy, status.disrupted_pods) == (3, {})
    assert (
        "Warning NotDeleted p0: Pod was expected by PDB default/web to be deleted but it wasn't"
        in await told(cluster.client)
    )


@pytest.mark.usefixtures("manager")
async def test_a_mark_for_a_disruption_that_did_not_come_is_taken_back(cluster: ControlPlane) -> None:
    await add_pod(cluster, "p")
    since = (clock.now() - timedelta(seconds=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": since,
    }
    await cluster.client.patch(Pod, "p", {"status": {"conditions": [mark]}}, "default", subresource="status")
    await cluster.advance(seconds=100)

    async def status() -> str:
        found = find((await cluster.client.get(Pod, "p", "default")).status.conditions, "DisruptionTarget")
        assert found is not None
        return found.status

    assert await status() == "True"
    await cluster.advance(seconds=20)
    assert await status() == "False"
