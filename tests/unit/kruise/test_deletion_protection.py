"""Protection from deletion, through the API server."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Namespace, PersistentVolumeClaim, Pod, Service
from podling.api.networking_v1 import Ingress
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.names import CRD_CASCADING, DELETION_PROTECTION, DELETION_PROTECTION_GATE
from tests.support.clone_sets import Kruise, kruise_api, manifest

HEAD = f"forbidden by ResourcesProtectionDeletion for {DELETION_PROTECTION}="


def protected(kind: type[Any], plain: dict[str, Any], protection: str) -> Any:
    metadata = {"name": "x", "labels": {DELETION_PROTECTION: protection}, **plain.pop("metadata", {})}
    if kind is not Namespace and kind is not CustomResourceDefinition:
        metadata["namespace"] = "default"
    return codec.convert({"metadata": metadata, **plain}, kind, "Strict")[0]


def deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "x"}
    containers = [{"name": "main", "image": "a"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {"spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}}


def definition() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "metadata": {"name": "peas.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "peas", "kind": "Pea"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


SERVICE = {"spec": {"ports": [{"port": 80}]}}
INGRESS = {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}}

CASES: list[tuple[type[Any], dict[str, Any], str, str]] = [
    (Deployment, deployment(0), "Always", f"{HEAD}Always"),
    (Deployment, deployment(2), "Cascading", f"{HEAD}Cascading and replicas 2>0"),
    (Deployment, deployment(0), "Cascading", ""),
    (Deployment, deployment(2), "Nonsense", ""),
    (Service, SERVICE, "Always", f"{HEAD}Always"),
    (Service, SERVICE, "Cascading", ""),
    (Ingress, INGRESS, "Always", f"{HEAD}Always"),
    (Ingress, INGRESS, "Cascading", ""),
    (Namespace, {}, "Always", f"{HEAD}Always"),
    (Namespace, {}, "Cascading", ""),
    (CustomResourceDefinition, definition(), "Always", f"{HEAD}Always"),
    (CustomResourceDefinition, definition(), "Cascading", f"feature-gate {CRD_CASCADING} is not enabled"),
]


async def delete(kruise: Kruise, obj: Any) -> str:
    """Delete an object; return the reason of a refusal."""
    try:
        await kruise.client.delete(type(obj), obj.metadata.name, obj.metadata.namespace)
    except ApiError as error:
        if error.status.code != 403:
            raise
        return error.status.message or ""
    return ""


@pytest.mark.parametrize(("kind", "plain", "protection", "refusal"), CASES)
async def test_protected_objects_are_not_deleted(
    kind: type[Any], plain: dict[str, Any], protection: str, refusal: str
) -> None:
    async with kruise_api() as kruise:
        obj = await kruise.client.create(protected(kind, {**plain}, protection))
        said = await delete(kruise, obj)
        assert said.endswith(refusal)
        assert bool(said) == bool(refusal)


@pytest.mark.parametrize(("replicas", "refusal"), [(0, ""), (3, f"{HEAD}Cascading and replicas 3>0")])
async def test_clone_set_with_replicas_is_protected(replicas: int, refusal: str) -> None:
    async with kruise_api() as kruise:
        plain = manifest(replicas=replicas)
        plain["metadata"]["labels"] = {DELETION_PROTECTION: "Cascading"}
        await kruise.create(plain)
        said = await delete(kruise, await kruise.client.get(CloneSet, "web", "default"))
        assert said.endswith(refusal)
        assert bool(said) == bool(refusal)


async def test_namespace_is_protected_while_it_has_active_pods_or_bound_claims() -> None:
    async with kruise_api() as kruise:
        client = kruise.client
        namespace = await client.create(protected(Namespace, {}, "Cascading"))
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "a"}]}}
        await client.create(codec.from_plain(pod, Pod), namespace="x")
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        for name in ("c", "unbound"):
            claim = codec.from_plain({"metadata": {"name": name}, "spec": spec}, PersistentVolumeClaim)
            await client.create(claim, namespace="x")
        pod["metadata"] = {"name": "ended"}
        await client.create(codec.from_plain(pod, Pod), namespace="x")
        await client.patch(Pod, "ended", {"status": {"phase": "Succeeded"}}, "x", subresource="status")
        status = {"status": {"phase": "Bound"}}
        await client.patch(PersistentVolumeClaim, "c", status, "x", subresource="status")
        assert (await delete(kruise, namespace)).endswith("active pods 1>0")
        await client.delete(Pod, "p", "x", grace_seconds=0)
        assert (await delete(kruise, namespace)).endswith('"Bound" status pvc 1>0')
        await client.delete(PersistentVolumeClaim, "c", "x")
        assert await delete(kruise, namespace) == ""


async def test_definition_with_objects_is_protected_where_the_gate_is_on() -> None:
    async with kruise_api(**{CRD_CASCADING: True}) as kruise:
        plain = manifest()
        plain["metadata"]["finalizers"] = ["example.com/keep"]
        await kruise.create(plain)
        name = "clonesets.apps.kruise.io"
        label = {"metadata": {"labels": {DELETION_PROTECTION: "Cascading"}}}
        held = await kruise.client.patch(CustomResourceDefinition, name, label)
        assert (await delete(kruise, held)).endswith("active CRs 1>0")
        await kruise.client.delete(CloneSet, "web", "default")
        assert await delete(kruise, held) == "", "an object that is being deleted is not active"


async def test_object_that_is_being_deleted_is_not_protected_any_more() -> None:
    async with kruise_api() as kruise:
        plain = {**SERVICE, "metadata": {"finalizers": ["example.com/keep"], "labels": {}}}
        service = await kruise.client.create(protected(Service, plain, ""))
        assert await delete(kruise, service) == ""
        label = {"metadata": {"labels": {DELETION_PROTECTION: "Always"}}}
        await kruise.client.patch(Service, "x", label, "default")
        assert await delete(kruise, service) == ""


async def test_label_has_no_effect_without_the_feature_gate() -> None:
    async with kruise_api(**{DELETION_PROTECTION_GATE: False}) as kruise:
        service = await kruise.client.create(protected(Service, {**SERVICE}, "Always"))
        assert await delete(kruise, service) == ""
