"""Resources that the configuration of ResourceQuota limits to namespaces with a quota for them.

The first two tables are Kubernetes' ``TestAdmitLimitedResource...`` and
``TestAdmitLimitedScopeWithCoverQuota``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
import yaml

from podling.api.core_v1 import ConfigMap, PersistentVolumeClaim, Pod, ResourceQuota, Service
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.admission.configuration.types import (
    LimitedResource,
    PluginSettings,
    ResourceQuotaConfiguration,
)
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane, memory_cluster
from tests.support.manifests import PLAIN_POD, obj

ANY_CLASS = "{scopeName: PriorityClass, operator: Exists}"
EFFORT = "{scopeName: BestEffort, operator: Exists}"
SERVICES = "{scopeName: PriorityClass, operator: In, values: [cluster-services]}"
EITHER = "{scopeName: PriorityClass, operator: In, values: [another, cluster-services]}"
ANOTHER = "{scopeName: PriorityClass, operator: In, values: [another]}"

BIG, SMALL = "{requests: {cpu: 3, memory: 2Gi}}", "{requests: {cpu: 100m, memory: 1Gi}}"
OF_EFFORT = "{scopes: [BestEffort], hard: {pods: 5}}"
NO_CLASS = "insufficient quota to match these scopes: [{PriorityClass Exists []}]"
NO_EFFORT = "insufficient quota to match these scopes: [{BestEffort Exists []}]"
NO_SERVICES = "insufficient quota to match these scopes: [{PriorityClass In [cluster-services]}]"
NO_EITHER = "insufficient quota to match these scopes: [{PriorityClass In [another cluster-services]}]"
NEITHER = (
    "insufficient quota to match these scopes: [{BestEffort Exists []} {PriorityClass In [cluster-services]}]"
)


@asynccontextmanager
async def cluster_with(limited: str, *quotas: str) -> AsyncIterator[ControlPlane]:
    """A cluster with limited resources, and quotas in the namespace ``default`` by their specs."""
    resources = msgspec.convert(yaml.safe_load(limited), tuple[LimitedResource, ...])
    settings = PluginSettings(resource_quota=ResourceQuotaConfiguration(limited_resources=resources))
    async with memory_cluster(plugins_without_controllers(settings=settings)) as cluster:
        for number, spec in enumerate(quotas):
            text = f"metadata: {{name: quota{number}, namespace: default}}\nspec: {spec}"
            await cluster.client.create(obj(ResourceQuota, text))
        for name in ("fake-priority", "cluster-services", "another"):
            await cluster.client.create(PriorityClass(metadata=ObjectMeta(name=name), value=1))
        yield cluster


async def create_pod(cluster: ControlPlane, resources: str, priority: str = "") -> Pod:
    containers = f"containers: [{{name: main, image: x, resources: {resources}}}]"
    text = f"spec: {{{containers}, priorityClassName: '{priority}'}}"
    made: Pod = await cluster.client.create(obj(Pod, text, PLAIN_POD))
    return made


def scoped(*scopes: str) -> str:
    """Return a limited resource for each scope."""
    return f"[{', '.join(f'{{resource: pods, matchScopes: [{scope}]}}' for scope in scopes)}]"


def selecting(scope: str, hard: str = "") -> str:
    """Return the spec of a quota for the pods that a scope selects."""
    return f"{{scopeSelector: {{matchExpressions: [{scope}]}}, hard: {{{hard}}}}}"


@pytest.mark.parametrize(
    ("limited", "quotas", "missing"),
    [
        ("[{resource: pods, matchContains: [cpu]}]", (), "cpu,requests.cpu"),
        ("[{resource: services, matchContains: [services]}]", (), ""),
        ("[{resource: pods, matchContains: [requests.cpu]}]", ("{hard: {requests.cpu: 10}}",), ""),
        (
            "[{resource: pods, matchContains: [requests.cpu]}]",
            ("{hard: {requests.cpu: 10}}", "{hard: {memory: 10Gi}}"),
            "",
        ),
        ("[{resource: pods, matchContains: [cpu]}]", ("{hard: {memory: 10Gi}}",), "cpu,requests.cpu"),
        ("[{resource: pods, matchContains: [cpu]}]", ("{hard: {requests.cpu: 10}}",), "cpu"),
        ("[{apiGroup: apps, resource: pods, matchContains: [cpu]}]", (), ""),
    ],
)
async def test_limited_resource_needs_a_quota(limited: str, quotas: tuple[str, ...], missing: str) -> None:
    async with cluster_with(limited, *quotas) as cluster:
        if not missing:
            await create_pod(cluster, BIG)
            return
        with pytest.raises(ApiError) as caught:
            await create_pod(cluster, BIG)
        assert caught.value.code == 403
        assert str(caught.value) == f'pods "web" is forbidden: insufficient quota to consume: {missing}'


@pytest.mark.parametrize(
    ("limited", "quotas", "resources", "priority", "why"),
    [
        (scoped(ANY_CLASS), (selecting(ANY_CLASS),), BIG, "fake-priority", ""),
        (
            f"[{{resource: pods, matchScopes: [{ANY_CLASS}], matchContains: [requests.cpu]}}]",
            (selecting(ANY_CLASS),),
            BIG,
            "fake-priority",
            'pods "web" is forbidden: insufficient quota to consume: requests.cpu',
        ),
        (scoped(ANY_CLASS), (), BIG, "fake-priority", NO_CLASS),
        (scoped(EFFORT), (), "{}", "fake-priority", NO_EFFORT),
        (scoped(EFFORT), (OF_EFFORT,), "{}", "fake-priority", ""),
        (scoped(EFFORT, SERVICES), (), SMALL, "fake-priority", ""),
        (scoped(EFFORT, SERVICES), (), "{}", "fake-priority", NO_EFFORT),
        (scoped(EFFORT, SERVICES), (), SMALL, "cluster-services", NO_SERVICES),
        (scoped(EFFORT, SERVICES), (), "{}", "cluster-services", NEITHER),
        (scoped(EFFORT, SERVICES), (OF_EFFORT,), "{}", "cluster-services", NO_SERVICES),
        (scoped(EFFORT, SERVICES), (selecting(SERVICES),), "{}", "cluster-services", NO_EFFORT),
        (scoped(EFFORT, SERVICES), (OF_EFFORT, selecting(SERVICES)), "{}", "cluster-services", ""),
        ("[]", (), BIG, "fake-priority", ""),
        (
            scoped(ANY_CLASS),
            (selecting(ANY_CLASS, "memory: 1Gi"),),
            BIG,
            "fake-priority",
            'pods "web" is forbidden: exceeded quota: quota0, requested: memory=2Gi, used: memory=0, '
            "limited: memory=1Gi",
        ),
        (scoped(SERVICES), (selecting(SERVICES),), BIG, "fake-priority", ""),
        (scoped(EITHER), (selecting(SERVICES),), BIG, "cluster-services", ""),
        (scoped(EITHER), (selecting(ANOTHER),), BIG, "cluster-services", NO_EITHER),
        (scoped(EITHER), (selecting(ANOTHER),), BIG, "another", ""),
        (scoped(EITHER), (), BIG, "cluster-services", NO_EITHER),
        (scoped(EITHER), (selecting(ANY_CLASS),), BIG, "cluster-services", ""),
    ],
)
async def test_limited_scope_needs_a_quota_of_its_own(
    limited: str, quotas: tuple[str, ...], resources: str, priority: str, why: str
) -> None:
    async with cluster_with(limited, *quotas) as cluster:
        if not why:
            await create_pod(cluster, resources, priority)
            return
        with pytest.raises(ApiError) as caught:
            await create_pod(cluster, resources, priority)
        assert (caught.value.code, str(caught.value)) == (403 if "forbidden" in why else 500, why)


CLAIM = """
metadata: {name: data, namespace: default}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: gold
  resources: {requests: {storage: 1Gi}}
