"""LimitRanges: defaults and limits of containers, whole pods, and claims."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    LimitRange,
    PersistentVolumeClaim,
    Pod,
)
from podling.api.node_v1 import RuntimeClass
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod, refusal_of_pod
from tests.support.manifests import obj

CLAIM = """
metadata: {name: data, namespace: default, finalizers: [example.com/wait]}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
"""
PODS = """
metadata: {name: web, namespace: default}
spec:
  containers:
  - {name: a, image: x, resources: {limits: {cpu: 2}}}
  - {name: b, image: x, resources: {limits: {cpu: 2}}}
"""


async def limit(cluster: ControlPlane, item: str) -> None:
    text = f"metadata: {{name: l, namespace: default}}\nspec: {{limits: [{item}]}}"
    await cluster.client.create(obj(LimitRange, text))


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("max: {storage: 1Gi}", "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 5Gi"),
        ("min: {storage: 9Gi}", "minimum storage usage per PersistentVolumeClaim is 9Gi, but request is 5Gi"),
        (
            "max: {storage: 9Gi, example.com/x: 1}",
            "maximum example.com/x usage per PersistentVolumeClaim is 1.  No request is specified",
        ),
    ],
)
async def test_claims_outside_the_limits_are_refused(cluster: ControlPlane, item: str, why: str) -> None:
    await limit(cluster, f"{{type: PersistentVolumeClaim, {item}}}")
    with pytest.raises(ApiError) as caught:
        await cluster.client.create(obj(PersistentVolumeClaim, CLAIM))
    assert str(caught.value) == f'persistentvolumeclaims "data" is forbidden: {why}'


async def test_claim_that_is_being_deleted_is_not_checked(cluster: ControlPlane) -> None:
    """Otherwise a limit that came after it would keep its finalizer forever."""
    await cluster.client.create(obj(PersistentVolumeClaim, CLAIM))
    await limit(cluster, "{type: PersistentVolumeClaim, max: {storage: 1Gi}}")
    free = {"metadata": {"finalizers": None}}
    with pytest.raises(ApiError, match="but request is 5Gi"):
        await cluster.client.patch(PersistentVolumeClaim, "data", free, "default")
    await cluster.client.delete(PersistentVolumeClaim, "data", "default")
    await cluster.client.patch(PersistentVolumeClaim, "data", free, "default")
    assert not (await cluster.client.list(PersistentVolumeClaim, "default")).items


async def test_same_violation_of_several_containers_is_reported_once(cluster: ControlPlane) -> None:
    await limit(cluster, "{type: Container, max: {cpu: 1}}")
    with pytest.raises(ApiError) as caught:
        await cluster.client.create(obj(Pod, PODS))
    assert str(caught.value) == (
        'pods "web" is forbidden: maximum cpu usage per Container is 1, but limit is 2'
    )


async def test_overhead_does_not_count_against_pod_limits(cluster: ControlPlane) -> None:
    runtime = "metadata: {name: vm}\nhandler: vm\noverhead: {podFixed: {cpu: 8}}"
    await cluster.client.create(obj(RuntimeClass, runtime))
    await limit(cluster, "{type: Pod, max: {cpu: 4}}")
    made = await cluster.client.create(obj(Pod, PODS.replace("spec:", "spec:\n  runtimeClassName: vm")))
    assert made.spec.overhead == {"cpu": "8"}


LIMITS = """
metadata: {name: limits, namespace: default}
spec:
  limits:
  - type: Container
    default: {cpu: 500m}
    defaultRequest: {cpu: 100m}
    min: {cpu: 50m}
    max: {cpu: "1", memory: 1Gi}
"""


async def test_limit_ranges_fill_in_what_containers_leave_out(full_cluster: ControlPlane) -> None:
    await full_cluster.client.create(obj(LimitRange, LIMITS))
    pod = await create_pod(full_cluster)
    resources = pod.spec.containers[0].resources
    assert resources.limits == {"cpu": "500m", "memory": "1Gi"}
    assert resources.requests == {"cpu": "100m", "memory": "1Gi"}
    assert pod.metadata.annotations == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container main; "
        "cpu, memory limit for container main"
    }


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        (
            "{requests: {cpu: 10m}}",
            "minimum cpu usage per Container is 50m, but request is 10m",
        ),
        ("{limits: {cpu: 2}}", "maximum cpu usage per Container is 1, but limit is 2"),
    ],
)
async def test_limit_ranges_refuse_values_outside_the_limits(
    full_cluster: ControlPlane, resources: str, message: str
) -> None:
    await full_cluster.client.create(obj(LimitRange, LIMITS))
    container = f"{{name: main, image: x, resources: {resources}}}"
    found = await refusal_of_pod(full_cluster, f"spec: {{containers: [{container}]}}")
    assert found == (403, f'pods "web" is forbidden: {message}')
