"""Properties of every kind: dry runs store nothing, and a subresource changes its part alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json, structs

from podling.api.meta_v1 import DeleteOptions
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES, Resource
from podling.testing import ControlPlane
from tests.support.manifests import sent, valid_objects

STORED = {(each.group_version, each.kind): each for each in RESOURCES if each.stored}
DOCUMENTS = valid_objects()
CONDITION = {
    "type": "Example",
    "status": "True",
    "reason": "Seen",
    "message": "it was seen",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
TELLING: dict[str, dict[str, Any]] = {
    "PersistentVolume": {"phase": "Available"},
    "ResourceQuota": {"used": {"pods": "1"}},
    "CronJob": {"lastScheduleTime": "2026-01-01T00:00:00Z"},
    "HorizontalPodAutoscaler": {"currentReplicas": 2, "desiredReplicas": 2},
    "Ingress": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    "VolumeAttachment": {"attached": True},
    "ResourceClaim": {"allocation": {"allocationTimestamp": "2026-01-01T00:00:00Z"}},
}
"""Something to say in the statuses of those that have no conditions."""


def named(document: dict[str, Any]) -> str:
    return f"{document['apiVersion']}-{document['kind']}"


def resource_of(document: dict[str, Any]) -> Resource:
    return STORED[document["apiVersion"], document["kind"]]


def plain(obj: Any) -> Any:
    """Return the object without revision and identity, which differ in any two writes."""
    details = getattr(obj, "details", None)
    metadata = getattr(obj, "metadata", None)
    text = codec.encode(obj)
    for each in (metadata, details):
        if uid := getattr(each, "uid", None):
            text = text.replace(uid.encode(), b"identity")
    found = json.decode(text)
    found.get("metadata", {}).pop("resourceVersion", None)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
async def test_a_dry_run_answers_the_same_and_writes_nothing(
    cluster: ControlPlane, document: dict[str, Any]
) -> None:
    resource = resource_of(document)
    obj, backend, store = sent(resource, document), cluster.backend, cluster.store
    everything = Target(resource, obj.metadata.namespace or "")
    target = Target(resource, everything.namespace, obj.metadata.name)
    revision = store.revision

    would = await backend.create(everything, SYSTEM, obj, WriteOptions(dry_run=True, field_manager="me"))
    assert store.revision == revision
    made = await backend.create(everything, SYSTEM, obj, WriteOptions(field_manager="me"))
    assert plain(would) == plain(made)
    with pytest.raises(ApiError) as taken:
        await backend.create(everything, SYSTEM, obj, WriteOptions(dry_run=True))
    assert taken.value.reason == "AlreadyExists"

    labels = {**made.metadata.labels, "changed": "yes"}
    wanted = structs.replace(made, metadata=structs.replace(made.metadata, labels=labels))
    revision = store.revision
    would = await backend.update(target, SYSTEM, wanted, WriteOptions(dry_run=True, field_manager="you"))
    assert store.revision == revision
    changed = await backend.update(target, SYSTEM, wanted, WriteOptions(field_manager="you"))
    assert plain(would) == plain(changed)
    assert changed.metadata.labels["changed"] == "yes"

    revision = store.revision
    would = await backend.delete(target, SYSTEM, DeleteOptions(dry_run=("All",)))
    assert store.revision == revision
    assert plain(await backend.get(target, SYSTEM)) == plain(changed)
    assert plain(would) == plain(await backend.delete(target, SYSTEM, DeleteOptions()))


WITH_STATUS = [each for each in DOCUMENTS if "status" in resource_of(each).subresources]


@pytest.mark.parametrize("document", WITH_STATUS, ids=named)
async def test_status_is_written_only_through_its_subresource(
    cluster: ControlPlane, document: dict[str, Any]
) -> None:
    resource = resource_of(document)
    obj, backend = sent(resource, document), cluster.backend
    collection = Target(resource, obj.metadata.namespace or "")
    target = Target(resource, collection.namespace, obj.metadata.name)
    made = await backend.create(collection, SYSTEM, obj, WriteOptions())
    status = TELLING.get(resource.kind, {"conditions": [CONDITION]})
    said = Patch(PatchType.MERGE, {"metadata": {"labels": {"seen": "yes"}}, "spec": None, "status": status})

    through = Target(resource, target.namespace, target.name, "status")
    told = await backend.patch(through, SYSTEM, said, WriteOptions())
    assert told.spec == made.spec
    assert told.status != made.status
    assert told.metadata.generation == made.metadata.generation

    reset = Patch(PatchType.MERGE, {"metadata": {"labels": {"main": "yes"}}, "status": None})
    changed = await backend.patch(target, SYSTEM, reset, WriteOptions())
    assert changed.status == told.status
    assert changed.metadata.labels["main"] == "yes"
    assert changed.metadata.generation == told.metadata.generation