"""


async def test_storage_of_classes_needs_a_quota() -> None:
    parts = "[.storageclass.storage.k8s.io/requests.storage]"
    limited = f"[{{resource: persistentvolumeclaims, matchContains: {parts}}}]"
    async with cluster_with(limited) as cluster:
        with pytest.raises(ApiError, match=r"insufficient quota to consume: gold\.storageclass"):
            await cluster.client.create(obj(PersistentVolumeClaim, CLAIM))
        await cluster.client.create(obj(PersistentVolumeClaim, CLAIM.replace("gold", "''")))


async def test_scope_that_matches_covers_though_the_quota_has_others() -> None:
    """A quota that concerns the pod by one of its two scopes covers that one, as in Kubernetes."""
    both = f"{{scopes: [NotBestEffort], scopeSelector: {{matchExpressions: [{ANY_CLASS}]}}}}"
    async with cluster_with(scoped(ANY_CLASS), both) as cluster:
        await create_pod(cluster, "{}", "fake-priority")


async def test_scopes_limit_no_other_kinds() -> None:
    async with cluster_with(scoped(ANY_CLASS, EFFORT)) as cluster:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))


async def test_update_is_refused_only_if_it_uses_more() -> None:
    service = "metadata: {name: web, namespace: default}\nspec: {type: NodePort, ports: [{port: 80}]}"
    async with cluster_with(
        "[{resource: services, matchContains: [nodeports]}]", "{hard: {services.nodeports: 5}}"
    ) as cluster:
        await cluster.client.create(obj(Service, service))
        await cluster.client.delete(ResourceQuota, "quota0", "default")
        await cluster.client.patch(Service, "web", {"metadata": {"labels": {"a": "b"}}}, "default")
        ports = {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}}
        with pytest.raises(ApiError, match=r"insufficient quota to consume: services\.nodeports"):
            await cluster.client.patch(Service, "web", ports, "default")
