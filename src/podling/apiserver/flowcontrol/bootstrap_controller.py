"""Controller of the default flow schemas and priority levels, and of the status of all flow schemas.

Upstream: ``pkg/registry/flowcontrol/rest``, ``apiserver/pkg/util/flowcontrol/apf_controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import structs

from podling import clock
from podling.api.flowcontrol_v1 import (
    FlowSchema,
    FlowSchemaCondition,
    FlowSchemaStatus,
    PriorityLevelConfiguration,
)
from podling.apiserver.background_tasks import changed, keep_at
from podling.apiserver.flowcontrol.flows import Flows
from podling.apiserver.kinds.flowcontrol.defaults import AUTO_UPDATE, flow_schemas, priority_levels
from podling.client.local import LocalClient
from podling.machinery.conditions import with_condition
from podling.machinery.errors import ApiError, is_already_exists, is_conflict, is_not_found

CHECK_SECONDS = 60.0
DANGLING = "Dangling"

T = TypeVar("T", FlowSchema, PriorityLevelConfiguration)


def with_dangling(schema: FlowSchema, *, exists: bool) -> FlowSchema:
    """Return ``schema`` with a condition that says whether its priority level exists."""
    name = schema.spec.priority_level_configuration.name
    text = f'This FlowSchema references the PriorityLevelConfiguration object named "{name}" '
    text += "and it exists" if exists else "but there is no such object"
    status, reason = ("False", "Found") if exists else ("True", "NotFound")
    new = FlowSchemaCondition(type=DANGLING, status=status, reason=reason, message=text)
    conditions = with_condition(schema.status.conditions, new, clock.now())
    if conditions is schema.status.conditions:
        return schema
    return structs.replace(schema, status=FlowSchemaStatus(conditions=conditions))


class ConfigurationProducer:
    """Reconciles the default objects, then lets ``flows`` begin to follow them."""

    def __init__(self, client: LocalClient, flows: Flows) -> None:
        self._client, self._flows = client, flows

    async def run(self) -> None:
        await keep_at(self._reconcile_and_wait, "flow schemas", seconds=CHECK_SECONDS)

    async def _reconcile_and_wait(self) -> None:
        await self.reconcile()
        listing = await self._client.list(FlowSchema)
        version = listing.resource_version
        await changed(self._client, FlowSchema, version, within=CHECK_SECONDS, is_round=True)

    async def reconcile(self) -> None:
        """Make one pass."""
        levels = await self._restore(PriorityLevelConfiguration, priority_levels())
        schemas = await self._restore(FlowSchema, flow_schemas())
        names = {each.metadata.name for each in levels}
        for schema in schemas:
            level = schema.spec.priority_level_configuration.name
            await self._write(with_dangling(schema, exists=level in names), schema, subresource="status")
        if not self._flows.following:
            await self._flows.follow()

    async def _restore(self, kind: type[T], wanted: Iterable[T]) -> tuple[T, ...]:
        """Create missing objects, and restore those that are kept up to date automatically."""
        found = {each.metadata.name: each for each in (await self._client.list(kind)).items}
        for each in wanted:
            there = found.get(each.metadata.name)
            if there is None:
                await self._create(each)
                await clock.sleep(0)  # others get a turn
            elif there.spec != each.spec and there.metadata.annotations.get(AUTO_UPDATE) == "true":
                await self._write(structs.replace(there, spec=each.spec), there)
        return (await self._client.list(kind)).items

    async def _create(self, wanted: FlowSchema | PriorityLevelConfiguration) -> None:
        try:
            await self._client.create(wanted)
        except ApiError as error:
            if not is_already_exists(error):
                raise

    async def _write(self, new: T, old: T, *, subresource: str = "") -> None:
        if new is old:
            return
        try:
            await self._client.update(new, subresource=subresource)
        except ApiError as error:
            if not (is_conflict(error) or is_not_found(error)):
                raise
