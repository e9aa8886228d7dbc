"""The network loses requests and answers, watches break: in the end everything is as specified.

The seed of each run decides what is lost, so a failure repeats exactly.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

import pytest

from podling import clock, ids
from podling.api.apps_v1 import Deployment, ReplicaSet, StatefulSet
from podling.api.batch_v1 import Job
from podling.api.core_v1 import (
    ConfigMap,
    Endpoints,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Client, Unreachable, WatchEvent
from podling.controllers.endpoints.endpoints import EndpointsController
from podling.controllers.endpoints.endpointslice import EndpointSliceController
from podling.controllers.garbage_collector import GarbageCollectorController
from podling.controllers.namespace import NamespaceController
from podling.controllers.volumes.volume_binder import VolumeBinderController
from podling.controllers.volumes.volume_protection import VolumeProtectionController
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.controllers.workloads.statefulset import StatefulSetController
from podling.sim.loop import run
from podling.testing import ControlPlane, memory_cluster
from tests.support.control_loops import add_node, make_ready, pod, running
from tests.support.workloads import claim, deployment, job, service, stateful_set, volume

T = TypeVar("T")
SEEDS = range(6)


class Lossy:
    """A client over a bad network."""

    def __init__(self, client: Client, share: float = 0.1) -> None:
        self._client = client
        self.share = share
        self.lost = 0

    def _lose(self, what: str) -> None:
        if ids.uniform(0, 1) < self.share:
            self.lost += 1
            raise Unreachable(f"lost {what}")

    async def _send(self, call: Awaitable[T]) -> T:
        """The request may be lost on its way there, or its answer on the way back."""
        await clock.sleep(ids.uniform(0, 0.02))
        answer = await call
        self._lose("the answer")
        return answer

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*args: Any, **options: Any) -> Any:
            self._lose("the request")
            return await self._send(method(*args, **options))

        return call

    async def watch(self, *args: Any, **options: Any) -> AsyncIterator[WatchEvent[Any]]:
        self._lose("the request")
        async for event in self._client.watch(*args, **options):
            self._lose("the connection")
            yield event


async def names(cluster: ControlPlane, kind: type[Any], namespace: str = "default") -> list[str]:
    return [each.metadata.name for each in (await cluster.client.list(kind, namespace)).items]


async def suffer(cluster: ControlPlane, client: Lossy, minutes: int) -> None:
    """Let time pass on the bad network, then let it heal."""
    for _ in range(minutes * 6):
        await make_ready(cluster.client)
        await cluster.advance(seconds=10)
    assert client.lost > 0
    client.share = 0.0
    for _ in range(40):
        await make_ready(cluster.client)
        await cluster.advance(seconds=10)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deployment_rolls_out_all_the_same(seed: int) -> None:
    async def story() -> None:
        async with memory_cluster() as cluster:
            client: Any = Lossy(cluster.client)
            async with running(client, DeploymentController, ReplicaSetController):
                await cluster.client.create(deployment(5))
                await suffer_a_little(cluster)
                template = {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}
                patch = {"spec": {"template": template, "replicas": 7}}
                await cluster.client.patch(Deployment, "web", patch, "default")
                await suffer(cluster, client, minutes=5)
            pods = (await cluster.client.list(Pod, "default")).items
            assert [each.spec.containers[0].image for each in pods] == ["web:2"] * 7
            held = await cluster.client.get(Deployment, "web", "default")
            assert (held.status.updated_replicas, held.status.available_replicas) == (7, 7)
            sizes = {each.spec.replicas for each in (await cluster.client.list(ReplicaSet, "default")).items}
            assert sizes == {0, 7}

    run(story(), seed=seed)


async def suffer_a_little(cluster: ControlPlane) -> None:
    for _ in range(6):
        await make_ready(cluster.client)
        await cluster.advance(seconds=5)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_counts_right_all_the_same(seed: int) -> None:
    async def story() -> None:
        async with memory_cluster() as cluster:
            client: Any = Lossy(cluster.client)
            async with running(client, JobController):
                await cluster.client.create(job(completions=8, parallelism=3, backoff_limit=50))
                for number in range(200):
                    client.share = 0.1 if number < 100 else 0.0
                    await end_one(cluster, failed=number % 4 == 3)
                    await cluster.advance(seconds=20)
            held = await cluster.client.get(Job, "sum", "default")
            assert [each.type for each in held.status.conditions] == ["SuccessCriteriaMet", "Complete"]
            ended = [each.status.phase for each in (await cluster.client.list(Pod, "default")).items]
            assert held.status.succeeded == ended.count("Succeeded") == 8
            assert (held.status.failed or 0) == ended.count("Failed")
            assert client.lost > 0

    run(story(), seed=seed)


async def end_one(cluster: ControlPlane, *, failed: bool) -> None:
    """One running pod ends."""
    for each in (await cluster.client.list(Pod, "default")).items:
        if each.status.phase == "Pending" and each.metadata.deletion_timestamp is None:
            phase = {"status": {"phase": "Failed" if failed else "Succeeded"}}
            await cluster.client.patch(Pod, each.metadata.name or "", phase, "default", subresource="status")
            return


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stateful_set_keeps_its_order_all_the_same(seed: int) -> None:
    async def story() -> None:
        async with memory_cluster() as cluster:
            client: Any = Lossy(cluster.client)
            async with running(client, StatefulSetController):
                await cluster.client.create(stateful_set(4))
                for _ in range(60):
                    found = await names(cluster, Pod)
                    assert found == [f"db-{number}" for number in range(len(found))]
                    await make_ready(cluster.client)
                    await cluster.advance(seconds=5)
                client.share = 0.0
                await cluster.advance(minutes=5)
            assert await names(cluster, Pod) == ["db-0", "db-1", "db-2", "db-3"]
            held = await cluster.client.get(StatefulSet, "db", "default")
            assert held.status.ready_replicas == 4

    run(story(), seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_left_behind_and_nothing_with_an_owner_is_lost(seed: int) -> None:
    async def story() -> None:
        async with memory_cluster() as cluster:
            client: Any = Lossy(cluster.client)
            async with running(client, GarbageCollectorController, NamespaceController):
                await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
                owners = [await make(cluster, f"owner-{number}") for number in range(4)]
                for number in range(12):
                    await make(cluster, f"child-{number}", *owners[number % 3 :: 2])
                for owner, policy in zip(owners[:3], ("Background", "Foreground", "Background"), strict=True):
                    await cluster.client.delete(
                        ConfigMap, owner.metadata.name or "", "team", propagation=policy
                    )
                await suffer(cluster, client, minutes=5)
                left = await names(cluster, ConfigMap, "team")
                kept = [f"child-{number}" for number in range(12) if number % 3 == 1]
                assert left == sorted([*kept, "owner-3"])
                client.share = 0.1
                await cluster.client.delete(Namespace, "team")
                await suffer(cluster, client, minutes=5)
                assert "team" not in await names(cluster, Namespace, "")

    run(story(), seed=seed)


async def make(cluster: ControlPlane, name: str, *owners: ConfigMap) -> ConfigMap:
    references = tuple(
        OwnerReference(
            api_version="v1",
            kind="ConfigMap",
            name=each.metadata.name or "",
            uid=each.metadata.uid or "",
            block_owner_deletion=True,
        )
        for each in owners
    )
    metadata = ObjectMeta(name=name, namespace="team", owner_references=references)
    return await cluster.client.create(ConfigMap(metadata=metadata))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_volume_serves_two_claims_and_none_is_lost(seed: int) -> None:
    async def story() -> None:
        async with memory_cluster() as cluster:
            client: Any = Lossy(cluster.client)
            async with running(client, VolumeBinderController, VolumeProtectionController):
                for number in range(6):
                    await cluster.client.create(volume(f"v{number}"))
                    await cluster.client.create(claim(f"c{number}"))
                    await cluster.advance(seconds=1)
                await suffer(cluster, client, minutes=5)
            volumes = (await cluster.client.list(PersistentVolume)).items
            claims = (await cluster.client.list(PersistentVolumeClaim, "default")).items
            by_volume = {
                each.metadata.name: each.spec.claim_ref.uid for each in volumes if each.spec.claim_ref
            }
            by_claim = {each.spec.volume_name: each.metadata.uid for each in claims}
            assert by_volume == by_claim
            assert len(by_volume) == 6
            assert {each.status.phase for each in volumes} == {"Bound"}
            assert {each.status.phase for each in claims} == {"Bound"}

    run(story(), seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_slices_are_correct_after_lost_requests(seed: int) -> None:
    async def story() -> None:
        async with memory_cluster() as cluster:
            client: Any = Lossy(cluster.client)
            await add_node(cluster.client, "n1")
            async with running(client, EndpointSliceController, EndpointsController):
                await cluster.client.create(service())
                for number in range(30):
                    await serve(cluster, f"p{number}", f"10.0.0.{number + 1}")
                    if number % 3 == 2:
                        await cluster.client.delete(Pod, f"p{number - 1}", "default", grace_seconds=0)
                    await cluster.advance(seconds=5)
                await suffer(cluster, client, minutes=1)
            truth = sorted(f"10.0.0.{number + 1}" for number in range(30) if number % 3 != 1)
            selector = "kubernetes.io/service-name=web"
            slices = (await cluster.client.list(EndpointSlice, "default", label_selector=selector)).items
            assert sorted(ip for each in slices for one in each.endpoints for ip in one.addresses) == truth
            held = await cluster.client.get(Endpoints, "web", "default")
            assert sorted(one.ip for each in held.subsets for one in each.addresses) == truth

    run(story(), seed=seed)


async def serve(cluster: ControlPlane, name: str, ip: str) -> None:
    """A pod of the service runs, and has this address."""
    await cluster.client.create(pod(name, node="n1", labels={"app": "web"}))
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    await cluster.client.patch(Pod, name, {"status": status}, "default", subresource="status")
