"""The census that counts by events agrees with a full count after any events in any order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import structs, to_builtins

from podling import ids
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.informer import Informer
from podling.controllers.children import BY_CONTROLLER, controller_index
from podling.controllers.workloads.pod_census import Fact, PodCensus, facts
from podling.machinery.selectors import from_labels
from podling.sim.loop import run
from podling.testing import ControlPlane, memory_cluster
from tests.support.control_loops import pod, set_phase

SELECTOR, LABELS = from_labels({"app": "web"}), {"app": "web", "tier": "front"}
OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="u1", controller=True)


async def shake(cluster: ControlPlane) -> None:
    """Something happens to some pod."""
    names = [each.metadata.name or "" for each in (await cluster.client.list(Pod, "default")).items]
    what = ids.choice(["create", "create", "ready", "unready", "end", "relabel", "orphan", "adopt", "delete"])
    if what == "create" or not names:
        labels = ids.choice([LABELS, {"app": "web"}, {"app": "db"}])
        made = pod(f"p-{ids.suffix(8)}", labels=labels, node="n1")
        await cluster.client.create(
            structs.replace(made, metadata=structs.replace(made.metadata, owner_references=(OWNER,)))
        )
        return
    name = ids.choice(names)
    match what:
        case "ready" | "unready":
            await set_phase(cluster.client, name, "Running", ready=what == "ready")
        case "end":
            await set_phase(cluster.client, name, "Failed")
        case "relabel":
            patch: dict[str, Any] = {"metadata": {"labels": {"app": ids.choice(["web", "db"])}}}
            await cluster.client.patch(Pod, name, patch, "default")
        case "orphan" | "adopt":
            patch = {"metadata": {"ownerReferences": [to_builtins(OWNER)] if what == "adopt" else None}}
            await cluster.client.patch(Pod, name, patch, "default")
        case _:
            await cluster.client.delete(Pod, name, "default", grace_seconds=ids.choice([0, 30]))


@pytest.mark.parametrize("seed", range(8))
def test_counting_by_events_is_counting(seed: int) -> None:
    async def story() -> None:
        async with memory_cluster() as cluster:
            informer = Informer(cluster.client, Pod, indexers={BY_CONTROLLER: controller_index})
            census = PodCensus(informer)
            task = asyncio.create_task(informer.run())
            await informer.synced()
            for _ in range(150):
                await shake(cluster)
                await cluster.advance(seconds=ids.choice([0, 1]))
                count = census.of("u1", SELECTOR, LABELS)
                each = [facts(held, SELECTOR, LABELS) for held in informer.by_index(BY_CONTROLLER, "u1")]
                assert {fact: count[fact] for fact in Fact} == {
                    fact: sum(bool(one & fact) for one in each) for fact in Fact
                }
            task.cancel()

    run(story(), seed=seed)


async def test_another_selector_counts_anew(cluster: ControlPlane) -> None:
    informer = Informer(cluster.client, Pod, indexers={BY_CONTROLLER: controller_index})
    census = PodCensus(informer)
    task = asyncio.create_task(informer.run())
    await informer.synced()
    made = pod("p", labels=LABELS)
    await cluster.client.create(
        structs.replace(made, metadata=structs.replace(made.metadata, owner_references=(OWNER,)))
    )
    await cluster.advance(seconds=1)
    assert census.of("u1", SELECTOR, LABELS)[Fact.LABELED] == 1
    assert census.of("u1", SELECTOR, {"app": "web", "tier": "back"})[Fact.LABELED] == 0
    assert census.of("u1", from_labels({"app": "db"}), LABELS)[Fact.STRAY] == 1
    census.forget("u1")
    assert census.of("u1", SELECTOR, LABELS)[Fact.ACTIVE] == 1
    task.cancel()
