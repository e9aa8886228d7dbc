"""Writing the revisions of SidecarSets. Upstream: ``registerLatestRevision`` of the controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from podling.api.apps_v1 import ControllerRevision
from podling.client.base import Client
from podling.controllers.workloads.revisions import by_number
from podling.machinery.encoding import plain
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling_kruise.sidecarset.annotations import CUSTOM_VERSION
from podling_kruise.sidecarset.revision_data import new_revision
from podling_kruise.sidecarset.types import SidecarSet


class History:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def register(
        self, owner: SidecarSet, revisions: Sequence[ControllerRevision]
    ) -> tuple[ControllerRevision, int]:
        """Return the revision that keeps the owner as it is, as the newest; and the collision count."""
        ordered = by_number(revisions)
        collisions = owner.status.collision_count or 0
        wanted = new_revision(owner, (ordered[-1].revision if ordered else 0) + 1, collisions)
        same = [each for each in ordered if plain.equal(each.data, wanted.data)]
        if not same:
            return await self._create(owner, wanted, collisions)
        held = same[-1]
        if held is not ordered[-1]:
            held = await self._client.update(structs.replace(held, revision=wanted.revision))
        version = owner.spec.custom_version
        if version and held.metadata.labels.get(CUSTOM_VERSION) != version:
            patch = {"metadata": {"labels": {CUSTOM_VERSION: version}}}
            metadata = held.metadata
            held = await self._client.patch(
                ControllerRevision, metadata.name or "", patch, metadata.namespace
            )
        return held, collisions

    async def _create(
        self, owner: SidecarSet, wanted: ControllerRevision, collisions: int
    ) -> tuple[ControllerRevision, int]:
        while True:
            try:
                return await self._client.create(wanted), collisions
            except ApiError as error:
                if not is_already_exists(error):
                    raise
            metadata = wanted.metadata
            held = await self._client.get(ControllerRevision, metadata.name or "", metadata.namespace)
            if plain.equal(held.data, wanted.data):
                return held, collisions
            collisions += 1
            wanted = new_revision(owner, wanted.revision, collisions)

    async def forget(self, doomed: Iterable[ControllerRevision]) -> None:
        for each in doomed:
            metadata = each.metadata
            with unless_gone():
                await self._client.delete(
                    ControllerRevision, metadata.name or "", metadata.namespace, uid=metadata.uid or ""
                )
