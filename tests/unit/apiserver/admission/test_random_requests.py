"""Random requests to an API server with every plugin: stored or refused, never an internal error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import structs

from podling.api.core_v1 import LimitRange, Namespace, Node, ResourceQuota, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.registry import default_plugins
from podling.client.base import Client
from podling.machinery.encoding import intake
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES, Resource
from podling.sim.loop import VirtualTimeLoop
from podling.testing import memory_cluster
from tests.support.choices import Choices
from tests.support.manifests import PLAIN_POD, merged, obj
from tests.support.nonsense import blobs, mixed, nonsense

ROUNDS = 8
STORED = [each for each in RESOURCES if each.stored and "create" in each.verbs]

GUARDED = "metadata: {name: default, labels: {pod-security.kubernetes.io/warn: restricted}}"
LIMITS = """
metadata: {name: limits, namespace: default}
spec:
  limits:
  - {type: Container, default: {cpu: 1, memory: 1Gi}, defaultRequest: {memory: 1Mi}, max: {cpu: 4},
     min: {memory: 1Mi}, maxLimitRequestRatio: {cpu: 2}}
  - {type: Pod, max: {memory: 4Gi}}
  - {type: PersistentVolumeClaim, max: {storage: 5Gi}}
"""
QUOTAS = """
metadata: {name: quota, namespace: default}
spec: {hard: {pods: 100, requests.cpu: 50, limits.memory: 50Gi, services.nodeports: 3, count/jobs.batch: 50}}
"""


@asynccontextmanager
async def busy_cluster() -> AsyncIterator[Client]:
    """A cluster in which every plugin has something to do."""
    async with memory_cluster(default_plugins()) as plane:
        namespace = await plane.client.get(Namespace, "default")
        labels = obj(Namespace, GUARDED).metadata.labels
        metadata = structs.replace(namespace.metadata, labels=labels)
        await plane.client.update(structs.replace(namespace, metadata=metadata))
        await plane.client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
        await plane.client.create(Node(metadata=ObjectMeta(name="web")))
        await plane.client.create(obj(LimitRange, LIMITS))
        await plane.client.create(obj(ResourceQuota, QUOTAS))
        yield plane.client


@pytest.mark.parametrize("resource", STORED, ids=lambda each: f"{each.group_resource}-{each.version}")
def test_random_requests_cause_no_internal_error(resource: Resource) -> None:
    names = (f"x{number}" for number in count())
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        cluster = busy_cluster()
        client = runner.run(cluster.__aenter__())

        @settings(
            max_examples=ROUNDS, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
        )
        @given(blob=blobs)
        def judged(blob: bytes) -> None:
            runner.run(written(client, resource, Choices(blob), next(names)))

        judged()
        runner.run(cluster.__aexit__(None, None, None))


async def written(client: Client, resource: Resource, choices: Choices, name: str) -> None:
    """Create nonsense, and if it can be stored, make other nonsense of it."""
    share, kind = choices.one_of((0.03, 0.1, 0.3, 0.6)), resource.type
    first, second = nonsense(choices, kind, share), nonsense(choices, kind, share)
    stored = await answered(client.create(made(resource, first, name)))
    if stored is None:
        return
    wanted = made(resource, mixed(choices, first, second), name)
    wanted = structs.replace(wanted, metadata=structs.replace(stored.metadata, resource_version=""))
    for subresource in ("", *resource.subresources):
        if resource.type is type(wanted) and subresource in ("", "status", "resize", "ephemeralcontainers"):
            await answered(client.update(wanted, subresource=subresource))


def made(resource: Resource, plain: dict[str, Any], name: str) -> Any:
    metadata = {"name": name} | ({"namespace": "default"} if resource.namespaced else {})
    base = PLAIN_POD if resource.plural == "pods" else {}
    head = {"apiVersion": resource.group_version, "kind": resource.kind, "metadata": metadata}
    thing, _ = intake.convert({**merged(base, plain), **head}, resource.type)
    return thing


async def answered(call: Awaitable[Any]) -> Any:
    """Return the answer, or None for a refusal."""
    try:
        return await call
    except ApiError as error:
        if error.code >= 500:
            raise
        return None
