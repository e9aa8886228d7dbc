"""Dry runs of every kind: the answer is that of the real thing, and nothing at all is written."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json, structs

from podling.api.core_v1 import Pod, Service
from podling.api.meta_v1 import DeleteOptions
from podling.client.local import SYSTEM, Target, WriteOptions
from podling.machinery import codec, intake
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES, Resource
from podling.testing import ControlPlane
from tests.support.manifests import valid_objects

STORED = {(each.group_version, each.kind): each for each in RESOURCES if each.stored}


def sent(resource: Resource, document: dict[str, Any]) -> Any:
    """The object as written, but for what has to be there before it, and with what else chance chooses."""
    made, _ = intake.convert(document, resource.type, "Strict")
    if isinstance(made, Pod):
        return structs.replace(made, spec=structs.replace(made.spec, priority_class_name=None, priority=None))
    if isinstance(made, Service):
        ports = tuple(structs.replace(each, node_port=30_100 + at) for at, each in enumerate(made.spec.ports))
        spec = structs.replace(made.spec, ports=ports, health_check_node_port=30_200)
        return structs.replace(made, spec=spec)
    return made


def plain(obj: Any) -> Any:
    """What no two writes have in common left out: the revision, and the identity wherever it stands."""
    details = getattr(obj, "details", None)
    metadata = getattr(obj, "metadata", None)
    text = codec.encode(obj)
    for each in (metadata, details):
        if uid := getattr(each, "uid", None):
            text = text.replace(uid.encode(), b"identity")
    found = json.decode(text)
    found.get("metadata", {}).pop("resourceVersion", None)
    return found


@pytest.mark.parametrize("document", valid_objects(), ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
async def test_it_answers_the_same_and_writes_nothing(
    cluster: ControlPlane, document: dict[str, Any]
) -> None:
    resource = STORED[document["apiVersion"], document["kind"]]
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
