"""A running scheduler over a cluster in memory, and helpers for its stories."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import structs

from podling.api.core_v1 import Event, Node, Pod
from podling.client.base import Client
from podling.client.informer_factory import InformerFactory
from podling.client.requests import User
from podling.machinery.feature_gates import NO_GATES
from podling.scheduler.configuration.types import KubeSchedulerConfiguration
from podling.scheduler.scheduler import Scheduler
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling

SCHEDULER = User("system:kube-scheduler", ("system:authenticated",))
"""The scheduler may do what Kubernetes' policy allows it, and no more."""


@asynccontextmanager
async def scheduler_for(
    client: Client,
    configuration: KubeSchedulerConfiguration | None = None,
    connect: Any = None,
    feature_gates: Mapping[str, bool] = NO_GATES,
) -> AsyncIterator[Scheduler]:
    informers = InformerFactory(client)
    scheduler = Scheduler(client, informers, configuration, connect, feature_gates)
    tasks = [asyncio.ensure_future(informers.run()), asyncio.ensure_future(scheduler.run())]
    try:
        yield scheduler
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def join(cluster: ControlPlane, node: Node) -> None:
    """Create a ready node and remove the taint of new nodes."""
    created = await cluster.client.create(node)
    await cluster.client.update(
        structs.replace(created, spec=structs.replace(created.spec, taints=node.spec.taints))
    )


def pod(name: str, cpu: str = "1", **spec: Any) -> Pod:
    made = scheduling.pod(name, cpu=cpu, **spec)
    return structs.replace(made, metadata=structs.replace(made.metadata, uid=""))


async def get(cluster: ControlPlane, name: str) -> Pod:
    return await cluster.client.get(Pod, name, "default")


async def node_of(cluster: ControlPlane, name: str) -> str:
    return (await get(cluster, name)).spec.node_name


async def told(cluster: ControlPlane, name: str) -> list[str]:
    """Return the events about a pod, in order."""
    events = (await cluster.client.list(Event, "default")).items
    about = [event for event in events if event.involved_object.name == name]
    about.sort(key=lambda event: int(event.metadata.resource_version or 0))
    return [f"{event.type} {event.reason} {event.message}" for event in about]


async def kill(cluster: ControlPlane, name: str) -> None:
    """Delete a pod like a kubelet at the end of termination."""
    await cluster.client.delete(Pod, name, "default", grace_seconds=0)
