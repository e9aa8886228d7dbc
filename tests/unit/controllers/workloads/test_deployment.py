"""A deployment rolls its pods from one template to the next, within its bounds, and says how it goes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from podling.api.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
)
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.disruption import DisruptionController
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.machinery.conditions import find
from podling.machinery.pods import is_ready
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, running, told
from tests.support.workloads import deployment, rolling_deployment

REVISION = "deployment.kubernetes.io/revision"


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, DeploymentController, ReplicaSetController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


pytestmark = pytest.mark.usefixtures("manager")


async def current(cluster: ControlPlane) -> Deployment:
    return await cluster.client.get(Deployment, "web", "default")


async def sets(cluster: ControlPlane) -> dict[str, int]:
    """Sizes of the replica sets by their image."""
    found = (await cluster.client.list(ReplicaSet, "default")).items
    return {each.spec.template.spec.containers[0].image or "": each.spec.replicas or 0 for each in found}


async def images(cluster: ControlPlane) -> list[str]:
    found = (await cluster.client.list(Pod, "default")).items
    return sorted(each.spec.containers[0].image or "" for each in found)


async def condition(cluster: ControlPlane, type_: str) -> DeploymentCondition:
    found = find((await current(cluster)).status.conditions, type_)
    assert found is not None
    return found


async def use(cluster: ControlPlane, image: str) -> None:
    held = await current(cluster)
    container = structs.replace(held.spec.template.spec.containers[0], image=image)
    spec = structs.replace(held.spec.template.spec, containers=(container,))
    template = structs.replace(held.spec.template, spec=spec)
    await cluster.client.update(structs.replace(held, spec=structs.replace(held.spec, template=template)))
    await cluster.advance(seconds=1)


async def roll(cluster: ControlPlane, rounds: int = 20) -> None:
    """Let pods become ready until the roll-out is over."""
    for _ in range(rounds):
        await make_ready(cluster.client)
        await cluster.advance(seconds=2)


async def test_a_new_deployment_comes_up_and_says_so(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment())
    await cluster.advance(seconds=1)
    held = await current(cluster)
    assert held.metadata.annotations[REVISION] == "1"
    assert (held.status.replicas, held.status.updated_replicas) == (4, 4)
    assert held.status.unavailable_replicas == 4
    assert (await condition(cluster, "Available")).reason == "MinimumReplicasUnavailable"
    assert (await condition(cluster, "Progressing")).reason in ("NewReplicaSetCreated", "ReplicaSetUpdated")
    await roll(cluster)
    held = await current(cluster)
    assert (held.status.ready_replicas, held.status.available_replicas) == (4, 4)
    assert held.status.unavailable_replicas == 0
    assert (await condition(cluster, "Available")).message == "Deployment has minimum availability."
    (replica_set,) = (await cluster.client.list(ReplicaSet, "default")).items
    done = await condition(cluster, "Progressing")
    assert (done.status, done.reason) == ("True", "NewReplicaSetAvailable")
    assert done.message == f'ReplicaSet "{replica_set.metadata.name}" has successfully progressed.'
    digest = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.metadata.name == f"web-{digest}"
    assert replica_set.spec.selector.match_labels == {"app": "web", "pod-template-hash": digest}


@pytest.mark.parametrize(
    ("surge", "unavailable", "most", "least"),
    [("25%", "25%", 5, 3), (1, 0, 5, 4), (0, 1, 4, 3), ("100%", 0, 8, 4), (0, "10%", 4, 3)],
)
async def test_a_rolling_update_stays_within_its_bounds(
    cluster: ControlPlane, surge: int | str, unavailable: int | str, most: int, least: int
) -> None:
    await cluster.client.create(deployment(4, strategy=rolling_deployment(surge, unavailable)))
    await cluster.advance(seconds=1)
    await roll(cluster, 3)
    await use(cluster, "web:2")
    for _ in range(30):
        found = (await cluster.client.list(Pod, "default")).items
        assert len(found) <= most
        assert sum(map(is_ready, found)) >= least
        await make_ready(cluster.client)
        await cluster.advance(seconds=0.2)
    assert await images(cluster) == ["web:2"] * 4
    assert await sets(cluster) == {"web:1": 0, "web:2": 4}
    assert (await current(cluster)).metadata.annotations[REVISION] == "2"


async def test_rolling_update_ignores_disruption_budget(cluster: ControlPlane) -> None:
    """A budget that allows no disruption refuses evictions, not the owner's deletions."""
    await cluster.client.create(deployment(2, strategy=rolling_deployment(0, 1)))
    await cluster.client.create(
        PodDisruptionBudget(
            metadata=ObjectMeta(name="all", namespace="default"),
            spec=PodDisruptionBudgetSpec(max_unavailable=0, selector=LabelSelector()),
        )
    )
    await cluster.advance(seconds=1)
    await roll(cluster, 3)
    await use(cluster, "web:2")
    await roll(cluster, 30)
    assert await images(cluster) == ["web:2"] * 2


