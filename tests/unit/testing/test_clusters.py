"""The form of a cluster for coroutines. Real threads and sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from podling.testing.clusters import Cluster, running_cluster
from podling.testing.settings import TestSettings
from tests.support.tested_clusters import WEB


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster(TestSettings(nodes=2)) as running:
        yield running


def test_methods_of_a_coroutine_are_awaited(cluster: Cluster) -> None:
    async def main() -> None:
        own = cluster.asynchronous
        await own.apply(WEB)
        await own.expect("deploy/web", "condition=Available")
        before = own.now
        await asyncio.gather(own.advance(minutes=1), own.advance(minutes=2))
        assert own.now - before == timedelta(minutes=3)
        await own.patch("deploy/web", {"spec": {"replicas": 0}})
        await own.delete("deploy/web")
        assert (await own.list("deploy"), own.blocking.namespace) == ([], "default")
        async with own.fault("kubelet", node="node-1"):
            await own.expect("node/node-1", "condition=Ready=Unknown")
        assert await own.get("node/node-1")

    asyncio.run(main())
