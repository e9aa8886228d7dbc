"""The life of an object of every kind, as two watches see it: each verb and each kind of patch.

The steps are those of upstream's conformance test of a resource (``test/e2e/framework/conformance``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.client.base import PatchType, WatchEvent, WatchEventType
from podling.client.informer import revision_number
from podling.client.requests import NO_DELETE_OPTIONS, SYSTEM, ListOptions, Patch, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES
from podling.supervisor import Supervisor
from podling.testing import ControlPlane
from tests.support.manifests import sent, valid_objects

STORED = {(each.group_version, each.kind): each for each in RESOURCES if each.stored}
SELECTED = ListOptions(label_selector="test=life")
STRICT = WriteOptions(field_manager="me", field_validation="Strict")
APPLIED = structs.replace(STRICT, field_manager="test-apply", force=True)
DOCUMENTS = [each for each in valid_objects() if each["kind"] != "Namespace"]
"""Namespaces do not go without their controller."""
WITH_STATUS_OF_THE_SERVER = ("APIService", "CustomResourceDefinition", "ValidatingAdmissionPolicy")
"""Kinds whose status the server itself writes, as often as it has something to say."""


class Life:
    """An object with a label, and what watches of its namespace and of all namespaces see of it."""

    def __init__(self, cluster: ControlPlane, document: dict[str, Any]) -> None:
        self.resource = STORED[document["apiVersion"], document["kind"]]
        self.backend = cluster.backend
        made = sent(self.resource, document)
        labels = {**made.metadata.labels, "test": "life"}
        self.wanted = structs.replace(made, metadata=structs.replace(made.metadata, labels=labels))
        self.everywhere = Target(self.resource)
        self.collection = Target(self.resource, made.metadata.namespace or "")
        self.target = structs.replace(self.collection, name=made.metadata.name)
        self._seen: list[list[WatchEvent[Any]]] = [[], []]

    def follow(self, tasks: Supervisor, revision: str) -> None:
        options = structs.replace(SELECTED, resource_version=revision)
        for seen, target in zip(self._seen, (self.collection, self.everywhere), strict=True):

            async def watch(seen: list[WatchEvent[Any]] = seen, target: Target = target) -> None:
                async for event in self.backend.watch(target, SYSTEM, options):
                    seen.append(event)
                await asyncio.Event().wait()

            tasks.keep_running("watch", watch)

    async def shows(self, *types: WatchEventType) -> None:
        """Both watches have seen these events since the last look, with revisions that rise."""
        await clock.sleep(0.1)
        for seen in self._seen:
            assert self._expected(each.type for each in seen) == self._expected(types)
            numbers = [revision_number(each.object) for each in seen]
            assert numbers == sorted(set(numbers))
            seen.clear()

    def _expected(self, types: Iterable[WatchEventType]) -> list[WatchEventType]:
        own = self.resource.kind in WITH_STATUS_OF_THE_SERVER
        return [each for each in types if each is not WatchEventType.MODIFIED or not own]

    async def create(self) -> Any:
        made = await self.backend.create(self.collection, SYSTEM, self.wanted, STRICT)
        assert await self.backend.get(self.target, SYSTEM) == made
        return made

    async def delete(self) -> None:
        await self.backend.delete(self.target, SYSTEM, NO_DELETE_OPTIONS)
        await self.is_gone()

    async def is_gone(self) -> None:
        """The object is gone, once controllers would have let go of it."""
        found = (await self.backend.list(self.collection, SYSTEM, SELECTED)).items
        for left in found:
            assert left.metadata.deletion_timestamp is not None
            let_go = Patch(PatchType.MERGE, {"metadata": {"finalizers": None}})
            await self.backend.patch(self.target, SYSTEM, let_go, STRICT)
        with pytest.raises(ApiError, match="not found"):
            await self.backend.get(self.target, SYSTEM)
        await self.shows(*(WatchEventType.MODIFIED for _ in found), WatchEventType.DELETED)

    def patches(self, made: Any) -> list[tuple[Patch, WriteOptions]]:
        """A label by each kind of patch."""
        metadata = made.metadata
        known = {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
        body = {
            "apiVersion": self.resource.group_version,
            "kind": self.resource.kind,
            "metadata": {**{key: each for key, each in known.items() if each}, "labels": {"changed": "yes"}},
        }
        operation = {"op": "add", "path": "/metadata/labels/changed", "value": "yes"}
        return [
            (Patch(PatchType.STRATEGIC, body), STRICT),
            (Patch(PatchType.APPLY, body), APPLIED),
            (Patch(PatchType.MERGE, body), STRICT),
            (Patch(PatchType.JSON, [operation]), STRICT),
        ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
async def test_watches_see_each_step_of_a_life(cluster: ControlPlane, document: dict[str, Any]) -> None:
    life = Life(cluster, document)
    added, modified = WatchEventType.ADDED, WatchEventType.MODIFIED
    listed = await cluster.backend.list(life.everywhere, SYSTEM, SELECTED)
    assert not listed.items
    async with Supervisor() as tasks:
        life.follow(tasks, listed.resource_version)
        await life.create()
        await life.shows(added)
        made = await cluster.backend.get(life.target, SYSTEM)
        labels = {**made.metadata.labels, "changed": "yes"}
        changed = structs.replace(made, metadata=structs.replace(made.metadata, labels=labels))
        updated = await cluster.backend.update(life.target, SYSTEM, changed, STRICT)
        assert revision_number(updated) > revision_number(made)
        await life.shows(modified)
        for at in range(4):
            await life.delete()
            patch, options = life.patches(await life.create())[at]
            patched = await cluster.backend.patch(life.target, SYSTEM, patch, options)
            assert patched.metadata.labels["changed"] == "yes"
            await life.shows(added, modified)
        for target in (life.collection, life.everywhere):
            found = await cluster.backend.list(target, SYSTEM, SELECTED)
            assert [each.metadata.uid for each in found.items] == [patched.metadata.uid]
        await cluster.backend.delete_collection(life.collection, SYSTEM, SELECTED, NO_DELETE_OPTIONS)
        await life.is_gone()
        await tasks.close()
