"""Requests of a Unix socket as calls of the registry, and its objects as answers.

Users are authorised as in process: the client is trusted to name them. Answers are the bytes that the store
has, where it has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import structs

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.meta_v1 import DeleteOptions, Status
from podling.apiserver.customresources.catalogue import Catalogue
from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.watch import ObjectWatch
from podling.apiserver.registry.write_costs import Work
from podling.apiserver.registry.write_stages import body_type
from podling.client import messages
from podling.client.base import PatchType
from podling.client.frames import PIECE_BYTES
from podling.client.messages import Items, Place, Reply
from podling.client.requests import Patch, RawBody, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.bodies import JSON
from podling.machinery.encoding.custom import (
    CustomObject,
    CustomResource,
    storage_version,
    stored_resource,
)
from podling.machinery.scheme import Resource, by_path
from podling.store.base import Entry

USERS_MAX = 4096
"""Users whose encoding is remembered before remembering starts afresh."""
DEFINITIONS_MAX = 4096
"""Definitions whose stored resource is remembered before remembering starts afresh."""


class Calls:
    """The verbs of one API server. All raise ``ApiError``."""

    def __init__(self, registry: Registry, catalogue: Catalogue) -> None:
        self._registry = registry
        self._catalogue = catalogue
        self._users: dict[bytes, User] = {}
        self._stored: dict[str, tuple[CustomResourceDefinition, CustomResource]] = {}
        """The resources of custom objects as they are stored, by the names of their definitions."""

    def target(self, request: messages.Request) -> Target:
        """Return what a request is about. Raises 404 for a resource that is not served."""
        resource = by_path(*request.resource)
        if resource is None:
            resource = self._custom(request.resource, as_stored=request.as_stored)
        return Target(resource, request.namespace, request.name, request.subresource)

    def user(self, encoded: bytes) -> User:
        """Return the user of a request. Raises ``msgspec.MsgspecError``."""
        user = self._users.get(encoded)
        if user is None:
            if len(self._users) >= USERS_MAX:
                self._users.clear()
            user = self._users[encoded] = messages.decode_user(encoded)
        return user

    def stored_object(self, request: messages.Get) -> Reply | None:
        """Answer a read of an object that is shown as it is stored; None for others."""
        target = self.target(request)
        if target.subresource or (target.resource.storage and isinstance(target.resource, CustomResource)):
            return None
        entry = self._registry.authorized_entry(target, self.user(request.user))
        return Reply(request.id, self._registry.reads.shown_entry(target.resource, entry).value)

    async def get(self, request: messages.Get) -> Reply:
        target = self.target(request)
        return self._reply(request.id, target, await self._registry.get(target, self.user(request.user)))

    async def list(self, request: messages.List) -> Iterator[Items]:
        """Return the parts of the answer."""
        target = self.target(request)
        selected = await self._registry.select(target, self.user(request.user), request.options)
        entries = selected.entries
        if target.resource.storage or isinstance(target.resource, CustomResource):
            entries = await self._shown(target.resource, entries)
        last = Items(
            request.id,
            [],
            last=True,
            revision=selected.revision,
            continue_token=selected.continue_token,
            remaining=selected.remaining,
        )
        return _parts(last, [entry.value for entry in entries])

    def watch(self, request: messages.Watch) -> tuple[ObjectWatch, Resource]:
        """Open a watch. Raises 410 at once when the start is too old."""
        target = self.target(request)
        return self._registry.watch(target, self.user(request.user), request.options), target.resource

    async def create(self, request: messages.Create) -> Reply:
        target, options = self.target(request), _options(request.options)
        body = self._body(target, request.body, Work.CREATE)
        made = await self._registry.create(target, self.user(request.user), body, options)
        return self._reply(request.id, target, made, options.warnings)

    async def update(self, request: messages.Update) -> Reply:
        target, options = self.target(request), _options(request.options)
        body = self._body(target, request.body, Work.CHANGE)
        changed = await self._registry.update(target, self.user(request.user), body, options)
        return self._reply(request.id, target, changed, options.warnings)

    async def patch(self, request: messages.Patch) -> Reply:
        target, options = self.target(request), _options(request.options)
        body: Any = RawBody(request.body, JSON)
        if not self._registry.reads_later(Work.CHANGE, target.resource, request.body):
            body = msgspec.json.decode(request.body)
        patch = Patch(PatchType(request.media_type), body, request.duplicates)
        changed = await self._registry.patch(target, self.user(request.user), patch, options)
        return self._reply(request.id, target, changed, options.warnings)

    async def delete(self, request: messages.Delete) -> Reply:
        target, warnings = self.target(request), list[str]()
        options = codec.decode(request.options, DeleteOptions)
        result = await self._registry.delete(target, self.user(request.user), options, warnings)
        return self._reply(request.id, target, result, warnings)

    async def delete_collection(self, request: messages.DeleteCollection) -> Iterator[Items]:
        """Return the parts of the answer."""
        target, options = self.target(request), codec.decode(request.options, DeleteOptions)
        user = self.user(request.user)
        found = await self._registry.delete_collection(target, user, request.selection, options)
        return _parts(Items(request.id, [], last=True), [codec.encode(obj) for obj in found])

    def _body(self, target: Target, data: bytes, work: Work) -> Any:
        """Return the object in the body of a request, a large one as it came."""
        if not target.subresource and self._registry.reads_later(work, target.resource, data):
            return RawBody(data, JSON)
        return _body(target, data)

    def _custom(self, place: Place, *, as_stored: bool) -> Resource:
        group, version, plural = place
        definition = self._catalogue.definition(f"{plural}.{group}")
        if as_stored and definition is not None and storage_version(definition).name == version:
            return self._as_stored(definition)
        found = self._catalogue.by_path(*place)
        if found is None:
            raise errors.no_such_resource()
        return found

    def _as_stored(self, definition: CustomResourceDefinition) -> CustomResource:
        """Return the resource that goes over objects as they are stored; the same until its definition
        changes."""
        name = definition.metadata.name or ""
        known, resource = self._stored.get(name, (None, None))
        if resource is None or known is not definition:
            if len(self._stored) >= DEFINITIONS_MAX:
                self._stored.clear()
            resource = stored_resource(definition)
            self._stored[name] = definition, resource
        return resource

    async def _shown(self, resource: Resource, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Entries as a list of ``resource`` has them."""
        shown: list[Entry] = []
        async for block in self._registry.reads.in_turns(resource, entries):
            shown.extend(self._registry.reads.shown_entry(resource, entry) for entry in block)
        return tuple(shown)

    def _reply(self, number: int, target: Target, obj: Any, warnings: Sequence[str] = ()) -> Reply:
        return Reply(number, self._json(target, obj), _kind(target, obj), tuple(warnings))

    def _json(self, target: Target, obj: Any) -> bytes:
        return codec.encode(obj) if isinstance(obj, Status) else self._registry.reads.json_of(target, obj)


def _body(target: Target, data: bytes) -> Any:
    """Return the object in the body of a create or update. Raises 404 for an unknown subresource."""
    if target.subresource and target.subresource not in target.resource.subresources:
        raise errors.not_found(target.resource.plural, target.resource.group, target.name)
    return codec.decode(data, body_type(target))


def _kind(target: Target, obj: Any) -> Place | None:
    """Return the kind of an answer; None for that of the resource itself."""
    if type(obj) is target.resource.type or isinstance(obj, CustomObject):
        return None
    kind: Place = type(obj).group_version_kind
    return kind


def _options(change: messages.Change) -> WriteOptions:
    return WriteOptions(
        dry_run=change.dry_run,
        field_manager=change.field_manager,
        field_validation=change.field_validation,
        force=change.force,
        apply=change.apply,
        manager_implied=change.manager_implied,
    )


def _parts(last: Items, values: Sequence[bytes]) -> Iterator[Items]:
    """Yield ``values`` in parts of bounded size; ``last`` carries the last of them."""
    part: list[bytes] = []
    size = 0
    for value in values:
        if size >= PIECE_BYTES:
            yield Items(last.id, part)
            part, size = [], 0
        part.append(value)
        size += len(value)
    yield structs.replace(last, items=part)
