"""Defaulting runs before admission and not again: plugins set the defaults of the fields that they add."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import LimitRange, Node, PersistentVolumeClaim, Pod, Service, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.api.networking_v1 import Ingress, IngressClass
from podling.api.node_v1 import RuntimeClass
from podling.api.storage_v1 import StorageClass
from podling.apiserver.admission.registry import default_plugins
from podling.testing import memory_cluster
from tests.support.manifests import obj, rules

DEFAULT = "metadata: {{name: default-one, annotations: {{{0}: 'true'}}}}"
PRESENT = (
    (
        LimitRange,
        "{metadata: {name: l, namespace: default}, spec: {limits: [{type: Container, max: {cpu: 1}}]}}",
    ),
    (
        RuntimeClass,
        "{metadata: {name: fast}, handler: runc, overhead: {podFixed: {cpu: 10m}}, "
        "scheduling: {nodeSelector: {a: b}, tolerations: [{key: k}]}}",
    ),
    (StorageClass, DEFAULT.format("storageclass.kubernetes.io/is-default-class") + "\nprovisioner: x/y"),
    (
        IngressClass,
        DEFAULT.format("ingressclass.kubernetes.io/is-default-class") + "\nspec: {controller: x/y}",
    ),
)
GIVEN = {
    "a pod with everything that plugins add": (
        Pod,
        "spec: {runtimeClassName: fast, containers: [{name: c, image: i}], "
        "initContainers: [{name: d, image: i}]}",
    ),
    "an address": (Service, "spec: {ports: [{port: 80}]}"),
    "node ports": (Service, "spec: {type: LoadBalancer, externalTrafficPolicy: Local, ports: [{port: 80}]}"),
    "no address": (Service, "spec: {clusterIP: None, ports: [{port: 80}]}"),
    "a class of storage": (
        PersistentVolumeClaim,
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    ),
    "a class of ingresses": (Ingress, "spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}"),
    "a taint": (Node, "spec: {}"),
}


@pytest.mark.parametrize("given", GIVEN)
async def test_nothing_is_left_to_fill_in(given: str) -> None:
    kind, text = GIVEN[given]
    async with memory_cluster(default_plugins()) as plane:
        await plane.client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
        for other, written in PRESENT:
            await plane.client.create(obj(other, written))
        namespace = None if kind is Node else "default"
        asked = obj(kind, text, {"metadata": {"name": "x", "namespace": namespace}})
        made: Any = await plane.client.create(asked)
    assert made.spec != rules(kind).default(asked).spec, "some plugin has something to add"
    assert rules(kind).default(made) == made
