"""The updater on virtual time: evictions, resizes in place, and what holds them back."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import ReplicaSet
from podling.api.core_v1 import Pod
from podling.api.policy_v1 import PodDisruptionBudget
from podling.machinery.encoding import codec
from podling_vpa.updater.settings import DEFAULT_SETTINGS
from tests.support.vertical_autoscalers import LABELS
from tests.support.vpa_cluster import VpaCluster, vpa_api, vpa_cluster

MB = 1000 * 1000
LARGE = {"requests": {"cpu": "1", "memory": "500M"}}
BUSY = [(0, 200, 400 * MB)]
ROUND = 60


async def uids(cluster: VpaCluster) -> set[str]:
    return {pod.metadata.uid or "" for pod in await cluster.pods()}


SHRUNK = {"requests": {"cpu": "10m", "memory": "10M"}}
"""Requests below any recommendation: its least for a pod is 25m and 250Mi."""


async def test_pods_are_evicted_and_come_back_with_the_recommendation(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(4, BUSY, SHRUNK)
        await cluster.autoscale("Recreate")
        before = await uids(cluster)
        await cluster.wait(10 * ROUND)
        assert not before & await uids(cluster)
        target = await cluster.target()
        assert len(await cluster.pods()) == 4
        for pod in await cluster.pods():
            requests = pod.spec.containers[0].resources.requests
            assert set(requests) == {"cpu", "memory"}
            assert requests["cpu"] == target["cpu"]
            notes = pod.metadata.annotations
            assert (
                notes["vpaUpdates"]
                == "Pod resources updated by web: container 0: cpu request, memory request"
            )
            assert notes["vpaObservedContainers"] == "app"
        events = await cluster.events()
        evicted = [each for each in events if each.split()[1] == "EvictedByVPA"]
        assert len(evicted) == 4
        text = "Pod was evicted by VPA Updater to apply resource recommendation."
        assert all(each.endswith(f": {text}") for each in evicted)
        own = [each for each in events if each.split()[1] == "EvictedPod"]
        assert all("VPA Updater evicted Pod web-" in each for each in own)


async def test_half_of_the_pods_are_evicted_at_a_time(tmp_path: Path) -> None:
    async with vpa_api(tmp_path) as cluster:
        await cluster.deploy(4, BUSY, SHRUNK)
        async with cluster.working():
            await cluster.autoscale("Recreate")
            await cluster.wait(ROUND + 20)
            evicted: list[int] = []
            for _ in range(4):
                found = [each for each in await cluster.events() if "EvictedByVPA" in each]
                evicted.append(len(found))
                await cluster.wait(ROUND)
    assert {after - before for before, after in pairwise(evicted)} <= {0, 1, 2}
    assert evicted[-1] == 4


@pytest.mark.parametrize("mode", ["Off", "Initial"])
async def test_modes_that_change_no_living_pod(tmp_path: Path, mode: str) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, BUSY, SHRUNK)
        await cluster.autoscale(mode)
        before = await uids(cluster)
        await cluster.wait(5 * ROUND)
        assert await uids(cluster) == before
        name = (await cluster.pods())[0].metadata.name or ""
        await cluster.client.delete(Pod, name, "default", grace_seconds=0)
        await cluster.wait(10)
        new = [pod for pod in await cluster.pods() if pod.metadata.uid not in before]
        (requests,) = (pod.spec.containers[0].resources.requests for pod in new)
        is_given = requests["cpu"] == (await cluster.target())["cpu"]
        assert is_given is (mode == "Initial")


async def test_auto_means_recreate(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, BUSY, SHRUNK)
        await cluster.autoscale("Auto")
        before = await uids(cluster)
        await cluster.wait(6 * ROUND)
        assert not before & await uids(cluster)


@pytest.mark.parametrize(("least", "is_evicted"), [(None, False), (1, True)])
async def test_single_pod_is_evicted_only_if_allowed(
    tmp_path: Path, least: int | None, is_evicted: bool
) -> None:
    policy: dict[str, Any] = {"updateMode": "Recreate"}
    if least is not None:
        policy["minReplicas"] = least
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, BUSY, SHRUNK)
        await cluster.autoscale(updatePolicy=policy)
        before = await uids(cluster)
        await cluster.wait(5 * ROUND)
        assert (await uids(cluster) != before) is is_evicted


async def test_budget_refuses_evictions(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, BUSY, SHRUNK)
        budget = {"minAvailable": 2, "selector": {"matchLabels": LABELS}}
        plain = {"metadata": {"name": "web", "namespace": "default"}, "spec": budget}
        await cluster.client.create(codec.from_plain(plain, PodDisruptionBudget))
        await cluster.autoscale("Recreate")
        before = await uids(cluster)
        await cluster.wait(5 * ROUND)
        assert await uids(cluster) == before
        assert await cluster.events() == []


@pytest.mark.parametrize(
    ("change", "is_evicted"), [("TargetHigherThanRequests", True), ("TargetLowerThanRequests", False)]
)
async def test_requirements_decide_about_evictions(tmp_path: Path, change: str, is_evicted: bool) -> None:
    requirement = {"resources": ["cpu", "memory"], "changeRequirement": change}
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, BUSY, SHRUNK)
        await cluster.autoscale(
            updatePolicy={"updateMode": "Recreate", "evictionRequirements": [requirement]}
        )
        before = await uids(cluster)
        await cluster.wait(6 * ROUND)
        assert (not before & await uids(cluster)) is is_evicted


async def test_pods_within_the_bounds_are_updated_after_half_a_day(tmp_path: Path) -> None:
    settings = structs.replace(DEFAULT_SETTINGS, lifetime=DEFAULT_SETTINGS.lifetime / 12)
    async with vpa_api(tmp_path) as cluster, cluster.working(updater=settings):
        await cluster.deploy(2, BUSY, LARGE)
        await cluster.autoscale("Recreate")
        before = await uids(cluster)
        await cluster.wait(30 * ROUND)
        assert await uids(cluster) == before, "the upper bound is wide after so short a time"
        await cluster.wait(45 * ROUND)
        assert not before & await uids(cluster)


async def test_rate_of_evictions_is_limited(tmp_path: Path) -> None:
    settings = structs.replace(DEFAULT_SETTINGS, rate=0.01, tolerance=1.0)
    async with vpa_api(tmp_path) as cluster, cluster.working(updater=settings):
        await cluster.deploy(4, BUSY, SHRUNK)
        await cluster.autoscale("Recreate")
        await cluster.wait(ROUND * 2 + 30)
        first = [each for each in await cluster.events() if "EvictedByVPA" in each]
        await cluster.wait(120)
        second = [each for each in await cluster.events() if "EvictedByVPA" in each]
        assert (len(first), len(second)) == (1, 2), "one at once, and then one in 100 s"


IN_PLACE = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}


async def test_pods_are_resized_in_place(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, BUSY, IN_PLACE)
        await cluster.autoscale("InPlaceOrRecreate")
        before = await uids(cluster)
        await cluster.wait(6 * ROUND)
        assert await uids(cluster) == before
        target = await cluster.target()
        for pod in await cluster.pods():
            resources = pod.spec.containers[0].resources
            assert resources.requests == target
            assert resources.limits == {"cpu": "494m"}, "twice the request of 247m, as before"
            (status,) = pod.status.container_statuses
            assert status.restart_count == 0
            assert status.resources is not None
            assert status.resources.requests["cpu"] == target["cpu"]
            assert pod.metadata.annotations["vpaInPlaceUpdated"] == "true"
        text = "Pod was resized in place by VPA Updater."
        assert all(each.endswith(f": {text}") for each in await cluster.events())
        assert len(await cluster.events()) == 2


async def test_mode_in_place_never_evicts(tmp_path: Path) -> None:
    policy = {"containerName": "*", "minAllowed": {"cpu": "100"}}
    async with vpa_cluster(tmp_path, InPlace=True) as cluster:
        await cluster.deploy(2, BUSY, IN_PLACE)
        await cluster.autoscale("InPlace", policy)
        before = await uids(cluster)
        await cluster.wait(10 * ROUND)
        assert await uids(cluster) == before
        assert not any("EvictedByVPA" in each for each in await cluster.events())


async def test_older_autoscaler_of_two_controls_the_pods(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, BUSY, SHRUNK)
        policy = {"containerName": "*", "minAllowed": {"cpu": "500m"}}
        await cluster.autoscale("Recreate", policy)
        await cluster.wait(5)
        second = structs.replace(await cluster.get(), spec=(await cluster.get()).spec)
        metadata = type(second.metadata)(name="another", namespace="default")
        plain = codec.to_plain(structs.replace(second, metadata=metadata))
        plain["spec"]["resourcePolicy"]["containerPolicies"][0]["minAllowed"] = {"cpu": "700m"}
        await cluster.client.create(codec.from_plain(plain, type(second)))
        await cluster.wait(6 * ROUND)
        assert [found["cpu"] for found in await cluster.requests()] == ["500m", "500m"]


async def test_pods_of_a_replica_set_that_is_gone_are_left_alone(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, BUSY, SHRUNK)
        await cluster.wait(10)
        (found,) = (await cluster.client.list(ReplicaSet, "default")).items
        assert found.spec.replicas == 2
        await cluster.autoscale("Recreate", targetRef={"apiVersion": "apps/v1", "kind": "Job", "name": "no"})
        before = await uids(cluster)
        await cluster.wait(3 * ROUND)
        assert await uids(cluster) == before
