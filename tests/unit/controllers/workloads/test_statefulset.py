"""Pods with an identity: made in order, kept by name, updated from the last to the first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import (
    ControllerRevision,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetUpdateStrategy,
)
from podling.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    VolumeMount,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.workloads.statefulset import StatefulSetController
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, running, set_phase, told
from tests.support.workloads import rolling_stateful, stateful_set


def data_claim() -> PersistentVolumeClaim:
    request = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",), resources=request)
    return PersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=spec)


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, StatefulSetController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


pytestmark = pytest.mark.usefixtures("manager")


async def start(cluster: ControlPlane, wanted: StatefulSet) -> None:
    await cluster.client.create(wanted)
    await cluster.advance(seconds=1)


async def current(cluster: ControlPlane) -> StatefulSet:
    return await cluster.client.get(StatefulSet, "db", "default")


async def pods(cluster: ControlPlane) -> dict[str, str]:
    """Images by pod name."""
    found = (await cluster.client.list(Pod, "default")).items
    return {each.metadata.name or "": each.spec.containers[0].image or "" for each in found}


async def settle(cluster: ControlPlane, rounds: int = 12) -> None:
    for _ in range(rounds):
        await make_ready(cluster.client)
        await cluster.advance(seconds=1)


async def change(cluster: ControlPlane, **spec: Any) -> None:
    await cluster.client.patch(StatefulSet, "db", {"spec": spec}, "default")
    await cluster.advance(seconds=1)


async def use(cluster: ControlPlane, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    await change(cluster, template={"spec": {"containers": containers}})


async def test_pods_come_up_one_after_the_other(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set())
    seen = []
    for _ in range(4):
        seen.append(list(await pods(cluster)))
        await make_ready(cluster.client)
        await cluster.advance(seconds=1)
    assert seen == [["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"], ["db-0", "db-1", "db-2"]]
    first = await cluster.client.get(Pod, "db-0", "default")
    assert (first.spec.hostname, first.spec.subdomain) == ("db-0", "db")
    assert first.metadata.labels["statefulset.kubernetes.io/pod-name"] == "db-0"
    assert first.metadata.labels["apps.kubernetes.io/pod-index"] == "0"
    held = await current(cluster)
    assert first.metadata.labels["controller-revision-hash"] == held.status.current_revision
    assert (held.status.replicas, held.status.ready_replicas, held.status.available_replicas) == (3, 3, 3)
    assert (held.status.current_replicas, held.status.updated_replicas) == (3, 3)
    assert (await told(cluster.client))[0] == (
        "Normal SuccessfulCreate db: create Pod db-0 in StatefulSet db successful"
    )


async def test_they_go_from_the_last_one_down(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set())
    await settle(cluster)
    await cluster.client.patch(Pod, "db-2", {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
    await change(cluster, replicas=0)
    assert list(await pods(cluster)) == ["db-0", "db-1", "db-2"]
    await cluster.client.patch(Pod, "db-2", {"metadata": {"finalizers": None}}, "default")
    await cluster.advance(seconds=1)
    assert await pods(cluster) == {}
    assert (await current(cluster)).status.replicas == 0


async def test_in_parallel_they_come_and_go_together(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(pod_management_policy="Parallel"))
    assert list(await pods(cluster)) == ["db-0", "db-1", "db-2"]
    await change(cluster, replicas=1)
    assert list(await pods(cluster)) == ["db-0"]


async def test_a_terminating_pod_is_replaced_only_after_its_end(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set())
    await settle(cluster)
    await cluster.client.patch(Pod, "db-1", {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
    before = await cluster.client.get(Pod, "db-1", "default")
    await cluster.client.delete(Pod, "db-1", "default")
    await cluster.advance(minutes=5)
    held = await cluster.client.get(Pod, "db-1", "default")
    assert held.metadata.uid == before.metadata.uid
    assert list(await pods(cluster)) == ["db-0", "db-1", "db-2"]
    await cluster.client.patch(Pod, "db-1", {"metadata": {"finalizers": None}}, "default")
    await cluster.advance(seconds=1)
    after = await cluster.client.get(Pod, "db-1", "default")
    assert after.metadata.uid != before.metadata.uid


async def test_a_lost_pod_comes_back_under_its_name(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set())
    await settle(cluster)
    before = await cluster.client.get(Pod, "db-1", "default")
    await cluster.client.delete(Pod, "db-1", "default")
    await cluster.advance(seconds=1)
    after = await cluster.client.get(Pod, "db-1", "default")
    assert after.metadata.uid != before.metadata.uid


async def test_a_failed_pod_is_made_anew(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(1))
    before = await cluster.client.get(Pod, "db-0", "default")
    await set_phase(cluster.client, "db-0", "Failed")
    await cluster.advance(seconds=1)
    after = await cluster.client.get(Pod, "db-0", "default")
    assert after.metadata.uid != before.metadata.uid
    assert "Normal SuccessfulDelete db: delete Pod db-0 in StatefulSet db successful" in await told(
        cluster.client
    )


async def test_an_update_goes_from_the_last_to_the_first_and_waits_for_each(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set())
    await settle(cluster)
    old = (await current(cluster)).status.current_revision
    await use(cluster, "db:2")
    assert await pods(cluster) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    held = await current(cluster)
    assert held.status.current_revision == old != held.status.update_revision
    assert (held.status.current_replicas, held.status.updated_replicas) == (2, 1)
    await settle(cluster)
    assert set((await pods(cluster)).values()) == {"db:2"}
    held = await current(cluster)
    assert held.status.current_revision == held.status.update_revision != old
    assert (held.status.current_replicas, held.status.updated_replicas) == (3, 3)


async def test_a_partition_holds_the_first_ones_back(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(update_strategy=rolling_stateful(partition=2)))
    await settle(cluster)
    await use(cluster, "db:2")
    await settle(cluster)
    assert await pods(cluster) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    await cluster.client.delete(Pod, "db-0", "default")
    await settle(cluster)
    assert (await pods(cluster))["db-0"] == "db:1", "made anew as it was"


async def test_several_may_be_updated_at_once(cluster: ControlPlane) -> None:
    strategy = rolling_stateful(partition=0, max_unavailable=2)
    await start(cluster, stateful_set(4, pod_management_policy="Parallel", update_strategy=strategy))
    await settle(cluster, 3)
    await use(cluster, "db:2")
    assert sorted((await pods(cluster)).values()) == ["db:1", "db:1", "db:2", "db:2"]
    await settle(cluster)
    assert set((await pods(cluster)).values()) == {"db:2"}


async def test_on_delete_strategy_waits_for_deletion(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(2, update_strategy=StatefulSetUpdateStrategy(type="OnDelete")))
    await settle(cluster)
    await use(cluster, "db:2")
    await settle(cluster)
    assert set((await pods(cluster)).values()) == {"db:1"}
    await cluster.client.delete(Pod, "db-1", "default")
    await settle(cluster)
    assert await pods(cluster) == {"db-0": "db:1", "db-1": "db:2"}


async def test_going_back_raises_the_old_revision(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(1))
    await settle(cluster, 3)
    await use(cluster, "db:2")
    await settle(cluster, 4)
    await use(cluster, "db:1")
    await settle(cluster, 4)
    found = (await cluster.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in found) == [2, 3]
    assert await pods(cluster) == {"db-0": "db:1"}


async def test_only_so_many_revisions_are_kept(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(1, revision_history_limit=1))
    for number in range(2, 6):
        await settle(cluster, 4)
        await use(cluster, f"db:{number}")
    await settle(cluster, 4)
    found = (await cluster.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in found) == [4, 5]


async def test_ordinals_may_start_later(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(2, ordinals=StatefulSetOrdinals(start=5)))
    await settle(cluster)
    assert list(await pods(cluster)) == ["db-5", "db-6"]


async def claims(cluster: ControlPlane) -> dict[str, list[str]]:
    """Claims with the kinds of what owns them."""
    found = (await cluster.client.list(PersistentVolumeClaim, "default")).items
    return {each.metadata.name or "": [ref.kind for ref in each.metadata.owner_references] for each in found}


async def test_each_pod_has_its_claims_and_they_outlive_it(cluster: ControlPlane) -> None:
    wanted = stateful_set(2, volume_claim_templates=(data_claim(),))
    mounted = structs.replace(
        wanted.spec.template.spec.containers[0],
        volume_mounts=(VolumeMount(name="data", mount_path="/data"),),
    )
    pod_spec = structs.replace(wanted.spec.template.spec, containers=(mounted,))
    template = structs.replace(wanted.spec.template, spec=pod_spec)
    await start(cluster, structs.replace(wanted, spec=structs.replace(wanted.spec, template=template)))
    await settle(cluster)
    assert await claims(cluster) == {"data-db-0": [], "data-db-1": []}
    first = await cluster.client.get(Pod, "db-0", "default")
    volume = next(each for each in first.spec.volumes if each.name == "data")
    assert volume.persistent_volume_claim is not None
    assert volume.persistent_volume_claim.claim_name == "data-db-0"
    await change(cluster, replicas=1)
    assert list(await claims(cluster)) == ["data-db-0", "data-db-1"]
    assert (
        "Normal SuccessfulCreate db: create Claim data-db-0 Pod db-0 in StatefulSet db success"
        in await told(cluster.client)
    )


async def test_claims_can_go_with_their_set_or_their_pod(cluster: ControlPlane) -> None:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Delete")
    wanted = stateful_set(
        2, volume_claim_templates=(data_claim(),), persistent_volume_claim_retention_policy=policy
    )
    await start(cluster, wanted)
    await settle(cluster)
    assert await claims(cluster) == {"data-db-0": ["StatefulSet"], "data-db-1": ["StatefulSet"]}
    await change(cluster, replicas=1)
    assert await claims(cluster) == {"data-db-0": ["StatefulSet"], "data-db-1": ["Pod"]}


async def test_claims_follow_a_changed_retention_policy(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(2, volume_claim_templates=(data_claim(),)))
    await settle(cluster)
    await change(cluster, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"})
    assert await claims(cluster) == {"data-db-0": ["StatefulSet"], "data-db-1": ["StatefulSet"]}
    await change(cluster, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain"})
    assert await claims(cluster) == {"data-db-0": [], "data-db-1": []}


async def test_pending_pod_gets_its_claim_again(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(1, volume_claim_templates=(data_claim(),)))
    await cluster.client.delete(PersistentVolumeClaim, "data-db-0", "default")
    await cluster.advance(seconds=1)
    assert list(await claims(cluster)) == ["data-db-0"]


async def test_relabelled_pod_gets_the_labels_of_its_ordinal_back(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(1))
    await settle(cluster)
    labels = {"apps.kubernetes.io/pod-index": None, "statefulset.kubernetes.io/pod-name": "other"}
    gone = {"metadata": {"labels": labels}}
    await cluster.client.patch(Pod, "db-0", gone, "default")
    await cluster.advance(seconds=1)
    held = await cluster.client.get(Pod, "db-0", "default")
    assert held.metadata.labels["apps.kubernetes.io/pod-index"] == "0"
    assert held.metadata.labels["statefulset.kubernetes.io/pod-name"] == "db-0"
    told_events = await told(cluster.client)
    assert "Normal SuccessfulUpdate db: update Pod db-0 in StatefulSet db successful" in told_events


async def test_pods_with_other_names_are_not_adopted(cluster: ControlPlane) -> None:
    wanted = stateful_set(1)
    for name in ("db-0", "stray"):
        bare = Pod(
            metadata=ObjectMeta(name=name, namespace="default", labels={"app": "db"}),
            spec=wanted.spec.template.spec,
        )
        await cluster.client.create(bare)
    await start(cluster, wanted)
    await settle(cluster)
    owners = {
        each.metadata.name: [ref.name for ref in each.metadata.owner_references]
        for each in (await cluster.client.list(Pod, "default")).items
    }
    assert owners == {"db-0": ["db"], "stray": []}


async def test_revision_carries_the_labels_of_the_template_and_the_annotations_of_the_set(
    cluster: ControlPlane,
) -> None:
    wanted = stateful_set(1)
    cause = {"kubernetes.io/change-cause": "first roll-out"}
    named = structs.replace(wanted.metadata, annotations=cause)
    template = structs.replace(
        wanted.spec.template, metadata=ObjectMeta(labels={"app": "db", "tier": "back"})
    )
    await start(
        cluster, structs.replace(wanted, metadata=named, spec=structs.replace(wanted.spec, template=template))
    )
    made = (await cluster.client.list(ControllerRevision, "default")).items[0].metadata
    assert made.annotations == cause
    digest = made.labels["controller.kubernetes.io/hash"]
    assert made.labels == {"app": "db", "tier": "back", "controller.kubernetes.io/hash": digest}
    assert made.name == f"db-{digest}"


async def test_negative_history_limit_keeps_every_revision(cluster: ControlPlane) -> None:
    await start(cluster, stateful_set(1, revision_history_limit=-1))
    for number in range(2, 6):
        await use(cluster, f"db:{number}")
        await settle(cluster, 3)
    assert len((await cluster.client.list(ControllerRevision, "default")).items) == 5
