"""Checkpoints over the life of an autoscaler, on virtual time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from podling.api.apps_v1 import Deployment
from podling.machinery.quantity import parse
from podling_vpa.recommender.settings import DEFAULT_SETTINGS
from podling_vpa.types import VerticalPodAutoscaler
from tests.support.vpa_cluster import vpa_api, vpa_cluster

MB = 1000 * 1000
SMALL = {"requests": {"cpu": "100m", "memory": "100Mi"}}
HOUR = 3600
STEADY = [(0, 200, 400 * MB)]


def cpu(found: dict[str, str]) -> int:
    return parse(found["cpu"]).milli_value


def memory(found: dict[str, str]) -> int:
    return parse(found["memory"]).value


async def test_checkpoints_keep_the_history_over_a_restart(tmp_path: Path) -> None:
    settings = structs.replace(DEFAULT_SETTINGS, memory_interval=timedelta(hours=1))
    async with vpa_api(tmp_path) as cluster:
        async with cluster.working(settings):
            await cluster.deploy(1, [(0, 800, 500 * MB)], SMALL)
            await cluster.autoscale()
            await cluster.wait(3 * HOUR)
            before = await cluster.target()
            (saved,) = await cluster.checkpoints()
        assert (saved.metadata.name, saved.status.version) == ("web-app", "v3")
        assert (saved.spec.vpa_object_name, saved.spec.container_name) == ("web", "app")
        assert saved.status.total_samples_count == pytest.approx(3 * 60, abs=5)
        assert max(saved.status.cpu_histogram.bucket_weights.values()) == 10_000
        # Nothing runs any more: without the checkpoint there would be no recommendation.
        await cluster.client.patch(Deployment, "web", {"spec": {"replicas": 0}}, "default")
        await cluster.wait(60)
        async with cluster.working(settings):
            await cluster.wait(130)
            again = await cluster.target()
        assert cpu(again) == cpu(before)
        assert memory(again) == memory(before)
        conditions = await cluster.conditions()
        assert conditions["NoPodsMatched"][0] == "True"
        assert conditions["RecommendationProvided"][0] == "True"


async def test_checkpoint_leaves_out_the_peak_of_the_interval_that_is_not_over(tmp_path: Path) -> None:
    settings = structs.replace(DEFAULT_SETTINGS, memory_interval=timedelta(hours=1))
    async with vpa_cluster(tmp_path, settings) as cluster:
        await cluster.deploy(1, STEADY, SMALL)
        await cluster.autoscale()
        await cluster.wait(HOUR / 2)
        (saved,) = await cluster.checkpoints()
        assert saved.status.memory_histogram.bucket_weights == {}
        await cluster.wait(HOUR)
        (saved,) = await cluster.checkpoints()
        assert len(saved.status.memory_histogram.bucket_weights) == 1


async def test_checkpoints_of_deleted_autoscalers_are_collected(tmp_path: Path) -> None:
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.deploy(1, STEADY, SMALL)
        await cluster.autoscale()
        await cluster.wait(130)
        assert len(await cluster.checkpoints()) == 1
        await cluster.client.delete(VerticalPodAutoscaler, "web", "default")
        await cluster.wait(700)
        assert await cluster.checkpoints() == []
