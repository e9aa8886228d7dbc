"""Replication controllers keep their pods as replica sets do, in their own name."""

from __future__ import annotations

from podling.api.core_v1 import Pod, ReplicationController, ReplicationControllerSpec
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.replication_controller import ReplicationControllerController
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, running, told
from tests.support.workloads import template


async def test_it_keeps_its_number_of_pods(cluster: ControlPlane) -> None:
    async with running(cluster.client, ReplicationControllerController) as manager:
        spec = ReplicationControllerSpec(
            replicas=2, selector={"app": "web"}, template=template("web:1", app="web")
        )
        metadata = ObjectMeta(name="web", namespace="default")
        created = await cluster.client.create(ReplicationController(metadata=metadata, spec=spec))
        await cluster.advance(seconds=1)
        await make_ready(cluster.client)
        await cluster.advance(seconds=1)
        first, second = (await cluster.client.list(Pod, "default")).items
        for each in (first, second):
            (ref,) = each.metadata.owner_references
            assert (ref.api_version, ref.kind, ref.uid) == (
                "v1",
                "ReplicationController",
                created.metadata.uid,
            )
        held = await cluster.client.get(ReplicationController, "web", "default")
        assert (held.status.replicas, held.status.ready_replicas, held.status.available_replicas) == (2, 2, 2)
        assert all(line.startswith("Normal SuccessfulCreate web:") for line in await told(cluster.client))
        await cluster.client.patch(ReplicationController, "web", {"spec": {"replicas": 1}}, "default")
        await cluster.advance(seconds=1)
        assert len((await cluster.client.list(Pod, "default")).items) == 1
        before = cluster.store.revision
        await cluster.advance(hours=1)
        assert cluster.store.revision == before, "at rest it writes nothing"
        assert all(counters.failures == 0 for counters in manager.counters.values())
