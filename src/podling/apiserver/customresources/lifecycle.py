"""The life cycle of definitions: names, establishment, deletion.

Flow: a new definition requests names; those that are free become its accepted names, and with all of them
it is established. A deleted definition stays, Terminating, until every object of its resource is gone; then
its finalizer is removed and its names are free.

Level-triggered: every pass looks at all definitions, in the order of their creation, so that the older one
keeps a name that two request. Objects that finalizers of other clients hold are checked again later.
Upstream: ``apiextensions-apiserver/pkg/controller/{status,establish,finalizer}``.
"""

from __future__ import annotations

from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition, CustomResourceDefinitionStatus
from podling.apiserver.background_tasks import changed, keep_at
from podling.apiserver.customresources.approval import with_approval
from podling.apiserver.customresources.catalogue import Catalogue
from podling.apiserver.customresources.definition_names import (
    CLEANUP_FINALIZER,
    TERMINATING,
    named,
    with_condition,
)
from podling.client.local import LocalClient
from podling.machinery.conditions import is_true
from podling.machinery.encoding.custom import is_established, stored_resource
from podling.machinery.errors import ApiError, is_conflict, is_not_found, unless_gone

RECHECK_SECONDS = 5.0
"""Seconds until a definition that waits for its objects is checked again."""

IN_PROGRESS = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
COMPLETED = ("False", "InstanceDeletionCompleted", "removed all instances")


class Lifecycle:
    """Brings every definition of a server to where it should be, until cancelled."""

    def __init__(self, client: LocalClient, catalogue: Catalogue) -> None:
        self._client, self._catalogue = client, catalogue

    async def run(self) -> None:
        await keep_at(self._follow, "definitions", seconds=RECHECK_SECONDS)

    async def _follow(self) -> None:
        """A pass over all definitions, and another whenever one of them changes."""
        listing = await self._client.list(CustomResourceDefinition)
        waiting = await self.look_at(listing.items)
        self._catalogue.definitions()  # each write keeps the catalogue from falling behind
        within = RECHECK_SECONDS if waiting else None
        await changed(self._client, CustomResourceDefinition, listing.resource_version, within=within)

    async def look_at(self, definitions: tuple[CustomResourceDefinition, ...]) -> bool:
        """One pass; whether some definition waits for its objects to go."""
        waiting = False
        current = {each.metadata.name or "": each for each in definitions}
        for name, definition in sorted(current.items(), key=lambda item: _age(item[1])):
            try:
                if definition.metadata.deletion_timestamp is not None:
                    waiting = await self._terminate(definition) or waiting
                else:
                    now = clock.now()
                    status = with_approval(definition, named(definition, current.values(), now), now)
                    current[name] = await self._show(definition, status)
            except ApiError as error:
                if not (is_conflict(error) or is_not_found(error)):
                    raise
        return waiting

    async def _show(
        self, definition: CustomResourceDefinition, status: CustomResourceDefinitionStatus
    ) -> CustomResourceDefinition:
        if status == definition.status:
            return definition
        return await self._client.update(structs.replace(definition, status=status), subresource="status")

    async def _terminate(self, definition: CustomResourceDefinition) -> bool:
        """Delete every object; when none is left let the definition go. Whether some are left."""
        if CLEANUP_FINALIZER not in definition.metadata.finalizers:
            return False
        now = clock.now()
        if (
            not is_true(definition.status.conditions, TERMINATING)
            or definition.status.conditions[-1].reason != IN_PROGRESS[1]
        ):
            status = with_condition(definition.status, TERMINATING, IN_PROGRESS, now)
            definition = await self._show(definition, status)
        if is_established(definition) and await self._delete_objects(definition):
            return True
        status = with_condition(definition.status, TERMINATING, COMPLETED, now)
        definition = await self._show(definition, status)
        left = tuple(each for each in definition.metadata.finalizers if each != CLEANUP_FINALIZER)
        metadata = structs.replace(definition.metadata, finalizers=left)
        await self._client.update(structs.replace(definition, metadata=metadata))
        return False

    async def _delete_objects(self, definition: CustomResourceDefinition) -> bool:
        """Request the deletion of every object. Return whether some remain."""
        kind = stored_resource(definition).type
        for obj in (await self._client.list(kind)).items:
            if obj.metadata.deletion_timestamp is None:
                with unless_gone():
                    await self._client.delete(kind, obj.metadata.name, obj.metadata.namespace)
        return bool((await self._client.list(kind, limit=1)).items)


def _age(definition: CustomResourceDefinition) -> tuple[str, str]:
    created = definition.metadata.creation_timestamp
    return created.isoformat() if created else "", definition.metadata.name or ""
