"""Claims, volumes, limits, quotas, budgets, autoscalers, endpoints, ingresses, leases and priorities."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import (
    Endpoints,
    LimitRange,
    PersistentVolume,
    PersistentVolumeClaim,
    ResourceQuota,
    ServiceAccount,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.networking_v1 import Ingress, NetworkPolicy
from podling.api.policy_v1 import PodDisruptionBudget
from podling.api.scheduling_v1 import PriorityClass
from podling.api.storage_v1 import StorageClass
from podling.apiserver.kinds.common.base import Context
from podling.machinery import names
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, forbidden, invalid, required, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

META = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"
CLAIM = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"
VOLUME = "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}"
(BAD_KEY,) = names.qualified_name_errors("a b")
RULE = "spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: "

CAUSES: list[KindRow] = [
    (PersistentVolumeClaim, f"{CLAIM}}}", []),
    (
        PersistentVolumeClaim,
        "spec: {}",
        [
            required("spec.accessModes", "at least 1 access mode is required"),
            required("spec.resources[storage]"),
        ],
    ),
    (
        PersistentVolumeClaim,
        f"{CLAIM}, volumeMode: Tape}}",
        [unsupported("spec.volumeMode", "Tape", "Block", "Filesystem")],
    ),
    (PersistentVolume, f"{VOLUME}, hostPath: {{path: /data}}}}", []),
    (PersistentVolume, f"{VOLUME}}}", [required("spec", "must specify a volume type")]),
    (
        PersistentVolume,
        f"{VOLUME}, hostPath: {{path: /data}}, nfs: {{server: s, path: /p}}}}",
        [forbidden("spec.nfs", "may not specify more than 1 volume type")],
    ),
    (StorageClass, "provisioner: example.com/disk", []),
    (StorageClass, "", [required("provisioner")]),
    (
        LimitRange,
        "spec: {limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]}",
        [
            invalid("spec.limits[0].min[cpu]", '"2"', "min value 2 is greater than max value 1"),
            invalid(
                "spec.limits[0].defaultRequest[cpu]",
                '"1"',
                "min value 2 is greater than default request value 1",
            ),
            invalid("spec.limits[0].default[cpu]", '"2"', "min value 2 is greater than default value 1"),
        ],
    ),
    (
        LimitRange,
        "spec: {limits: [{type: 'a b', max: {cpu: 1}}, {type: Volume, max: {cpu: 1}}]}",
        [
            invalid("spec.limits[0].type", '"a b"', BAD_KEY),
            invalid("spec.limits[1].type", '"Volume"', "must be a standard limit type or fully qualified"),
        ],
    ),
    (
        LimitRange,
        "spec: {limits: [{type: PersistentVolumeClaim, maxLimitRequestRatio: {bytes: 1}}]}",
        [
            required(
                "spec.limits[0].limits",
                "either minimum or maximum storage value is required, but neither was provided",
            ),
            invalid(
                "spec.limits[0].maxLimitRequestRatio[bytes]",
                '"bytes"',
                "must be a standard resource type or fully qualified",
            ),
        ],
    ),
    (
        LimitRange,
        "spec: {limits: [{type: Pod, max: {cpu: 1}, default: {cpu: 2}}]}",
        [forbidden("spec.limits[0].default", "may not be specified when `type` is 'Pod'")],
    ),
    (ResourceQuota, "spec: {hard: {pods: 3, requests.cpu: 2, count/jobs.batch: 1}}", []),
    (
        ResourceQuota,
        "spec: {hard: {storage: 1Gi}}",
        [invalid("spec.hard[storage]", '"storage"', "must be a standard resource for quota")],
    ),
    (
        ResourceQuota,
        "spec: {hard: {pods: 1}, scopes: [BestEffort, NotBestEffort]}",
        [invalid("spec.scopes", '["BestEffort","NotBestEffort"]', "conflicting scopes")],
    ),
    (PodDisruptionBudget, "spec: {minAvailable: 50%}", []),
    (
        PodDisruptionBudget,
        "spec: {minAvailable: 1, maxUnavailable: 1}",
        [
            invalid(
                "spec",
                '{"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}',
                "minAvailable and maxUnavailable cannot be both set",
            )
        ],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
        "minReplicas: 3, maxReplicas: 2}",
        [invalid("spec.maxReplicas", "2", "must be greater than or equal to `minReplicas`")],
    ),
    (
        Endpoints,
        "subsets: [{addresses: [{ip: nowhere}], ports: [{port: 0}]}]",
        [
            invalid(
                "subsets[0].addresses[0].ip",
                '"nowhere"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
            invalid("subsets[0].addresses[0].ip", '"nowhere"', "must be a valid IP address"),
            invalid("subsets[0].ports[0].port", "0", "must be between 1 and 65535, inclusive"),
        ],
    ),
    (
        EndpointSlice,
        "addressType: IPv6\nendpoints: [{addresses: [10.0.0.1]}]",
        [invalid("endpoints[0].addresses[0]", '"10.0.0.1"', "must be an IPv6 address")],
    ),
    (Ingress, f"{RULE}{{service: {{name: web, port: {{number: 80}}}}}}}}]}}}}]}}", []),
    (
        Ingress,
        f"{RULE}{{service: {{name: web}}}}}}]}}}}]}}",
        [required("spec.rules[0].http.paths[0].backend", "port name or number is required")],
    ),
    (
        NetworkPolicy,
        "spec: {ingress: [{from: [{}]}]}",
        [required("spec.ingress[0].from[0]", "must specify a peer")],
    ),
    (
        Lease,
        "spec: {leaseDurationSeconds: 0}",
        [invalid("spec.leaseDurationSeconds", "0", "must be greater than 0")],
    ),
    (
        PriorityClass,
        "value: 1000000001",
        [forbidden("value", "maximum allowed value of a user defined priority is 1000000000")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CAUSES)
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{META}\n{text}"))) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "field"),
    [
        (PriorityClass, "value: 1", "value: 2", "value"),
        (StorageClass, "provisioner: example.com/a", "provisioner: example.com/b", "provisioner"),
        (
            PersistentVolumeClaim,
            f"{CLAIM}}}",
            CLAIM.replace("ReadWriteOnce", "ReadWriteMany") + "}",
            "spec",
        ),
    ],
)
def test_what_may_not_change(kind: type[Any], before: str, after: str, field: str) -> None:
    old = created(obj(kind, f"{META}\n{before}"))
    found = change_causes(obj(kind, f"{META}\n{after}"), old)
    assert [(cause[0], cause[1]) for cause in found] == [(field, "FieldValueForbidden")]


def test_limit_range_without_name_is_named_by_its_uid() -> None:
    made = created(obj(LimitRange, "metadata: {uid: 5b3a}\nspec: {limits: []}"))
    assert made.metadata.name == made.metadata.uid


def test_a_limit_is_also_the_default_request() -> None:
    text = "spec: {limits: [{type: Container, max: {cpu: 2}, default: {memory: 1Gi}, min: {memory: 1Mi}}]}"
    (item,) = created(obj(LimitRange, text)).spec.limits
    assert item.default == {"cpu": "2", "memory": "1Gi"}
    assert item.default_request == {"cpu": "2", "memory": "1Gi"}


def test_an_autoscaler_watches_the_cpu_by_default() -> None:
    text = "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3}"
    spec = codec.to_plain(created(obj(HorizontalPodAutoscaler, text)).spec)
    assert spec["minReplicas"] == 1
    assert spec["metrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        }
    ]


def test_a_slices_generation_counts_its_content() -> None:
    old = created(obj(EndpointSlice, f"{META}\naddressType: IPv4"))
    assert old.metadata.generation == 1
    own, context = rules(EndpointSlice), Context(NOW)
    assert own.prepare_update(old, old, context).metadata.generation == 1
    changed = own.default(obj(EndpointSlice, f"{META}\naddressType: IPv4\nports: [{{port: 80}}]"))
    assert own.prepare_update(changed, old, context).metadata.generation == 2
    labelled = own.default(obj(EndpointSlice, f"{META}\naddressType: IPv4\nmetadata: {{labels: {{a: b}}}}"))
    assert own.prepare_update(labelled, old, context).metadata.generation == 2


def test_the_topology_of_an_endpoint_cannot_be_written() -> None:
    def with_topology(address: str) -> EndpointSlice:
        points = f"endpoints: [{{addresses: [{address}], deprecatedTopology: {{a: b}}}}]"
        made: EndpointSlice = obj(EndpointSlice, f"{META}\naddressType: IPv4\n{points}")
        return made

    made = created(with_topology("10.0.0.1"))
    assert made.endpoints[0].deprecated_topology == {}
    stored, own, context = with_topology("10.0.0.1"), rules(EndpointSlice), Context(NOW)
    assert own.prepare_update(stored, stored, context).endpoints[0].deprecated_topology == {"a": "b"}
    changed = with_topology("10.0.0.2")
    assert own.prepare_update(changed, stored, context).endpoints[0].deprecated_topology == {}


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        PersistentVolumeClaim,
        "spec: {volumeName: v1, storageClassName: fast, volumeMode: Filesystem}\n"
        "status: {phase: Bound, accessModes: [ReadWriteOnce, ReadOnlyMany], capacity: {storage: 1Gi}}",
        ["x", "Bound", "v1", "1Gi", "RWO,ROX", "fast", "<unset>", "5m", "Filesystem"],
    ),
    (
        PersistentVolume,
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], "
        "persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: n, name: c}}\nstatus: {phase: Bound}",
        ["x", "1Gi", "RWX", "Retain", "Bound", "n/c", "", "<unset>", "", "5m", "<unset>"],
    ),
    (
        StorageClass,
        "provisioner: example.com/a\nreclaimPolicy: Delete\nvolumeBindingMode: Immediate",
        ["x", "example.com/a", "Delete", "Immediate", False, "5m"],
    ),
    (
        ResourceQuota,
        "status: {hard: {pods: 3, limits.cpu: 2}, used: {pods: 1}}",
        ["x", "pods: 1/3", "limits.cpu: 0/2", "5m"],
    ),
    (
        PodDisruptionBudget,
        "spec: {minAvailable: 50%}\nstatus: {disruptionsAllowed: 1}",
        ["x", "50%", "N/A", 1, "5m"],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
        "minReplicas: 1, maxReplicas: 3, metrics: "
        "[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}",
        ["x", "Deployment/web", "cpu: <unknown>/80%", "1", 3, 0, "5m"],
    ),
    (
        Endpoints,
        "subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{port: 80}, {port: 81}]}]",
        ["x", "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...", "5m"],
    ),
    (Endpoints, "subsets: [{notReadyAddresses: [{ip: 10.0.0.1}]}]", ["x", "", "5m"]),
    (Endpoints, "", ["x", "<none>", "5m"]),
    (
        EndpointSlice,
        "addressType: IPv4\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1]}]",
        ["x", "IPv4", "80", "10.0.0.1", "5m"],
    ),
    (
        Ingress,
        "spec: {ingressClassName: nginx, rules: [{host: a.example.com}], tls: [{}]}\n"
        "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}",
        ["x", "nginx", "a.example.com", "1.2.3.4", "80, 443", "5m"],
    ),
    (Lease, "spec: {holderIdentity: me}", ["x", "me", "5m"]),
    (PriorityClass, "value: 7\npreemptionPolicy: Never", ["x", 7, False, "5m", "Never"]),
    (ServiceAccount, "secrets: [{name: s}]", ["x", 1, "5m"]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_rows(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{META}\n{text}"), NOW)) == expected
