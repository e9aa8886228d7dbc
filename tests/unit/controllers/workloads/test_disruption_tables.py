"""Budgets over pods of several owners: the cases of upstream's ``disruption_test.go``, one pass at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec
from podling.api.core_v1 import Pod, PodTemplateSpec, ReplicationController, ReplicationControllerSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.client.base import ApiObject, Key
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.disruption import DisruptionController, StaleDisruptionController
from podling.machinery.conditions import find
from podling.machinery.encoding.custom import stored_resource
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running, set_phase, told
from tests.support.custom_resources import definition, widget
from tests.support.one_pass import following
from tests.support.workloads import deployment, stateful_set

LABELS = {"app": "web"}
Numbers = tuple[int, int, int, int]
"""Disruptions allowed, healthy, desired healthy and expected pods."""


class Scene:
    """A budget called ``web``, and the controller, which looks at it on request."""

    def __init__(self, cluster: ControlPlane, controller: DisruptionController) -> None:
        self._cluster, self._controller = cluster, controller

    async def look(self) -> Numbers:
        await self._cluster.advance(seconds=0.1)
        await self._controller.reconcile(Key("default", "web"))
        status = (await self._cluster.client.get(PodDisruptionBudget, "web", "default")).status
        return (
            status.disruptions_allowed,
            status.current_healthy,
            status.desired_healthy,
            status.expected_pods,
        )

    async def add(self, name: str, owner: ApiObject | None = None, *, ready: bool = True) -> None:
        await self.add_with(name, controller_reference(owner) if owner is not None else None, ready=ready)

    async def add_with(self, name: str, ref: OwnerReference | None, *, ready: bool = True) -> None:
        wanted = pod(name, labels=LABELS)
        metadata = structs.replace(wanted.metadata, owner_references=(ref,) if ref is not None else ())
        await self._cluster.client.create(structs.replace(wanted, metadata=metadata))
        await self.set_ready(name, ready)

    async def set_ready(self, name: str, ready: bool) -> None:
        await set_phase(self._cluster.client, name, "Running", ready=ready)


@asynccontextmanager
async def scene(
    cluster: ControlPlane, *, match: dict[str, str] | None = LABELS, **spec: Any
) -> AsyncIterator[Scene]:
    selector = LabelSelector(match_labels=match or {})
    made = PodDisruptionBudget(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=selector, **spec),
    )
    await cluster.client.create(made)
    async with following(cluster.client, DisruptionController) as controller:
        yield Scene(cluster, controller)


def template() -> PodTemplateSpec:
    return PodTemplateSpec(metadata=ObjectMeta(labels=LABELS), spec=pod("x").spec)


def replica_set(replicas: int, owner: ApiObject | None = None) -> ReplicaSet:
    references = (controller_reference(owner),) if owner is not None else ()
    return ReplicaSet(
        metadata=ObjectMeta(name="set", namespace="default", owner_references=references),
        spec=ReplicaSetSpec(
            replicas=replicas, selector=LabelSelector(match_labels=LABELS), template=template()
        ),
    )


def replication_controller(replicas: int) -> ReplicationController:
    return ReplicationController(
        metadata=ObjectMeta(name="rc", namespace="default"),
        spec=ReplicationControllerSpec(replicas=replicas, selector=LABELS, template=template()),
    )


async def scale(cluster: ControlPlane, replicas: int) -> None:
    await cluster.client.patch(ReplicaSet, "set", {"spec": {"replicas": replicas}}, "default")


async def test_empty_selector_counts_all_pods(cluster: ControlPlane) -> None:
    """Case of TestNoSelector."""
    async with scene(cluster, match=None, min_available=3) as web:
        assert await web.look() == (0, 0, 3, 0)
        await web.add("p")
        assert await web.look() == (0, 1, 3, 1)


async def test_numbers_follow_pods_that_come_and_fail(cluster: ControlPlane) -> None:
    """Case of TestUnavailable."""
    async with scene(cluster, min_available=3) as web:
        for number in range(4):
            assert await web.look() == (0, number, 3, number)
            await web.add(f"p{number}")
        assert await web.look() == (1, 4, 3, 4)
        await web.set_ready("p0", False)
        assert await web.look() == (0, 3, 3, 4)


@pytest.mark.parametrize("spec", [{"max_unavailable": 1}, {"min_available": "28%"}])
async def test_pods_without_an_owner_allow_nothing(cluster: ControlPlane, spec: dict[str, Any]) -> None:
    """Cases of TestIntegerMaxUnavailable, TestNakedPod and TestStatusForUnmanagedPod."""
    async with scene(cluster, **spec) as web:
        assert (await web.look())[0] == 0
        await web.add("naked")
        assert (await web.look())[0] == 0
        found = await cluster.client.get(PodDisruptionBudget, "web", "default")
        assert [each.reason for each in found.status.conditions] == ["InsufficientPods"]
    assert [line.split()[1] for line in await told(cluster.client)] == ["NoPods", "UnmanagedPods"]


@pytest.mark.parametrize(
    ("spec", "replicas", "first", "then", "following_numbers"),
    [
        ({"max_unavailable": 2}, 7, (0, 1, 5, 7), 5, (0, 1, 3, 5)),
        ({"max_unavailable": "30%"}, 7, (0, 1, 4, 7), 3, (0, 1, 2, 3)),
        ({"min_available": "20%"}, 10, (0, 1, 2, 10), 5, (0, 1, 1, 5)),
    ],
)
async def test_shares_follow_the_owners_replicas(
    cluster: ControlPlane,
    spec: dict[str, Any],
    replicas: int,
    first: Numbers,
    then: int,
    following_numbers: Numbers,
) -> None:
    """Cases of TestIntegerMaxUnavailableWithScaling, its like for percentages, and TestReplicaSet."""
    owner = await cluster.client.create(replica_set(replicas))
    async with scene(cluster, **spec) as web:
        await web.add("p", owner)
        assert await web.look() == first
        await scale(cluster, then)
        assert await web.look() == following_numbers


@pytest.mark.parametrize("kind", ["replication controller", "stateful set"])
async def test_pods_of_owners_count_and_a_pod_without_one_is_healthy_too(
    cluster: ControlPlane, kind: str
) -> None:
    """Cases of TestReplicationController and TestStatefulSetController: the share is rounded up."""
    made = replication_controller(3) if kind == "replication controller" else stateful_set(3)
    owner = await cluster.client.create(made)
    async with scene(cluster, min_available="34%") as web:
        assert await web.look() == (0, 0, 0, 0)
        for number in range(3):
            await web.add(f"p{number}", owner)
            assert await web.look() == (1 if number == 2 else 0, number + 1, 2, 3)
        await web.add("rogue")
        assert await web.look() == (2, 4, 2, 3)


async def test_share_of_two_owners_is_one_of_their_sum(cluster: ControlPlane) -> None:
    """Case of TestTwoControllers: 28 % of 11 are 4, of 22 they are 7."""
    first = await cluster.client.create(replication_controller(11))
    async with scene(cluster, min_available="28%") as web:
        assert await web.look() == (0, 0, 0, 0)
        for number in range(11):
            await web.add(f"a{number}", first, ready=number >= 6)
            healthy = max(0, number - 5)
            assert await web.look() == (max(0, healthy - 4), healthy, 4, 11)
        second = await cluster.client.create(replica_set(11))
        assert await web.look() == (1, 5, 4, 11)
        for number in range(11):
            await web.add(f"b{number}", second, ready=number >= 7)
            healthy = 5 + max(0, number - 6)
            assert await web.look() == (max(0, healthy - 7), healthy, 7, 22)
        for name, ready, numbers in (
            ("a10", False, (1, 8, 7, 22)),
            ("a9", False, (0, 7, 7, 22)),
            ("a10", True, (1, 8, 7, 22)),
        ):
            await web.set_ready(name, ready)
            assert await web.look() == numbers


@pytest.mark.parametrize(("pods", "allowed"), [(4, 0), (7, 2), (10, 5)])
async def test_custom_owner_is_counted_by_its_scale(cluster: ControlPlane, pods: int, allowed: int) -> None:
    """Case of TestScaleResource."""
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    made = definition(version={"subresources": {"status": {}, "scale": paths}})
    await cluster.client.create(made)
    await cluster.advance(seconds=1)
    kind = stored_resource(await cluster.client.get(type(made), made.metadata.name or "")).type
    owner = await cluster.client.create(widget(kind, spec={"replicas": 10}))
    ref = OwnerReference(
        api_version="example.com/v1",
        kind="Widget",
        name="w",
        uid=owner.metadata.uid or "",
        controller=True,
    )
    async with scene(cluster, max_unavailable=5) as web:
        for number in range(pods):
            await web.add_with(f"p{number}", ref)
        assert await web.look() == (allowed, pods, 5, 10)


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "uid", "error"),
    [
        ("invalid/v1", "ReplicaSet", "set", "", 'no matches for kind "ReplicaSet" in version "invalid/v1"'),
        (
            "apps/v1",
            "ReplicationController",
            "set",
            "",
            'no matches for kind "ReplicationController" in version "apps/v1"',
        ),
        ("apps/v1", "InvalidKind", "set", "", 'no matches for kind "InvalidKind" in version "apps/v1"'),
        ("v1", "InvalidKind", "set", "", 'no matches for kind "InvalidKind" in version "v1"'),
        (
            "apps.test.io/v1",
            "TestWorkload",
            "fake-controller",
            "b7329742",
            'no matches for kind "TestWorkload" in version "apps.test.io/v1"',
        ),
        ("apps/v1", "ReplicaSet", "set", "another", 'found no controllers for pod "p"'),
        ("apps/v1", "ReplicaSet", "missing", "", 'found no controllers for pod "p"'),
        ("apps/v1", "Deployment", "set", "", 'found no controllers for pod "p"'),
    ],
)
async def test_owner_that_is_not_found_allows_nothing(
    cluster: ControlPlane, api_version: str, kind: str, name: str, uid: str, error: str
) -> None:
    """Cases of TestBasicFinderFunctions and TestUnsupportedControllerPod."""
    owner = await cluster.client.create(replica_set(10))
    ref = OwnerReference(
        api_version=api_version,
        kind=kind,
        name=name,
        uid=uid or owner.metadata.uid or "",
        controller=True,
    )
    async with scene(cluster, min_available="28%") as web:
        await web.add_with("p", ref)
        assert (await web.look())[0] == 0
    (line,) = await told(cluster.client)
    reason = "CalculateExpectedPodCountFailed"
    assert line == f"Warning {reason} web: Failed to calculate the number of expected pods: {error}"


@pytest.mark.parametrize("is_owned", [True, False])
async def test_deployment_of_a_replica_set_is_counted_instead_of_it(
    cluster: ControlPlane, is_owned: bool
) -> None:
    """Cases of TestDeploymentFinderFunction."""
    parent = await cluster.client.create(deployment(10))
    assert isinstance(parent, Deployment)
    owner = await cluster.client.create(replica_set(5, parent if is_owned else None))
    async with scene(cluster, min_available="50%") as web:
        await web.add("p", owner)
        assert await web.look() == ((0, 1, 5, 10) if is_owned else (0, 1, 3, 5))


@pytest.mark.parametrize(
    ("mark", "phase", "is_deleted", "seconds", "status"),
    [
        pytest.param({}, "Running", False, 121, "False", id="stale"),
        pytest.param({}, "Running", False, 119, "True", id="in progress"),
        pytest.param({}, "Running", True, 121, "True", id="actuated"),
        pytest.param(None, "Running", False, 121, None, id="no disruption"),
        pytest.param({"status": "False"}, "Running", False, 121, "False", id="cleared"),
        pytest.param({"reason": "TerminationByKubelet"}, "Running", False, 121, "True", id="by the kubelet"),
        pytest.param({}, "Failed", False, 121, "True", id="of a pod that has ended"),
    ],
)
async def test_marks_of_disruptions_that_did_not_come(
    cluster: ControlPlane,
    mark: dict[str, str] | None,
    phase: str,
    is_deleted: bool,
    seconds: int,
    status: str | None,
) -> None:
    """Cases of TestStalePodDisruption."""
    async with running(cluster.client, StaleDisruptionController):
        await cluster.client.create(pod("p", node="n1"))
        await set_phase(cluster.client, "p", phase)
        if mark is not None:
            held = await cluster.client.get(Pod, "p", "default")
            since = held.metadata.creation_timestamp
            assert since is not None
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
                **mark,
            }
            patch = {"status": {"conditions": [condition]}}
            await cluster.client.patch(Pod, "p", patch, "default", subresource="status")
        if is_deleted:
            await cluster.client.delete(Pod, "p", "default", grace_seconds=1000)
        await cluster.advance(seconds=seconds)
        found = find((await cluster.client.get(Pod, "p", "default")).status.conditions, "DisruptionTarget")
        assert (found.status if found is not None else None) == status