async def test_pods_that_a_rolling_update_takes_away_count_against_the_budget(cluster: ControlPlane) -> None:
    async def allowed() -> int:
        return (await cluster.client.get(PodDisruptionBudget, "one", "default")).status.disruptions_allowed

    async with running(cluster.client, DisruptionController):
        await cluster.client.create(deployment(3, strategy=rolling_deployment(0, 1)))
        await cluster.client.create(
            PodDisruptionBudget(
                metadata=ObjectMeta(name="one", namespace="default"),
                spec=PodDisruptionBudgetSpec(max_unavailable=1, selector=LabelSelector()),
            )
        )
        await cluster.advance(seconds=1)
        await roll(cluster, 3)
        assert await allowed() == 1
        await use(cluster, "web:2")
        await cluster.advance(seconds=2)
        assert await allowed() == 0, "the update has made one pod unavailable already"
        await roll(cluster, 30)
        assert await allowed() == 1


async def test_an_update_that_never_becomes_ready_leaves_the_old_pods_serving(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment(4, progress_deadline_seconds=60))
    await cluster.advance(seconds=1)
    await roll(cluster, 3)
    await use(cluster, "web:broken")
    await cluster.advance(seconds=50)
    assert (await condition(cluster, "Progressing")).status == "True"
    await cluster.advance(seconds=20)
    stuck = await condition(cluster, "Progressing")
    assert (stuck.status, stuck.reason) == ("False", "ProgressDeadlineExceeded")
    assert (await condition(cluster, "Available")).status == "True"
    assert (await sets(cluster))["web:1"] == 3


async def test_rolling_back_reuses_the_old_replica_set_at_a_new_revision(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment(2))
    await cluster.advance(seconds=1)
    await roll(cluster, 3)
    await use(cluster, "web:2")
    await roll(cluster, 6)
    await use(cluster, "web:1")
    await roll(cluster, 6)
    assert await sets(cluster) == {"web:1": 2, "web:2": 0}
    assert (await current(cluster)).metadata.annotations[REVISION] == "3"
    found = (await cluster.client.list(ReplicaSet, "default")).items
    again = next(each for each in found if each.spec.replicas == 2)
    assert again.metadata.annotations["deployment.kubernetes.io/revision-history"] == "1"


