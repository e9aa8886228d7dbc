"""Objects of every kind over the Unix socket: the same as in the API server's own process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import uvloop

from podling.api.meta_v1 import DeleteOptions
from podling.client.base import WatchEventType
from podling.client.requests import SYSTEM, ListOptions, Target, WriteOptions
from podling.machinery.scheme import RESOURCES
from podling.testing import memory_cluster
from tests.contract.client_stories import DEADLINE_SECONDS, socket_backend
from tests.support.manifests import sent, valid_objects

STORED = {(each.group_version, each.kind): each for each in RESOURCES if each.stored}


async def compare(document: dict[str, Any], folder: Path) -> None:
    """Write, read and watch an object over the socket, and compare it with the one in process."""
    resource = STORED[document["apiVersion"], document["kind"]]
    obj = sent(resource, document)
    async with memory_cluster() as cluster, socket_backend(cluster, folder) as (_, backend):
        here = cluster.backend
        everything = Target(resource, obj.metadata.namespace or "")
        target = Target(resource, everything.namespace, obj.metadata.name)
        start = (await backend.list(everything, SYSTEM, ListOptions())).resource_version
        watch = backend.watch(everything, SYSTEM, ListOptions(resource_version=start))
        local = here.watch(everything, SYSTEM, ListOptions(resource_version=start))

        created = await backend.create(everything, SYSTEM, obj, WriteOptions())
        assert type(created) is resource.type
        revision, found = 0, created
        while revision != cluster.store.revision:  # some kinds have controllers in the API server
            revision, found = cluster.store.revision, await backend.get(target, SYSTEM)
        assert found == await here.get(target, SYSTEM)
        listed = await backend.list(everything, SYSTEM, ListOptions())
        if listed.resource_version == str(cluster.store.revision):
            assert listed == await here.list(everything, SYSTEM, ListOptions())
        deleted = await backend.delete(target, SYSTEM, DeleteOptions(grace_period_seconds=0))
        assert type(deleted).__name__ in ("Status", resource.kind)
        for at in range(2):
            event, last = await anext(watch), await anext(local)
            assert (event.type, event.object) == (last.type, here.reads.shown(resource, last.entry))
            assert at or (event.type, event.object) == (WatchEventType.ADDED, created)
        local.close()


@pytest.mark.parametrize("document", valid_objects(), ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
def test_object_is_the_same_over_the_socket(tmp_path: Path, document: dict[str, Any]) -> None:
    async def story() -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await compare(document, tmp_path)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())
