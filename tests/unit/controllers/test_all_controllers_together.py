"""All controllers over one API server: they must leave each other, and the cluster, in peace."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.apps_v1 import Deployment, DeploymentSpec, ReplicaSet
from podling.api.core_v1 import (
    ConfigMap,
    Container,
    Namespace,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.registry import NAMES, controller, controllers
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, pod, running

LABELS = {"app": "web"}


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, *controllers(root_ca="CERTIFICATE")) as manager:
        await cluster.advance(seconds=1)
        yield manager


def test_every_controller_goes_by_its_name() -> None:
    assert [controller(name).name for name in NAMES] == list(NAMES)


async def make_web(cluster: ControlPlane, namespace: str) -> None:
    """A deployment with everything around it."""
    metadata = ObjectMeta(name="web", namespace=namespace)
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels=LABELS),
        spec=PodSpec(containers=(Container(name="main", image="web:1"),)),
    )
    selector = LabelSelector(match_labels=LABELS)
    await cluster.client.create(
        Deployment(metadata=metadata, spec=DeploymentSpec(replicas=3, selector=selector, template=template))
    )
    ports = (ServicePort(port=80, target_port=8080),)
    await cluster.client.create(Service(metadata=metadata, spec=ServiceSpec(selector=LABELS, ports=ports)))
    budget = PodDisruptionBudgetSpec(max_unavailable=1, selector=selector)
    await cluster.client.create(PodDisruptionBudget(metadata=metadata, spec=budget))
    await cluster.advance(seconds=1)
    for _ in range(3):
        await make_ready(cluster.client, namespace)
        await cluster.advance(seconds=1)


async def test_a_whole_application_comes_up(cluster: ControlPlane, manager: ControllerManager) -> None:
    await make_web(cluster, "default")
    held = await cluster.client.get(Deployment, "web", "default")
    assert held.status.available_replicas == 3
    budget = await cluster.client.get(PodDisruptionBudget, "web", "default")
    assert budget.status.disruptions_allowed == 1
    assert all(counters.failures == 0 for counters in manager.counters.values())


async def test_a_pod_is_replaced_only_if_it_has_a_controller(
    cluster: ControlPlane, manager: ControllerManager
) -> None:
    await make_web(cluster, "default")
    await cluster.client.create(pod("alone", labels={"app": "alone"}))
    of_the_deployment = (await cluster.client.list(Pod, "default", label_selector="app=web")).items[0]
    for name in ("alone", of_the_deployment.metadata.name or ""):
        await cluster.client.delete(Pod, name, "default", grace_seconds=0)
    await cluster.advance(hours=1)
    left = (await cluster.client.list(Pod, "default")).items
    assert [each.metadata.labels["app"] for each in left] == ["web"] * 3
    assert of_the_deployment.metadata.name not in [each.metadata.name for each in left]


async def test_deleting_a_deployment_takes_everything_below_it(
    cluster: ControlPlane, manager: ControllerManager
) -> None:
    await make_web(cluster, "default")
    await cluster.client.delete(Deployment, "web", "default", propagation="Foreground")
    await cluster.advance(seconds=5)
    for kind in (Deployment, ReplicaSet, Pod):
        assert (await cluster.client.list(kind, "default")).items == ()
    assert all(counters.failures == 0 for counters in manager.counters.values())


async def test_deleting_a_namespace_takes_everything_in_it(
    cluster: ControlPlane, manager: ControllerManager
) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    await cluster.advance(seconds=1)
    await make_web(cluster, "team")
    await cluster.client.delete(Namespace, "team")
    await cluster.advance(seconds=30)
    names = [each.metadata.name for each in (await cluster.client.list(Namespace)).items]
    assert "team" not in names
    for kind in (Deployment, ReplicaSet, Pod, Service, EndpointSlice, ConfigMap):
        assert (await cluster.client.list(kind, "team")).items == ()
    assert all(counters.failures == 0 for counters in manager.counters.values())


async def test_a_cluster_at_rest_writes_nothing(cluster: ControlPlane, manager: ControllerManager) -> None:
    await make_web(cluster, "default")
    await cluster.advance(minutes=2)
    before = cluster.store.revision
    await cluster.advance(hours=6)
    assert cluster.store.revision == before
