"""Metrics of the controllers' work queues: depth, waiting time and duration of work."""

from __future__ import annotations

import pytest

from podling import clock
from podling.api.core_v1 import Secret
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.http.metrics import exposition
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.queue_metrics import queue_name
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.counts import samples


class Slow(Controller):
    """Takes a minute for each Secret, one after the other."""

    name = "slow-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        context.informers.informer(Secret).add_handler(self.enqueue)

    async def reconcile(self, key: Key) -> AwaitChange:
        await clock.sleep(60)
        return AwaitChange()


async def test_queue_metrics_show_waiting_and_running_keys(cluster: ControlPlane) -> None:
    async with running(cluster.client, Slow) as manager:

        def read(name: str) -> float:
            return samples([manager], f"workqueue_{name}")[("slow",)]

        for name in ("a", "b", "c"):
            await cluster.client.create(Secret(metadata=ObjectMeta(name=name, namespace="default")))
        await cluster.advance(seconds=30)
        assert (read("adds_total"), read("depth"), read("retries_total")) == (3, 2, 0)
        assert read("unfinished_work_seconds") == pytest.approx(30, abs=1)
        assert read("longest_running_processor_seconds") == pytest.approx(30, abs=1)
        await cluster.advance(seconds=170)
        assert read("depth") == 0
        assert (read("work_duration_seconds_count"), read("work_duration_seconds_sum")) == (3, 180)
        assert read("queue_duration_seconds_sum") == pytest.approx(60 + 120, abs=1)
        assert read("longest_running_processor_seconds") == 0


async def test_they_are_shown_with_everything_else(cluster: ControlPlane) -> None:
    async with running(cluster.client, Slow) as manager:
        cluster.server.count(manager)
        text = exposition([each for one in cluster.server.collectors for each in one.collect()]).decode()
    for line in (
        'workqueue_depth{name="slow"} 0.0',
        "# TYPE workqueue_adds_total counter",
        "# TYPE workqueue_queue_duration_seconds histogram",
    ):
        assert line in text, line


@pytest.mark.parametrize(
    ("controller", "queue"),
    [
        ("replicaset-controller", "replicaset"),
        ("endpointslice-controller", "endpoint_slice"),
        ("ttl-after-finished-controller", "ttl_jobs_to_delete"),
        ("stale-pod-disruption", "stale_pod_disruption"),
    ],
)
def test_queues_have_kubernetes_names(controller: str, queue: str) -> None:
    assert queue_name(controller) == queue
