"""Fixtures: clusters, a webhook, the types of a custom resource, and the client of a kubelet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.core_v1 import Binding, Container, Node, ObjectReference, Pod, PodSpec, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.registry import default_plugins
from podling.client.local import LocalClient
from podling.client.requests import User
from podling.machinery.encoding.custom import is_established
from podling.testing import ControlPlane, memory_cluster
from tests.support.custom_resources import definition
from tests.support.webhooks import Hook, serving_hook

KUBELET = User("system:node:n1", ("system:nodes", "system:authenticated"))


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[Hook]:
    async with serving_hook(tmp_path) as hook:
        yield hook


@pytest.fixture
async def full_cluster() -> AsyncIterator[ControlPlane]:
    """A cluster with every plugin, and the account that a controller would make."""
    async with memory_cluster(default_plugins()) as cluster:
        await cluster.client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
        yield cluster


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as plane:
        yield plane


@pytest.fixture
async def kinds(plane: ControlPlane) -> tuple[type[Any], type[Any]]:
    """The types of a custom resource in two versions."""
    versions = [
        {"name": "v1", "served": True, "storage": True},
        {"name": "v2", "served": True, "storage": False},
    ]
    made = await plane.client.create(definition(versions=versions))
    revision = made.metadata.resource_version or ""
    async for event in plane.client.watch(CustomResourceDefinition, resource_version=revision):
        if is_established(event.object):
            break
    found = [plane.server.catalogue.by_path("example.com", each, "widgets") for each in ("v1", "v2")]
    assert found[0] is not None
    assert found[1] is not None
    return found[0].type, found[1].type


@pytest.fixture
async def kubelet(cluster: ControlPlane) -> LocalClient:
    """Node ``n1``'s client, in a cluster of two nodes with a pod on each."""
    client = cluster.client
    await client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
    for node in ("n1", "n2"):
        await client.create(Node(metadata=ObjectMeta(name=node)))
        metadata = ObjectMeta(name=f"on-{node}", namespace="default")
        spec = PodSpec(service_account_name="default", containers=(Container(name="c", image="i"),))
        await client.create(Pod(metadata=metadata, spec=spec))
        target = ObjectReference(kind="Node", name=node)
        binding = Binding(metadata=metadata, target=target)
        await client.create_subresource(Pod, f"on-{node}", "binding", binding, "default")
    return cluster.client_for(KUBELET)
