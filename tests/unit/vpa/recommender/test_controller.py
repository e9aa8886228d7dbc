"""The recommender on virtual time, over a simulated node with curves of CPU and memory."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import ReplicaSet
from podling.machinery.quantity import parse
from podling_vpa.recommender.settings import DEFAULT_SETTINGS
from podling_vpa.types import VerticalPodAutoscaler
from tests.support.vpa_cluster import vpa_cluster

MB = 1000 * 1000
SMALL = {"requests": {"cpu": "100m", "memory": "100Mi"}}
HOUR = 3600
STEADY = [(0, 200, 400 * MB)]


def cpu(found: dict[str, str]) -> int:
    return parse(found["cpu"]).milli_value


def memory(found: dict[str, str]) -> int:
    return parse(found["memory"]).value


async def test_use_becomes_a_recommendation(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, STEADY, SMALL)
        await cluster.autoscale()
        await cluster.wait(HOUR)
        found = await cluster.get()
        assert found.status.recommendation is not None
        (each,) = found.status.recommendation.container_recommendations
        assert each.container_name == "app"
        # The ends of the buckets of 200m and of 400 MB, and 15 % more.
        assert (cpu(each.wanted), memory(each.wanted)) == (247, 476_450_463)
        assert each.uncapped_target == each.target
        low, high = each.lower_bound, each.upper_bound
        assert cpu(low) < cpu(each.wanted) < cpu(high)
        # Two pods' samples of an hour are two hours of the confidence of 24; the time is one of it.
        assert cpu(high) == pytest.approx(247 * 25, rel=0.05)
        assert cpu(low) == pytest.approx(247 * (1 + 0.001 * 24) ** -2, rel=0.01)
        assert found.status.observed_generation == found.metadata.generation
        assert await cluster.conditions() == {"RecommendationProvided": ("True", "", "")}


async def test_kubelets_are_not_read_while_there_is_no_autoscaler(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, STEADY, SMALL)
        await cluster.wait(HOUR)
        assert cluster.pages.reads == 0
        await cluster.autoscale()
        await cluster.wait(HOUR)
        assert cluster.pages.reads > 60
        await cluster.client.delete(VerticalPodAutoscaler, "web", "default")
        await cluster.wait(300)
        before = cluster.pages.reads
        await cluster.wait(HOUR)
        assert cluster.pages.reads == before


async def test_peak_of_the_day_counts_for_memory(tmp_path: Path) -> None:
    usage = [(0, 100, 300 * MB), (6 * HOUR, 100, 900 * MB), (7 * HOUR, 100, 300 * MB)]
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, usage, SMALL)
        await cluster.autoscale()
        await cluster.wait(5 * HOUR)
        assert memory(await cluster.target()) < 400 * MB
        await cluster.wait(6 * HOUR)
        assert memory(await cluster.target()) == pytest.approx(900 * MB * 1.15, rel=0.06)


async def test_policies_bound_and_exclude(tmp_path: Path) -> None:
    policies: list[dict[str, Any]] = [
        {"containerName": "app", "maxAllowed": {"cpu": "150m"}, "minAllowed": {"memory": "1Gi"}},
        {"containerName": "*", "mode": "Off"},
    ]
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, STEADY, SMALL)
        await cluster.autoscale("Off", *policies)
        await cluster.wait(HOUR)
        found = (await cluster.get()).status.recommendation
        assert found is not None
        (each,) = found.container_recommendations
        assert each.target == {"cpu": "150m", "memory": "1Gi"}
        assert cpu(each.uncapped_target) == 247
        await cluster.client.patch(
            VerticalPodAutoscaler,
            "web",
            {"spec": {"resourcePolicy": {"containerPolicies": policies[1:]}}},
            "default",
        )
        await cluster.wait(90)
        assert await cluster.target() == {}
        assert (await cluster.conditions())["RecommendationProvided"][0] == "False"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
            "Cannot read targetRef. Reason: Deployment default/none does not exist",
        ),
        (
            {"apiVersion": "example.com/v1", "kind": "Widget", "name": "one"},
            "Cannot read targetRef. Reason: unhandled targetRef example.com/v1 / Widget / one, last error "
            'no matches for kind "Widget" in group "example.com"',
        ),
    ],
)
async def test_target_that_cannot_be_used_is_a_condition(
    tmp_path: Path, reference: dict[str, Any], message: str
) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.autoscale(targetRef=reference)
        await cluster.wait(65)
        none = ("NoPodsMatched", "No pods match this VPA object")
        assert await cluster.conditions() == {
            "ConfigUnsupported": ("True", "", message),
            "NoPodsMatched": ("True", *none),
            "RecommendationProvided": ("False", *none),
        }


async def test_target_below_another_controller_is_unsupported_until_it_is_corrected(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, STEADY, SMALL)
        await cluster.wait(5)
        (found,) = (await cluster.client.list(ReplicaSet, "default")).items
        await cluster.autoscale(
            targetRef={"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": found.metadata.name}
        )
        await cluster.wait(65)
        text = "has a parent controller but it should point to a topmost well-known or scalable controller"
        target = f"apps/v1.ReplicaSet/{found.metadata.name}"
        assert (await cluster.conditions())["ConfigUnsupported"][2] == f"The target {target} {text}"
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        patch = {"spec": {"targetRef": reference}}
        await cluster.client.patch(VerticalPodAutoscaler, "web", patch, "default")
        await cluster.wait(120)
        assert await cluster.conditions() == {"RecommendationProvided": ("True", "", "")}


async def test_killed_container_is_given_more_memory(tmp_path: Path) -> None:
    usage = [(0, 100, 400 * MB)]
    life: dict[str, Any] = {"runs": [{"seconds": 300, "outOfMemory": True}, {}]}
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, usage, {"requests": {"cpu": "100m", "memory": "1000M"}}, **life)
        await cluster.autoscale()
        await cluster.wait(200)
        assert memory(await cluster.target()) == pytest.approx(400 * MB * 1.15, rel=0.06)
        await cluster.wait(300)
        assert memory(await cluster.target()) == pytest.approx(1000 * MB * 1.2 * 1.15, rel=0.06)


async def test_settings_of_a_policy_need_their_feature_gate(tmp_path: Path) -> None:
    policy = {"containerName": "*", "memoryAggregationIntervalSeconds": HOUR}
    usage = [(0, 100, 900 * MB), (HOUR, 100, 300 * MB)]
    settings = structs.replace(DEFAULT_SETTINGS, memory_half_life=timedelta(hours=1))
    async with vpa_cluster(tmp_path, settings, PerVPAConfig=True) as cluster:
        await cluster.deploy(1, usage, SMALL)
        await cluster.autoscale("Off", policy)
        await cluster.wait(8 * HOUR)
        # Peaks of an hour: those of 300 MB weigh more by now.
        assert memory(await cluster.target()) < 400 * MB


async def test_autoscaler_of_another_recommender_is_left_alone(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, STEADY, SMALL)
        await cluster.autoscale(recommenders=[{"name": "other"}])
        await cluster.wait(300)
        assert (await cluster.get()).status.conditions == ()


@pytest.mark.slow
async def test_day_of_load(tmp_path: Path) -> None:
    """A night of 50m, a day of 600m, a spike of half an hour: the ninetieth percentile leaves it out."""
    usage: list[tuple[float, int, int]] = [
        (0, 50, 200 * MB),
        (8 * HOUR, 600, 350 * MB),
        (12 * HOUR, 3000, 350 * MB),
    ]
    usage += [(12.5 * HOUR, 600, 350 * MB), (20 * HOUR, 50, 200 * MB)]
    sizes: list[int] = []
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(2, usage, SMALL)
        await cluster.autoscale()
        for _ in range(24):
            await cluster.wait(HOUR)
            sizes.append(cpu(await cluster.target()))
    assert set(sizes[:8]) == {63}, "50m lies in the bucket that ends at 55m"
    day = sizes[10]
    assert day == pytest.approx(600 * 1.15, rel=0.06)
    assert sizes[11:24] == [day] * 13, "neither the spike nor the evening changes the percentile"