async def test_recreating_waits_until_the_last_old_pod_is_gone(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment(2, strategy=DeploymentStrategy(type="Recreate")))
    await cluster.advance(seconds=1)
    await make_ready(cluster.client)
    held, _ = (await cluster.client.list(Pod, "default")).items
    name = held.metadata.name or ""
    await cluster.client.patch(Pod, name, {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
    await use(cluster, "web:2")
    await cluster.advance(minutes=1)
    assert await images(cluster) == ["web:1"]
    await cluster.client.patch(Pod, name, {"metadata": {"finalizers": None}}, "default")
    await cluster.advance(seconds=1)
    assert await images(cluster) == ["web:2"] * 2


async def test_history_stays_while_recreating_waits_for_its_pods(cluster: ControlPlane) -> None:
    recreating = DeploymentStrategy(type="Recreate")
    await cluster.client.create(deployment(1, strategy=recreating, revision_history_limit=0))
    await cluster.advance(seconds=1)
    await make_ready(cluster.client)
    (held,) = (await cluster.client.list(Pod, "default")).items
    name = held.metadata.name or ""
    await cluster.client.patch(Pod, name, {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
    await cluster.client.patch(Deployment, "web", {"spec": {"replicas": 0}}, "default")
    await use(cluster, "web:2")
    await cluster.client.patch(Deployment, "web", {"spec": {"replicas": 1}}, "default")
    await cluster.advance(minutes=1)
    assert await images(cluster) == ["web:1"]
    await cluster.client.patch(Pod, name, {"metadata": {"finalizers": None}}, "default")
    await cluster.advance(seconds=1)
    assert await images(cluster) == ["web:2"]


async def test_scaling_makes_no_new_revision(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment(2))
    await cluster.advance(seconds=1)
    await roll(cluster, 3)
    await cluster.client.patch(Deployment, "web", {"spec": {"replicas": 5}}, "default")
    await cluster.advance(seconds=1)
    assert await images(cluster) == ["web:1"] * 5
    assert (await current(cluster)).metadata.annotations[REVISION] == "1"
    lines = [line for line in await told(cluster.client) if "ScalingReplicaSet" in line]
    (name,) = [each.metadata.name for each in (await cluster.client.list(ReplicaSet, "default")).items]
    assert lines == [
        f"Normal ScalingReplicaSet web: Scaled up replica set {name} from 0 to 2",
        f"Normal ScalingReplicaSet web: Scaled up replica set {name} from 2 to 5",
    ]


async def test_scaling_in_the_middle_of_a_rollout_is_shared_out(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment(10, strategy=rolling_deployment(3, 2)))
    await cluster.advance(seconds=1)
    await roll(cluster, 3)
    await use(cluster, "web:2")
    assert await sets(cluster) == {"web:1": 8, "web:2": 5}
    await cluster.client.patch(Deployment, "web", {"spec": {"replicas": 15}}, "default")
    await cluster.advance(seconds=0.2)
    assert await sets(cluster) == {"web:1": 11, "web:2": 7}
    await roll(cluster)
    assert await images(cluster) == ["web:2"] * 15


async def test_a_paused_deployment_rolls_nothing_out(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment(2))
    await cluster.advance(seconds=1)
    await roll(cluster, 3)
    await cluster.client.patch(Deployment, "web", {"spec": {"paused": True}}, "default")
    await use(cluster, "web:2")
    await cluster.advance(minutes=20)
    assert await images(cluster) == ["web:1"] * 2
    assert (await condition(cluster, "Progressing")).reason == "DeploymentPaused"
    await cluster.client.patch(Deployment, "web", {"spec": {"paused": None}}, "default")
    await cluster.advance(seconds=1)
    await roll(cluster, 6)
    assert await images(cluster) == ["web:2"] * 2


async def test_only_so_much_history_is_kept(cluster: ControlPlane) -> None:
    await cluster.client.create(deployment(1, revision_history_limit=2))
    await cluster.advance(seconds=1)
    for number in range(2, 7):
        await roll(cluster, 4)
        await use(cluster, f"web:{number}")
    await roll(cluster, 4)
    assert sorted(await sets(cluster)) == ["web:4", "web:5", "web:6"]


async def test_two_templates_with_one_name_get_two_names(cluster: ControlPlane) -> None:
    """A replica set of that name is there already, and is not ours."""
    from podling.controllers.template_hash import template_hash

    stranger = OwnerReference(api_version="apps/v1", kind="Deployment", name="x", uid="x", controller=True)
    held = await cluster.client.create(deployment(1), dry_run=True)
    digest = template_hash(held.spec.template, None)
    other = ReplicaSetSpec(replicas=0, selector=held.spec.selector, template=held.spec.template)
    metadata = ObjectMeta(name=f"web-{digest}", namespace="default", owner_references=(stranger,))
    await cluster.client.create(ReplicaSet(metadata=metadata, spec=other))
    await cluster.client.create(deployment(1))
    await cluster.advance(seconds=1)
    assert (await current(cluster)).status.collision_count == 1
    assert await images(cluster) == ["web:1"]
