"""Pods through admission: the fields that plugins add, and the pods that they refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    LimitRange,
    Namespace,
    Node,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ServiceAccount,
)
from podling.api.meta_v1 import ObjectMeta, StatusCause
from podling.api.node_v1 import RuntimeClass
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.admission.registry import default_plugins
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane, memory_cluster
from tests.support.manifests import PLAIN_POD, merged, obj


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    """A cluster with every plugin, and the account that a controller would make."""
    async with memory_cluster(default_plugins()) as plane:
        await plane.client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
        yield plane


PLAIN = merged(PLAIN_POD, {"spec": {"serviceAccountName": None}})


async def create(cluster: ControlPlane, fragment: str = "") -> Pod:
    pod: Pod = obj(Pod, fragment, PLAIN)
    return await cluster.client.create(pod)


async def refusal(cluster: ControlPlane, fragment: str) -> tuple[int, str]:
    with pytest.raises(ApiError) as caught:
        await create(cluster, fragment)
    return caught.value.code, str(caught.value)


async def test_the_token_comes_in_one_projected_volume(cluster: ControlPlane) -> None:
    pod = await create(cluster)
    assert pod.spec.service_account_name == pod.spec.service_account == "default"
    (volume,) = pod.spec.volumes
    assert volume.name.startswith("kube-api-access-")
    assert len(volume.name) == len("kube-api-access-") + 5
    assert codec.to_plain(volume.projected) == {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
    }
    (mount,) = pod.spec.containers[0].volume_mounts
    assert (mount.name, mount.read_only) == (volume.name, True)
    assert mount.mount_path == "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
async def test_automount_of_the_pod_overrides_the_account(
    cluster: ControlPlane, of_account: bool | None, of_pod: bool | None, mounted: bool
) -> None:
    metadata = ObjectMeta(name="robot", namespace="default")
    account = ServiceAccount(metadata=metadata, automount_service_account_token=of_account)
    await cluster.client.create(account)
    own = "" if of_pod is None else f", automountServiceAccountToken: {str(of_pod).lower()}"
    pod = await create(cluster, f"spec: {{serviceAccountName: robot{own}}}")
    assert bool(pod.spec.volumes) is mounted


async def test_an_account_must_exist(cluster: ControlPlane) -> None:
    assert await refusal(cluster, "spec: {serviceAccountName: ghost}") == (
        403,
        'pods "web" is forbidden: error looking up service account default/ghost: '
        'serviceaccount "ghost" not found',
    )


SECRET = "secretKeyRef: {name: theirs, key: k}"
NOT_LISTED = "is not allowed because service account careful does not reference that"
FOREIGN: list[tuple[str, str]] = [
    (
        "volumes: [{name: v, secret: {secretName: theirs}}]",
        f'volume with secret.secretName="theirs" {NOT_LISTED} secret',
    ),
    (
        f"initContainers: [{{name: i, image: x, env: [{{name: E, valueFrom: {{{SECRET}}}}}]}}]",
        f'init container i with envVar E referencing secret.secretName="theirs" {NOT_LISTED} secret',
    ),
    (
        "containers: [{name: c, image: x, envFrom: [{secretRef: {name: theirs}}]}]",
        f'container c with envFrom referencing secret.secretName="theirs" {NOT_LISTED} secret',
    ),
    (
        "imagePullSecrets: [{name: theirs}]",
        f'imagePullSecrets[0].name="theirs" {NOT_LISTED} imagePullSecret',
    ),
]


async def a_careful_account(cluster: ControlPlane) -> None:
    annotations = "{kubernetes.io/enforce-mountable-secrets: 'true'}"
    named = f"metadata: {{name: careful, namespace: default, annotations: {annotations}}}"
    await cluster.client.create(obj(ServiceAccount, f"{named}\nsecrets: [{{name: own}}]"))


@pytest.mark.parametrize(("fragment", "why"), FOREIGN)
async def test_pods_may_only_use_mountable_secrets(cluster: ControlPlane, fragment: str, why: str) -> None:
    await a_careful_account(cluster)
    found = await refusal(cluster, f"spec: {{serviceAccountName: careful, {fragment}}}")
    assert found == (403, f'pods "web" is forbidden: {why}')
    own = fragment.replace("theirs", "own") if "Pull" not in fragment else "volumes: []"
    await create(cluster, f"spec: {{serviceAccountName: careful, {own}}}")


async def test_ephemeral_containers_may_only_use_mountable_secrets(cluster: ControlPlane) -> None:
    await a_careful_account(cluster)
    pod = await create(cluster, "spec: {serviceAccountName: careful}")
    debugger = "{name: d, image: x, envFrom: [{secretRef: {name: theirs}}]}"
    wanted = obj(Pod, f"spec: {{ephemeralContainers: [{debugger}]}}").spec.ephemeral_containers
    changed = structs.replace(pod, spec=structs.replace(pod.spec, ephemeral_containers=wanted))
    with pytest.raises(ApiError) as caught:
        await cluster.client.update(changed, subresource="ephemeralcontainers")
    assert str(caught.value) == (
        'pods "web" is forbidden: ephemeral container d with envFrom referencing '
        f'secret.secretName="theirs" {NOT_LISTED} secret'
    )


async def test_an_account_lists_secrets_by_their_names(cluster: ControlPlane) -> None:
    text = "metadata: {name: a, namespace: default}\nsecrets: [{name: s, kind: Secret, namespace: other}]"
    made = await cluster.client.create(obj(ServiceAccount, text))
    assert made.secrets == (ObjectReference(name="s"),)
    again = await cluster.client.update(structs.replace(made, secrets=obj(ServiceAccount, text).secrets))
    assert again.secrets == made.secrets


@pytest.mark.parametrize(
    ("thing", "finalizer"),
    [
        (
            obj(
                PersistentVolumeClaim,
                "metadata: {name: c, namespace: default, finalizers: [example.com/own]}\n"
                "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
            ),
            "kubernetes.io/pvc-protection",
        ),
        (
            obj(
                PersistentVolume,
                "metadata: {name: v, finalizers: [example.com/own]}\n"
                "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}}",
            ),
            "kubernetes.io/pv-protection",
        ),
    ],
)
async def test_volumes_and_claims_get_the_protection_finalizer(
    cluster: ControlPlane, thing: Any, finalizer: str
) -> None:
    made = await cluster.client.create(thing)
    assert made.metadata.finalizers == ("example.com/own", finalizer)


async def test_pods_tolerate_unreachable_nodes_for_five_minutes(cluster: ControlPlane) -> None:
    found = [codec.to_plain(each) for each in (await create(cluster)).spec.tolerations]
    assert found == [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]


async def test_tolerations_of_the_pod_are_kept(cluster: ControlPlane) -> None:
    opinion = (
        "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}"
    )
    pod = await create(cluster, f"spec: {{tolerations: [{opinion}]}}")
    assert [(each.key, each.toleration_seconds) for each in pod.spec.tolerations] == [
        ("node.kubernetes.io/unreachable", 5),
        ("node.kubernetes.io/not-ready", 300),
    ]


async def test_priority_comes_from_the_class(cluster: ControlPlane) -> None:
    made = PriorityClass(metadata=ObjectMeta(name="high"), value=1000, preemption_policy="Never")
    await cluster.client.create(made)
    pod = await create(cluster, "spec: {priorityClassName: high}")
    assert (pod.spec.priority, pod.spec.preemption_policy) == (1000, "Never")


async def test_priority_is_zero_without_a_class(cluster: ControlPlane) -> None:
    pod = await create(cluster)
    assert (pod.spec.priority, pod.spec.preemption_policy) == (0, "PreemptLowerPriority")
    assert pod.spec.priority_class_name == ""


async def test_the_default_class_is_for_pods_that_name_none(cluster: ControlPlane) -> None:
    await cluster.client.create(
        PriorityClass(metadata=ObjectMeta(name="usual"), value=7, global_default=True)
    )
    pod = await create(cluster)
    assert (pod.spec.priority, pod.spec.priority_class_name) == (7, "usual")
    second = PriorityClass(metadata=ObjectMeta(name="other"), value=8, global_default=True)
    with pytest.raises(ApiError, match="PriorityClass usual is already marked as default"):
        await cluster.client.create(second)


async def test_an_unknown_class_is_refused(cluster: ControlPlane) -> None:
    assert await refusal(cluster, "spec: {priorityClassName: ghost}") == (
        403,
        'pods "web" is forbidden: no PriorityClass with name ghost was found',
    )


async def test_priority_value_without_its_class_is_refused(cluster: ControlPlane) -> None:
    assert await refusal(cluster, "spec: {priority: 5}") == (
        403,
        'pods "web" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 0 from the given PriorityClass name",
    )


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


async def test_limit_ranges_fill_in_what_containers_leave_out(cluster: ControlPlane) -> None:
    await cluster.client.create(obj(LimitRange, LIMITS))
    pod = await create(cluster)
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
    cluster: ControlPlane, resources: str, message: str
) -> None:
    await cluster.client.create(obj(LimitRange, LIMITS))
    container = f"{{name: main, image: x, resources: {resources}}}"
    found = await refusal(cluster, f"spec: {{containers: [{container}]}}")
    assert found == (403, f'pods "web" is forbidden: {message}')


RUNTIME_CLASS = """
metadata: {name: sandboxed}
handler: gvisor
overhead: {podFixed: {cpu: 250m}}
scheduling: {nodeSelector: {sandbox: "yes"}, tolerations: [{key: sandbox, operator: Exists}]}
"""


async def test_a_runtime_class_brings_overhead_and_steers(cluster: ControlPlane) -> None:
    await cluster.client.create(obj(RuntimeClass, RUNTIME_CLASS))
    pod = await create(cluster, "spec: {runtimeClassName: sandboxed}")
    assert pod.spec.overhead == {"cpu": "250m"}
    assert pod.spec.node_selector == {"sandbox": "yes"}
    assert "sandbox" in [each.key for each in pod.spec.tolerations]


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("spec: {runtimeClassName: ghost}", 'pod rejected: RuntimeClass "ghost" not found'),
        (
            "spec: {runtimeClassName: sandboxed, overhead: {cpu: 1}}",
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            "spec: {overhead: {cpu: 1}}",
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            'spec: {runtimeClassName: sandboxed, nodeSelector: {sandbox: "no"}}',
            "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; "
            "pod.spec.nodeSelector[sandbox] = no",
        ),
    ],
)
async def test_runtime_class_conflicts(cluster: ControlPlane, fragment: str, message: str) -> None:
    await cluster.client.create(obj(RuntimeClass, RUNTIME_CLASS))
    assert await refusal(cluster, fragment) == (403, f'pods "web" is forbidden: {message}')


async def test_a_namespace_must_exist(cluster: ControlPlane) -> None:
    assert await refusal(cluster, "metadata: {namespace: ghost}") == (404, 'namespaces "ghost" not found')


async def test_terminating_namespace_takes_no_new_objects(cluster: ControlPlane) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    await cluster.client.delete(Namespace, "team")
    with pytest.raises(ApiError) as caught:
        await create(cluster, "metadata: {namespace: team}")
    assert str(caught.value) == (
        'pods "web" is forbidden: unable to create new content in namespace team because it is being '
        "terminated"
    )
    assert caught.value.status.details is not None
    (cause,) = caught.value.status.details.causes
    assert (cause.reason, cause.message, cause.field_) == (
        "NamespaceTerminating",
        "namespace team is being terminated",
        "metadata.namespace",
    )


async def test_system_namespaces_cannot_be_deleted(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError, match='namespaces "kube-system" is forbidden: this namespace may not be'):
        await cluster.client.delete(Namespace, "kube-system")


async def test_a_new_node_takes_no_pods_yet(cluster: ControlPlane) -> None:
    node = await cluster.client.create(Node(metadata=ObjectMeta(name="n1")))
    assert [(each.key, each.effect) for each in node.spec.taints] == [
        ("node.kubernetes.io/not-ready", "NoSchedule")
    ]


async def test_mirror_pod_may_not_use_a_service_account(cluster: ControlPlane) -> None:
    mirror = "metadata: {annotations: {kubernetes.io/config.mirror: x}}\nspec: {nodeName: n1"
    pod = await create(cluster, mirror + "}")
    assert (pod.spec.volumes, pod.spec.service_account_name) == ((), "")
    code, message = await refusal(cluster, f"{mirror}, serviceAccountName: default}}".replace("web", "two"))
    assert (code, message) == (
        403,
        'pods "web" is forbidden: a mirror pod may not reference service accounts',
    )


NODE = """
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}
status: {allocatable: {cpu: "4", memory: 4Gi}}
"""


async def bound(cluster: ControlPlane) -> Any:
    from podling.api.core_v1 import Binding, ObjectReference

    await cluster.client.create(obj(Node, NODE))
    await create(cluster, "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}")
    target = Binding(metadata=ObjectMeta(name="web"), target=ObjectReference(kind="Node", name="n1"))
    await cluster.client.create_subresource(Pod, "web", "binding", target, "default")
    return await cluster.client.get(Pod, "web", "default")


async def test_a_bound_pod_carries_its_nodes_zone(cluster: ControlPlane) -> None:
    pod = await bound(cluster)
    assert pod.spec.node_name == "n1"
    assert pod.metadata.labels == {"topology.kubernetes.io/zone": "z1"}
    assert [(each.type, each.status) for each in pod.status.conditions] == [("PodScheduled", "True")]


def resized(**requests: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}}


async def test_a_resize_beyond_the_node_is_refused_at_once(cluster: ControlPlane) -> None:
    await bound(cluster)
    with pytest.raises(ApiError) as caught:
        await cluster.client.patch(Pod, "web", resized(cpu="8"), "default", subresource="resize")
    assert str(caught.value) == (
        'pods "web" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 8000, '
        "allocatable: 4000"
    )
    assert caught.value.status.details is not None
    assert caught.value.status.details.causes == (StatusCause(reason="NodeCapacity"),)


async def test_resize_refusal_lists_every_exceeded_resource(cluster: ControlPlane) -> None:
    await bound(cluster)
    with pytest.raises(ApiError) as caught:
        await cluster.client.patch(
            Pod, "web", resized(cpu="8", memory="1Ti"), "default", subresource="resize"
        )
    assert str(caught.value) == (
        'pods "web" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 8000, '
        "allocatable: 4000; memory, requested: 1099511627776, allocatable: 4294967296"
    )


async def test_only_linux_nodes_resize(cluster: ControlPlane) -> None:
    await bound(cluster)
    labels = {"metadata": {"labels": {"kubernetes.io/os": "windows"}}}
    await cluster.client.patch(Node, "n1", labels)
    with pytest.raises(ApiError) as caught:
        await cluster.client.patch(Pod, "web", resized(cpu="2"), "default", subresource="resize")
    assert str(caught.value) == (
        'pods "web" is forbidden: pod resize is only supported on linux nodes, node "n1" is "windows"'
    )
    assert caught.value.status.details is not None
    assert caught.value.status.details.causes == (StatusCause(reason="UnsupportedPlatform"),)


async def test_a_resize_needs_the_node_of_the_pod(cluster: ControlPlane) -> None:
    await bound(cluster)
    await cluster.client.delete(Node, "n1")
    with pytest.raises(ApiError, match='pods "web" is forbidden: node "n1" not found'):
        await cluster.client.patch(Pod, "web", resized(cpu="2"), "default", subresource="resize")
