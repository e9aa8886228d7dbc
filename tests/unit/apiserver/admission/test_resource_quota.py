"""ResourceQuotas: requests that fit, requests that exceed, and fields that must be specified."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import ConfigMap, Event, PersistentVolumeClaim, Pod, ResourceQuota, Service
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.server import ApiServer
from podling.machinery.errors import ApiError
from podling.store.base import Encode, Entry
from podling.store.memory import MemoryStore
from podling.testing import ControlPlane
from tests.support.manifests import PLAIN_POD, obj


class SlowStore(MemoryStore):
    """Commits take their time, as on a disk, so that what comes at once overlaps."""

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        await clock.sleep(0.01)
        return await super().put(key, encode, expect=expect, memo=memo)


async def limit(cluster: ControlPlane, hard: str, more: str = "") -> None:
    text = f"metadata: {{name: quota, namespace: default}}\nspec: {{hard: {{{hard}}}{more}}}"
    await cluster.client.create(obj(ResourceQuota, text))


async def pod(cluster: ControlPlane, name: str, resources: str = "{}", more: str = "") -> Pod:
    container = f"{{name: main, image: x, resources: {resources}}}"
    text = f"metadata: {{name: {name}}}\nspec: {{containers: [{container}]{more}}}"
    made: Pod = await cluster.client.create(obj(Pod, text, PLAIN_POD))
    return made


async def test_number_of_pods_is_limited(cluster: ControlPlane) -> None:
    await limit(cluster, "pods: 1")
    await pod(cluster, "one")
    with pytest.raises(ApiError) as caught:
        await pod(cluster, "two")
    assert caught.value.code == 403
    assert str(caught.value) == (
        'pods "two" is forbidden: exceeded quota: quota, requested: pods=1, used: pods=1, limited: pods=1'
    )


@pytest.mark.parametrize(
    ("policy", "cpu", "memory"), [("", "2", "2Gi"), (", restartPolicy: Always", "2500m", "2560Mi")]
)
async def test_init_containers_count_as_in_the_requests_of_the_pod(
    cluster: ControlPlane, policy: str, cpu: str, memory: str
) -> None:
    """The largest init container counts alone, a sidecar beside the app."""
    await limit(cluster, "requests.cpu: 1, limits.memory: 1Gi")
    setup = f"{{name: setup, image: x, resources: {{requests: {{cpu: 2}}, limits: {{memory: 2Gi}}}}{policy}}}"
    own = "{requests: {cpu: 500m}, limits: {memory: 512Mi}}"
    with pytest.raises(ApiError) as caught:
        await pod(cluster, "one", own, f", initContainers: [{setup}]")
    assert f"requested: limits.memory={memory},requests.cpu={cpu}" in str(caught.value)


async def test_pods_that_come_at_the_same_time_are_counted_together() -> None:
    store = SlowStore()
    api = ApiServer(store, plugins_without_controllers())
    await api.start()
    client = api.client()
    try:
        quota = "metadata: {name: two, namespace: default}\nspec: {hard: {pods: 2}}"
        await client.create(obj(ResourceQuota, quota))
        wanted = [obj(Pod, f"metadata: {{name: p{number}}}", PLAIN_POD) for number in range(4)]
        made = await asyncio.gather(*map(client.create, wanted), return_exceptions=True)
        why = "exceeded quota: two, requested: pods=1, used: pods=2, limited: pods=2"
        refused = sorted(str(error) for error in made if isinstance(error, ApiError))
        assert refused == [f'pods "p{number}" is forbidden: {why}' for number in (2, 3)]
        await client.delete(Pod, "p0", "default")
        assert (await client.create(wanted[2])).metadata.uid, "nothing is held for what is stored or refused"
    finally:
        await api.stop()
        await store.close()


async def test_finished_pod_does_not_count(cluster: ControlPlane) -> None:
    await limit(cluster, "pods: 1")
    await pod(cluster, "one")
    done = {"status": {"phase": "Succeeded"}}
    await cluster.client.patch(Pod, "one", done, "default", subresource="status")
    await pod(cluster, "two")


async def test_requests_and_limits_add_up(cluster: ControlPlane) -> None:
    await limit(cluster, "requests.cpu: 1, limits.memory: 1Gi")
    await pod(cluster, "one", "{requests: {cpu: 600m}, limits: {memory: 512Mi}}")
    with pytest.raises(ApiError) as caught:
        await pod(cluster, "two", "{requests: {cpu: 600m}, limits: {memory: 512Mi}}")
    assert str(caught.value) == (
        'pods "two" is forbidden: exceeded quota: quota, requested: requests.cpu=600m, '
        "used: requests.cpu=600m, limited: requests.cpu=1"
    )


async def test_limited_resources_must_be_specified(cluster: ControlPlane) -> None:
    await limit(cluster, "limits.cpu: 1, requests.memory: 1Gi")
    with pytest.raises(ApiError) as caught:
        await pod(cluster, "one")
    assert str(caught.value) == (
        'pods "one" is forbidden: failed quota: quota: must specify limits.cpu for: main; requests.memory '
        "for: main"
    )


async def test_missing_resources_are_reported_before_limits_of_other_quotas(cluster: ControlPlane) -> None:
    await limit(cluster, "pods: 0")
    text = "metadata: {name: strict, namespace: default}\nspec: {hard: {limits.cpu: 1}}"
    await cluster.client.create(obj(ResourceQuota, text))
    with pytest.raises(ApiError, match=r"failed quota: strict: must specify limits.cpu for: main"):
        await pod(cluster, "one")


async def test_scopes_choose_the_pods(cluster: ControlPlane) -> None:
    await limit(cluster, "pods: 0", ", scopes: [BestEffort]")
    await pod(cluster, "one", "{requests: {cpu: 1}}")
    with pytest.raises(ApiError, match="exceeded quota: quota"):
        await pod(cluster, "two")


async def test_other_kinds_are_counted_too(cluster: ControlPlane) -> None:
    await limit(cluster, "count/configmaps: 1, services.nodeports: 1")
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="one", namespace="default")))
    with pytest.raises(ApiError, match="requested: count/configmaps=1"):
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="two", namespace="default")))
    ports = "[{port: 80, name: a}, {port: 81, name: b}]"
    service = f"metadata: {{name: s, namespace: default}}\nspec: {{type: NodePort, ports: {ports}}}"
    with pytest.raises(ApiError, match=r"requested: services.nodeports=2, used: services.nodeports=0"):
        await cluster.client.create(obj(Service, service))


async def test_deadline_brings_a_pod_under_quotas_of_terminating_pods(cluster: ControlPlane) -> None:
    """Other updates of pods are not counted."""
    await limit(cluster, "pods: 1", ", scopes: [Terminating]")
    await pod(cluster, "one", more=", activeDeadlineSeconds: 60")
    await pod(cluster, "two")
    with pytest.raises(ApiError, match="exceeded quota: quota, requested: pods=1, used: pods=1"):
        await cluster.client.patch(Pod, "two", {"spec": {"activeDeadlineSeconds": 60}}, "default")
    await cluster.client.patch(Pod, "one", {"spec": {"activeDeadlineSeconds": 30}}, "default")
    await cluster.client.patch(Pod, "two", {"metadata": {"labels": {"a": "b"}}}, "default")


async def test_a_resize_counts_what_it_adds(cluster: ControlPlane) -> None:
    await limit(cluster, "requests.cpu: 1")
    await pod(cluster, "one", "{requests: {cpu: 600m}}")

    async def resize(cpu: str) -> None:
        container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
        wanted = {"spec": {"containers": [container]}}
        await cluster.client.patch(Pod, "one", wanted, "default", subresource="resize")

    await resize("900m")
    with pytest.raises(ApiError, match=r"requested: requests.cpu=200m, used: requests.cpu=900m"):
        await resize("1100m")


CLAIM = """
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
"""


async def test_claims_are_counted_by_their_class_of_attributes(cluster: ControlPlane) -> None:
    scope = "{scopeName: VolumeAttributesClass, operator: In, values: [gold]}"
    more = f", scopeSelector: {{matchExpressions: [{scope}]}}"
    await limit(cluster, "persistentvolumeclaims: 0", more)
    await cluster.client.create(obj(PersistentVolumeClaim, CLAIM))
    gold = CLAIM.replace("name: data", "name: gold").replace(
        "spec: {", "spec: {volumeAttributesClassName: gold, "
    )
    with pytest.raises(ApiError) as caught:
        await cluster.client.create(obj(PersistentVolumeClaim, gold))
    assert "requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0" in str(caught.value)


async def test_the_old_annotation_names_a_claims_class_too(cluster: ControlPlane) -> None:
    await limit(cluster, "gold.storageclass.storage.k8s.io/persistentvolumeclaims: 0")
    annotated = "name: data, annotations: {volume.beta.kubernetes.io/storage-class: gold}"
    with pytest.raises(
        ApiError, match=r"requested: gold.storageclass.storage.k8s.io/persistentvolumeclaims=1"
    ):
        await cluster.client.create(obj(PersistentVolumeClaim, CLAIM.replace("name: data", annotated)))


async def test_events_are_counted_for_nothing(cluster: ControlPlane) -> None:
    await limit(cluster, "count/events: 0, count/events.events.k8s.io: 0")
    event = (
        "metadata: {name: e, namespace: default}\ninvolvedObject: {kind: Pod, name: p, namespace: default}"
    )
    await cluster.client.create(obj(Event, event))


async def test_requested_node_ports_count_without_allocation(cluster: ControlPlane) -> None:
    await limit(cluster, "services.nodeports: 0")
    ports = "[{port: 80, name: a}, {port: 81, name: b, nodePort: 30123}]"
    spec = f"{{type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: {ports}}}"
    service = f"metadata: {{name: s, namespace: default}}\nspec: {spec}"
    with pytest.raises(ApiError, match=r"requested: services.nodeports=1, used: services.nodeports=0"):
        await cluster.client.create(obj(Service, service))


async def test_quota_that_is_exceeded_already_refuses_only_more_of_the_same(cluster: ControlPlane) -> None:
    """Case of TestAdmitWhenUnrelatedResourceExceedsQuota."""
    for name in ("a", "b"):
        await pod(cluster, name, "{requests: {cpu: 1}}")
    await limit(cluster, "pods: 5, count/configmaps: 9, requests.cpu: 1")
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="one", namespace="default")))
    await pod(cluster, "c", "{requests: {cpu: 0}}")
    with pytest.raises(ApiError, match=r"requested: requests.cpu=1m, used: requests.cpu=2, limited: "):
        await pod(cluster, "d", "{requests: {cpu: 1m}}")


async def test_changed_service_counts_what_it_adds(cluster: ControlPlane) -> None:
    """Cases of TestAdmitHandlesOldObjects: what becomes less is no matter."""
    await limit(cluster, "services: 2, services.loadbalancers: 1, services.nodeports: 1")
    text = "metadata: {name: s, namespace: default}\nspec: {type: LoadBalancer, ports: [{port: 80, name: a}]}"
    await cluster.client.create(obj(Service, text))

    async def change(**spec: Any) -> None:
        await cluster.client.patch(Service, "s", {"spec": spec}, "default")

    await change(type="NodePort")
    await change(type="LoadBalancer")
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
    with pytest.raises(ApiError, match=r"requested: services.nodeports=1, used: services.nodeports=1, "):
        await change(ports=ports)
    await change(type="ClusterIP", ports=ports)
    with pytest.raises(ApiError, match=r"requested: services.nodeports=2, used: services.nodeports=0, "):
        await change(type="NodePort")


async def test_claim_that_grows_counts_what_it_adds(cluster: ControlPlane) -> None:
    """Case of TestAdmitHandlesPVCUpdates."""
    await limit(cluster, "persistentvolumeclaims: 1, requests.storage: 10Gi")
    grown = "metadata: {name: fast}\nprovisioner: disks.example.com\nallowVolumeExpansion: true"
    await cluster.client.create(obj(StorageClass, grown))
    await cluster.client.create(
        obj(PersistentVolumeClaim, CLAIM.replace("spec: {", "spec: {storageClassName: fast, volumeName: v, "))
    )
    bound = {"status": {"phase": "Bound", "capacity": {"storage": "5Gi"}}}
    await cluster.client.patch(PersistentVolumeClaim, "data", bound, "default", subresource="status")

    async def grow(size: str) -> None:
        spec = {"resources": {"requests": {"storage": size}}}
        await cluster.client.patch(PersistentVolumeClaim, "data", {"spec": spec}, "default")

    with pytest.raises(
        ApiError, match=r"requested: requests.storage=10Gi, used: requests.storage=5Gi, limited"
    ):
        await grow("15Gi")
    await grow("10Gi")
