"""Updates and scaling of workloads whose pods a PodUnavailableBudget protects, on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.client.base import WatchEventType
from podling.machinery.pods import is_ready
from podling_kruise.names import IN_PLACE_UPDATE_READY
from podling_kruise.sidecarset.types import SidecarSet
from tests.support.budgets import budget, numbers_of
from tests.support.clone_sets import Kruise, kruise_cluster, manifest, template
from tests.support.sidecar_sets import create, sidecar_set

IN_PLACE = {"podUpdatePolicy": "InPlaceIfPossible", "maxUnavailable": "100%"}
GATES = [{"conditionType": IN_PLACE_UPDATE_READY}]
SPEC = {"selector": {"matchLabels": {"app": "web"}}, "template": template(readinessGates=GATES)}
WORKLOADS: dict[str, dict[str, Any]] = {
    "CloneSet": manifest("v1beta1", **{**SPEC, "replicas": 4, "updateStrategy": {"rollingUpdate": IN_PLACE}}),
    "StatefulSet": {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            **SPEC,
            "replicas": 4,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": IN_PLACE},
        },
    },
}


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path) as found:
        yield found


async def least_ready(kruise: Kruise, seconds: float) -> int:
    """Let time pass; return the smallest number of pods that were ready at any moment of it."""
    listed = await kruise.plane.client.list(Pod, "default", label_selector="app=web")
    ready = {pod.metadata.name for pod in listed.items if is_ready(pod)}
    stream = kruise.plane.client.watch(
        Pod, "default", resource_version=listed.resource_version, label_selector="app=web"
    )
    least = len(ready)
    await kruise.wait(seconds)
    last = await kruise.plane.client.list(Pod, "default", label_selector="app=web")
    end = {pod.metadata.name: pod.metadata.resource_version for pod in last.items}
    async for event in stream:
        pod = event.object
        leaves = event.type is WatchEventType.DELETED or pod.metadata.deletion_timestamp is not None
        (ready.add if is_ready(pod) and not leaves else ready.discard)(pod.metadata.name)
        least = min(least, len(ready))
        if end.get(pod.metadata.name) == pod.metadata.resource_version:
            del end[pod.metadata.name]
            if not end:
                break
    return least


@pytest.mark.parametrize("plain", WORKLOADS.values(), ids=WORKLOADS)
async def test_update_in_place_takes_no_more_pods_than_the_budget_allows(
    kruise: Kruise, plain: dict[str, Any]
) -> None:
    await create(kruise, plain)
    await create(kruise, budget(selector={"matchLabels": {"app": "web"}}))
    await kruise.wait()
    assert await numbers_of(kruise.client) == (1, 4, 3, 4)
    before = {pod.metadata.uid for pod in await kruise.pods()}
    resource = kruise.plane.server.catalogue.by_path("apps.kruise.io", "v1beta1", f"{plain['kind'].lower()}s")
    assert resource is not None
    patch = {"spec": {"template": template("web:2", readinessGates=GATES)}}
    await kruise.plane.client.patch(resource.type, "web", patch, "default")
    assert await least_ready(kruise, 120) == 3
    assert await kruise.images() == {"web:2": 4}
    assert {pod.metadata.uid for pod in await kruise.pods()} == before


async def test_update_without_a_budget_takes_all_pods_at_once(kruise: Kruise) -> None:
    await create(kruise, WORKLOADS["CloneSet"])
    await kruise.wait()
    await kruise.patch("v1beta1", template=template("web:2", readinessGates=GATES))
    assert await least_ready(kruise, 60) == 0


async def test_recreating_update_takes_no_more_pods_than_the_budget_allows(kruise: Kruise) -> None:
    rolling = {"podUpdatePolicy": "ReCreate", "maxUnavailable": "100%"}
    await create(kruise, manifest("v1beta1", replicas=3, updateStrategy={"rollingUpdate": rolling}))
    await create(kruise, budget(selector={"matchLabels": {"app": "web"}}))
    await kruise.wait()
    await kruise.patch("v1beta1", template=template("web:2"))
    assert await least_ready(kruise, 400) == 2
    assert await kruise.images() == {"web:2": 3}


async def test_scaling_down_is_not_held_up(kruise: Kruise) -> None:
    await create(kruise, WORKLOADS["CloneSet"])
    await create(kruise, budget(selector={"matchLabels": {"app": "web"}}))
    await kruise.wait()
    await kruise.patch("v1beta1", replicas=1)
    await kruise.wait(60)
    assert len(await kruise.pods()) == 1
    assert await numbers_of(kruise.client) == (1, 1, 0, 1)


async def test_sidecars_are_updated_as_the_budget_allows(kruise: Kruise) -> None:
    strategy = {"type": "RollingUpdate", "maxUnavailable": "100%"}
    await create(kruise, sidecar_set(updateStrategy=strategy))
    await create(kruise, WORKLOADS["CloneSet"])
    await create(kruise, budget(selector={"matchLabels": {"app": "web"}}))
    await kruise.wait()
    assert await numbers_of(kruise.client) == (1, 4, 3, 4)

    containers = [{"name": "agent", "image": "agent:2"}]
    await kruise.client.patch(SidecarSet, "sidecars", {"spec": {"containers": containers}})
    assert await least_ready(kruise, 300) >= 3
    images = [{each.name: each.image for each in pod.spec.containers} for pod in await kruise.pods()]
    assert [each["agent"] for each in images] == ["agent:2"] * 4
