"""Deletions of objects."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling import clock
from podling.api.meta_v1 import DeleteOptions, Status, StatusDetails
from podling.apiserver.admission.base import Operation
from podling.apiserver.registry import deletion
from podling.apiserver.registry.deletion import Outcome
from podling.apiserver.registry.objects import object_of
from podling.apiserver.registry.write_surroundings import WriteSurroundings, admission_request
from podling.client.requests import Target, User, WriteOptions
from podling.machinery.scheme import Resource


class Removals:
    """Deletes objects of every kind, or marks them as going."""

    def __init__(self, surroundings: WriteSurroundings) -> None:
        self._in = surroundings

    async def remove(
        self,
        target: Target,
        user: User,
        options: DeleteOptions,
        warnings: list[str] | None = None,
        *,
        reviewed: bool = False,
        collection: bool = False,
    ) -> Any:
        """End an object, or mark it as going: see ``deletion``. Raises 404 or 409.

        ``reviewed``: admission has already seen what this is part of (an eviction); ``collection``: it is one
        of many.
        """
        resource, now = target.resource, clock.now()
        rules, dry_run = self._in.rules_for(resource), "All" in options.dry_run

        async def remove_once(heavy: bool) -> Any:
            if heavy:
                await self._in.decode(target)
            entry = self._in.reads.entry(target)
            old = object_of(entry, resource.storage_resource.type)
            deletion.check_preconditions(resource, old.metadata, options)
            if not reviewed:
                write = WriteOptions(dry_run=dry_run, warnings=[] if warnings is None else warnings)
                request = admission_request(Operation.DELETE, target, user, now, write, None, old)
                request = structs.replace(request, options=options, collection=collection)
                await self._in.admission.validate(request)
            plan = deletion.plan_deletion(old, options, rules, now)
            if plan.outcome is Outcome.KEEP:
                return old
            if plan.outcome is Outcome.MARK:
                if dry_run:
                    return plan.object
                return await self._in.replace(resource, entry, plan.object, WriteOptions())
            last = plan.object if dry_run else await self._in.remove(entry, plan.object)
            return last if rules.returns_deleted else _deleted(resource, last)

        return await self._in.decided(target, None, remove_once)


def _deleted(resource: Resource, obj: Any) -> Status:
    details = StatusDetails(
        name=obj.metadata.name, group=resource.group, kind=resource.plural, uid=obj.metadata.uid
    )
    return Status(status="Success", details=details)
