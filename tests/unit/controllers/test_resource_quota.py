"""The usage in a ResourceQuota's status follows the objects of its namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import (
    ConfigMap,
    Container,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
    ScopedResourceSelectorRequirement,
    ScopeSelector,
    Service,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.resource_v1 import ResourceClaim
from podling.api.scheduling_v1 import PriorityClass
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.resource_quota import ResourceQuotaController, counted_resource
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running, set_phase
from tests.support.manifests import obj


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pods", Pod),
        ("cpu", Pod),
        ("limits.memory", Pod),
        ("requests.example.com/gpu", Pod),
        ("services", Service),
        ("services.nodeports", Service),
        ("persistentvolumeclaims", PersistentVolumeClaim),
        ("requests.storage", PersistentVolumeClaim),
        ("gold.storageclass.storage.k8s.io/requests.storage", PersistentVolumeClaim),
        ("configmaps", ConfigMap),
        ("hugepages-2Mi", Pod),
        ("requests.hugepages-2Mi", Pod),
        ("limits.ephemeral-storage", Pod),
        ("gold.storageclass.storage.k8s.io/persistentvolumeclaims", PersistentVolumeClaim),
        ("count/configmaps", ConfigMap),
        ("count/deployments.apps", Deployment),
        ("requests.deviceclass.resource.kubernetes.io/dongle", Pod),
        ("count/resourceclaims.resource.k8s.io", ResourceClaim),
        ("gpu.deviceclass.resource.k8s.io/devices", ResourceClaim),
    ],
)
def test_object_count_limit_names_its_resource(name: str, kind: type) -> None:
    assert counted_resource(name) is resource_of(kind)


@pytest.mark.parametrize(
    "name",
    [
        "count/widgets.example.com",
        "example.com/gpu",
        "limits.example.com/gpu",
        "limits.hugepages-2Mi",
        "services.example.com",
        "gold.storageclass.storage.k8s.io/other",
        "requests.kubernetes.io/gpu",
        "resourceclaims",
        "storage",
        "bronze.deviceclass.resource.k8s.io/storage",
        "gpu.storage.k8s.io/requests.storage",
        "bronze.storageclass.storage.k8s.io/storage",
    ],
)
def test_a_limit_on_nothing_known_counts_nothing(name: str) -> None:
    assert counted_resource(name) is None


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, ResourceQuotaController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


pytestmark = pytest.mark.usefixtures("manager")


async def limit(cluster: ControlPlane, **hard: str) -> None:
    names = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    metadata = ObjectMeta(name="team", namespace="default")
    await cluster.client.create(ResourceQuota(metadata=metadata, spec=ResourceQuotaSpec(hard=names)))
    await cluster.advance(seconds=1)


async def used(cluster: ControlPlane) -> dict[str, str]:
    await cluster.advance(seconds=1)
    return (await cluster.client.get(ResourceQuota, "team", "default")).status.used


def requesting(cpu: str) -> ResourceRequirements:
    return ResourceRequirements(requests={"cpu": cpu})


def worker(name: str, cpu: str) -> Pod:
    resources = ResourceRequirements(requests={"cpu": cpu}, limits={"cpu": cpu})
    return pod(name, containers=(Container(name="main", image="w", resources=resources),))


async def test_pods_count_until_they_end(cluster: ControlPlane) -> None:
    await limit(cluster, pods="5", requests_cpu="2", limits_cpu="4")
    assert await used(cluster) == {"pods": "0", "requests.cpu": "0", "limits.cpu": "0"}
    await cluster.client.create(worker("a", "500m"))
    await cluster.client.create(worker("b", "1"))
    assert await used(cluster) == {"pods": "2", "requests.cpu": "1500m", "limits.cpu": "1500m"}
    await set_phase(cluster.client, "b", "Succeeded")
    assert (await used(cluster))["requests.cpu"] == "500m"
    await cluster.client.delete(Pod, "a", "default", grace_seconds=0)
    assert await used(cluster) == {"pods": "0", "requests.cpu": "0", "limits.cpu": "0"}


async def test_objects_of_any_kind_can_be_counted(cluster: ControlPlane) -> None:
    await limit(cluster, count__configmaps="3")
    for name in ("a", "b"):
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
    assert await used(cluster) == {"count/configmaps": "2"}
    await cluster.client.delete(ConfigMap, "a", "default")
    assert await used(cluster) == {"count/configmaps": "1"}


async def test_a_changed_limit_is_shown(cluster: ControlPlane) -> None:
    await limit(cluster, pods="5")
    await cluster.client.patch(ResourceQuota, "team", {"spec": {"hard": {"services": "1"}}}, "default")
    await cluster.advance(seconds=1)
    held = await cluster.client.get(ResourceQuota, "team", "default")
    assert held.status.hard == {"pods": "5", "services": "1"}
    assert held.status.used == {"pods": "0", "services": "1"}, "the API server's own is there"


async def test_a_pod_whose_grace_is_over_counts_no_more(cluster: ControlPlane) -> None:
    await limit(cluster, pods="5")
    await cluster.client.create(pod("stuck", node="gone"))
    await cluster.client.delete(Pod, "stuck", "default", grace_seconds=30)
    assert await used(cluster) == {"pods": "1"}
    await cluster.advance(minutes=6)
    assert await used(cluster) == {"pods": "0"}


async def test_pod_counts_what_it_holds_until_it_has_shrunk(cluster: ControlPlane) -> None:
    await limit(cluster, requests_cpu="4")
    await cluster.client.create(
        pod("a", node="n1", containers=(Container(name="main", image="w", resources=requesting("2")),))
    )
    assert await used(cluster) == {"requests.cpu": "2"}
    held = {"name": "main", "image": "w", "imageID": "", "ready": True, "restartCount": 0}
    held |= {"resources": {"requests": {"cpu": "3"}}}
    status: dict[str, object] = {"status": {"phase": "Running", "containerStatuses": [held]}}
    await cluster.client.patch(Pod, "a", status, "default", subresource="status")
    assert await used(cluster) == {"requests.cpu": "3"}
    held["resources"] = {"requests": {"cpu": "2"}}
    await cluster.client.patch(Pod, "a", status, "default", subresource="status")
    assert await used(cluster) == {"requests.cpu": "2"}


async def test_status_shows_nothing_of_limits_that_were_removed(cluster: ControlPlane) -> None:
    await limit(cluster, requests_cpu="4", requests_memory="1Gi")
    await used(cluster)
    await cluster.client.patch(
        ResourceQuota, "team", {"spec": {"hard": {"requests.memory": None, "requests.cpu": "3"}}}, "default"
    )
    assert await used(cluster) == {"requests.cpu": "0"}
    held = await cluster.client.get(ResourceQuota, "team", "default")
    assert held.status.hard == {"requests.cpu": "3"}


async def test_limits_that_nothing_counts_against_have_no_use(cluster: ControlPlane) -> None:
    await limit(cluster, pods="5", count__widgets_example_com="1")
    assert await used(cluster) == {"pods": "0"}


async def test_claim_that_grows_in_its_status_counts_with_the_larger_size(cluster: ControlPlane) -> None:
    await limit(cluster, requests_storage="10Gi")
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name="data", namespace="default"),
        spec=PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",), resources=VolumeResourceRequirements(requests={"storage": "1Gi"})
        ),
    )
    await cluster.client.create(claim)
    await cluster.advance(seconds=1)
    assert await used(cluster) == {"requests.storage": "1Gi"}
    status = {"status": {"allocatedResources": {"storage": "2Gi"}}}
    await cluster.client.patch(PersistentVolumeClaim, "data", status, "default", subresource="status")
    await cluster.advance(seconds=1)
    assert await used(cluster) == {"requests.storage": "2Gi"}


async def test_devices_of_claims_count_by_their_class(cluster: ControlPlane) -> None:
    await limit(cluster, **{"gpu.deviceclass.resource.k8s.io/devices": "3"})
    assert await used(cluster) == {"gpu.deviceclass.resource.k8s.io/devices": "0"}
    request = "{name: a, exactly: {deviceClassName: gpu, count: 2}}"
    text = f"metadata: {{name: c, namespace: default}}\nspec: {{devices: {{requests: [{request}]}}}}"
    await cluster.client.create(obj(ResourceClaim, text))
    assert await used(cluster) == {"gpu.deviceclass.resource.k8s.io/devices": "2"}
    with pytest.raises(ApiError) as caught:
        await cluster.client.create(obj(ResourceClaim, text.replace("name: c", "name: d")))
    name = "gpu.deviceclass.resource.k8s.io/devices"
    assert f"exceeded quota: team, requested: {name}=2, used: {name}=2, limited: {name}=3" in str(
        caught.value
    )
    await cluster.client.delete(ResourceClaim, "c", "default")
    assert await used(cluster) == {"gpu.deviceclass.resource.k8s.io/devices": "0"}


def sized(name: str, cpu: str, memory: str, **spec: Any) -> Pod:
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    main = Container(name="ctr", image="image", resources=ResourceRequirements(requests=requests))
    return pod(name, containers=(main,), **spec)


PLAIN = [("pod-running", "100m", "1Gi", ""), ("pod-running-2", "100m", "1Gi", "")]
BEST_EFFORT = [("pod-running", "", "", ""), ("pod-running-2", "", "", "")]
BY_PRIORITY = [("pod-running", "500m", "50Gi", "high"), ("pod-running-2", "100m", "1Gi", "low")]
BEST = {"scopes": ("BestEffort",)}
NONE, TWO = ("0", "0", "0"), ("200m", "2Gi", "2")


def priority(operator: str, *values: str) -> dict[str, Any]:
    selected = ScopedResourceSelectorRequirement(scope_name="PriorityClass", operator=operator, values=values)
    return {"scope_selector": ScopeSelector(match_expressions=(selected,))}


@pytest.mark.parametrize(
    ("scope", "pods", "wanted"),
    [
        pytest.param(BEST, PLAIN, NONE, id="best effort, of others"),
        pytest.param(BEST, BEST_EFFORT, ("0", "0", "2"), id="best effort"),
        pytest.param({"scopes": ("NotBestEffort",)}, PLAIN, TWO, id="not best effort"),
        pytest.param(priority("Exists"), PLAIN, NONE, id="some class, of pods without"),
        pytest.param(priority("Exists"), BY_PRIORITY, ("600m", "51Gi", "2"), id="some class"),
        pytest.param(priority("In", "high", "low"), BY_PRIORITY, ("600m", "51Gi", "2"), id="two classes"),
        pytest.param(priority("In", "high"), BY_PRIORITY, ("500m", "50Gi", "1"), id="high"),
        pytest.param(priority("In", "low"), BY_PRIORITY, ("100m", "1Gi", "1"), id="low"),
        pytest.param(priority("NotIn", "high"), BY_PRIORITY, ("100m", "1Gi", "1"), id="not high"),
        pytest.param(priority("In", "random"), BY_PRIORITY, NONE, id="a class of no pod"),
        pytest.param(priority("NotIn", "random"), PLAIN, TWO, id="not a class, of pods without"),
        pytest.param(priority("DoesNotExist"), PLAIN, TWO, id="no class"),
        pytest.param({}, PLAIN, TWO, id="all pods"),
    ],
)
async def test_use_within_a_scope(
    cluster: ControlPlane,
    scope: dict[str, Any],
    pods: list[tuple[str, str, str, str]],
    wanted: tuple[str, str, str],
) -> None:
    """Cases of TestSyncResourceQuota: two pods that run, and one that failed."""
    for name, value in (("high", 100), ("low", 1)):
        await cluster.client.create(PriorityClass(metadata=ObjectMeta(name=name), value=value))
    for name, cpu, memory, priority_class in [*pods, ("pod-failed", *pods[0][1:])]:
        await cluster.client.create(sized(name, cpu, memory, priority_class_name=priority_class))
    await set_phase(cluster.client, "pod-failed", "Failed")
    hard = {"pods": "5"}
    if scope != BEST:  # pods without requests have no other use
        hard |= {"cpu": "3", "memory": "100Gi"}
    metadata = ObjectMeta(name="team", namespace="default")
    await cluster.client.create(ResourceQuota(metadata=metadata, spec=ResourceQuotaSpec(hard=hard, **scope)))
    shown = await used(cluster)
    assert (shown.get("cpu", "0"), shown.get("memory", "0"), shown["pods"]) == wanted
