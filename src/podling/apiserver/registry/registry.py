"""The registry: every verb on every kind, authorised, and passed to its handler.

Most verbs are a read (``reads``) or a write (``writes``) of an object itself. So are subresources, through
the kind's rules: a view (``scale``), an action (``binding``), or the object with fewer writable fields
(``status``). Resources that are not stored, or need more than one object, have a handler of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from podling import clock, turns
from podling.api.meta_v1 import DeleteOptions, Status
from podling.apiserver.admission.base import Chain, Operation
from podling.apiserver.customresources.conversion import Conversion
from podling.apiserver.customresources.watches import CustomWatches
from podling.apiserver.kinds.common import metadata
from podling.apiserver.kinds.common.base import Action, Context, KindRules, View
from podling.apiserver.kinds.common.views import shown_form
from podling.apiserver.registry.listing import Selected
from podling.apiserver.registry.patching import check_named
from podling.apiserver.registry.reads import Reads
from podling.apiserver.registry.remote_stages import RemoteStages
from podling.apiserver.registry.selection import Selection
from podling.apiserver.registry.watch import ObjectWatch
from podling.apiserver.registry.write_costs import Work, is_heavy
from podling.apiserver.registry.write_stages import WriteRequest, body_type, check_uid, update_body
from podling.apiserver.registry.write_surroundings import WriteSurroundings
from podling.apiserver.registry.writes import Writes
from podling.client.base import Listing
from podling.client.requests import NO_DELETE_OPTIONS, ListOptions, Patch, RawBody, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.encoding.request_bodies import read_object, read_options
from podling.machinery.scheme import Resource
from podling.store.base import Entry, Store

DELETION_BYTES = 64 * 1024
"""To delete an object takes as long as to encode so many bytes."""


Warnings = list[str] | None
"""Takes what the response should warn of."""


class Authorizer(Protocol):
    """Says whether ``user`` may do ``verb``; raises 403 when not."""

    def check(self, user: User, verb: str, target: Target, field_selector: str = "") -> None: ...


class Handler(Protocol):
    """Answers a POST that is more than storing an object: reviews, ``eviction``, ``token``."""

    def __call__(self, target: Target, user: User, body: Any, options: WriteOptions) -> Awaitable[Any]: ...


class Registry:
    """The ``client.requests.Backend`` of the API server.

    Args:
        rules_for: the kinds' rules.
        admission: the plugins, in order, already joined.
        conversion: of custom objects between their versions.
    """

    def __init__(
        self,
        store: Store,
        rules_for: Callable[[Resource], KindRules[Any]],
        admission: Chain,
        authorizer: Authorizer,
        conversion: Conversion,
        custom_watches: CustomWatches,
    ) -> None:
        self.store = store
        self.rules_for = rules_for
        self.reads = Reads(store, rules_for, conversion)
        self.writes = Writes(WriteSurroundings(store, self.reads, rules_for, admission))
        self._custom_watches = custom_watches
        self._authorizer = authorizer
        self._handlers: dict[tuple[str, str, str], Handler] = {}

    def serve(self, handlers: Mapping[tuple[str, str, str], Handler]) -> None:
        """Answer creations of (group, resource, subresource) by ``handlers`` instead of storing them."""
        self._handlers.update(handlers)

    def compute_in(self, remote: RemoteStages) -> None:
        """Compute large writes in worker processes from now on."""
        self.writes.remote = remote

    def reads_later(self, work: Work, resource: Resource, body: bytes) -> bool:
        """Return whether a body takes too long to read on the event loop: it is passed as ``RawBody``."""
        return self.writes.remote is not None and is_heavy(work, resource, body)

    def authorize(self, user: User, verb: str, target: Target, field_selector: str = "") -> None:
        """Raises 403 unless ``user`` may do ``verb`` to ``target``."""
        self._authorizer.check(user, verb, target, field_selector)

    async def get(self, target: Target, user: User) -> Any:
        self._authorizer.check(user, "get", target)
        entry, view = self.reads.entry(target), self.view(target)
        await self.reads.prepare(target.resource, [entry])
        if view is not None:
            obj = self.reads.shown(target.resource, entry)
            if why := view.read_error(obj):
                raise errors.internal(why)
            return view.show(obj)
        return self.reads.shown(target.resource, entry)

    def authorized_entry(self, target: Target, user: User) -> Entry:
        """``get`` for a reader that wants the bytes."""
        self._authorizer.check(user, "get", target)
        return self.reads.entry(target)

    async def list(self, target: Target, user: User, options: ListOptions) -> Listing[Any]:
        selected = await self.select(target, user, options)
        items: list[Any] = []
        async for block in self.reads.in_turns(target.resource, selected.entries):
            items.extend(self.reads.shown(target.resource, entry) for entry in block)
        return Listing(tuple(items), str(selected.revision), selected.continue_token, selected.remaining)

    async def select(self, target: Target, user: User, options: ListOptions) -> Selected:
        """``list`` for a reader that wants the bytes."""
        self._authorizer.check(user, "list", target, options.field_selector)
        selected = await self.reads.select(target, options)
        await self.reads.prepare(target.resource, selected.entries)
        return selected

    async def open_watch(self, target: Target, user: User, options: ListOptions) -> ObjectWatch:
        """Return a watch, in pieces that wait for turns of the loop: the way of requests from outside."""
        self._authorizer.check(user, "watch", target, options.field_selector)
        return self._watch(target, options, await self.reads.before_watch(target, options))

    def watch(self, target: Target, user: User, options: ListOptions) -> ObjectWatch:
        """Raises 410 at once when the start is too old."""
        self._authorizer.check(user, "watch", target, options.field_selector)
        return self._watch(target, options)

    def _watch(self, target: Target, options: ListOptions, wanted: Selection | None = None) -> ObjectWatch:
        watch = self.reads.watch(target, options, wanted)
        if isinstance(target.resource, CustomResource):
            self._custom_watches.join(target.resource, watch)
        return watch

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        handler = self._handlers.get((target.resource.group, target.resource.plural, target.subresource))
        self._authorizer.check(user, "create", target)
        if handler is not None or target.subresource:
            body = await self.read(target, user, body, options)
        if handler is not None:
            body = await self.writes.admitted(target, user, body, options)
            return await handler(target, user, body, options)
        if target.subresource:
            return await self.act(target, user, body, options)
        resource = target.resource
        return shown_form(resource, await self.writes.create(target, user, body, options))

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        self._authorizer.check(user, "update", target)
        write = WriteRequest(target, user, options, self.rules_for(target.resource), self.view(target))
        exists = self.reads.exists(target)
        if isinstance(body, RawBody) and exists:
            return self._response(write, await self.writes.change(write, body))
        if isinstance(body, RawBody):
            body = await self.read(target, user, body, options)
            check_named(body.metadata.name, target)
        body = update_body(write, body)
        if write.view is None and not exists:
            check_uid(target, body.metadata.uid, None)
            if write.rules.create_on_update and not target.subresource:
                return await self.create(target, user, metadata.without_resource_version(body), options)
        return self._response(write, await self.writes.change(write, body))

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any:
        self._authorizer.check(user, "patch", target)
        write = WriteRequest(target, user, options, self.rules_for(target.resource), self.view(target))
        if options.apply and not target.subresource:
            unnamed = replace(target, name="")
            return self._response(
                write,
                await self.writes.apply(
                    write, patch, lambda: self._authorizer.check(user, "create", unnamed)
                ),
            )
        return self._response(write, await self.writes.change(write, patch))

    async def read(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        """Return the object in the body of a request, which may have been read already."""
        if not isinstance(body, RawBody):
            return body
        if self.writes.remote is not None:
            return await self.writes.remote.read(target, user, body, options)
        kind = body_type(target)
        obj, found = read_object(body.data, body.content_type, kind, options.field_validation)
        options.warnings.extend(found)
        return obj

    async def read_delete_options(self, target: Target, user: User, body: RawBody) -> DeleteOptions:
        """Return the options in the body of a deletion."""
        remote, options = self.writes.remote, WriteOptions(warnings=[])
        if remote is not None and is_heavy(Work.CREATE, target.resource, body.data):
            return await remote.read_options(target, user, body, options)
        found: DeleteOptions = read_options(body.data, body.content_type, DeleteOptions)
        return found

    def _response(self, write: WriteRequest, changed: Any) -> Any:
        """Return a stored object as the response to its change."""
        if write.view is not None:
            return write.view.show(changed)
        return shown_form(write.resource, changed)

    def view(self, target: Target) -> View | None:
        """Return the view that ``target`` names, if it names one. Raises 404 for an unknown subresource."""
        if not target.subresource:
            return None
        if target.subresource not in target.resource.subresources:
            raise errors.not_found(target.resource.plural, target.resource.group, target.name)
        found = self.rules_for(target.resource).subresources.get(target.subresource)
        return found if isinstance(found, View) else None

    async def act(
        self, target: Target, user: User, body: Any, options: WriteOptions, *, reviewed: bool = False
    ) -> Any:
        """POST to a subresource that changes its object by a rule of the kind: ``pods/binding``.

        ``reviewed``: admission has already seen it under another name.
        """
        rules = self.rules_for(target.resource)
        action = rules.subresources.get(target.subresource)
        if not isinstance(action, Action):
            raise errors.method_not_allowed(target.resource.plural, target.resource.group, "create")
        now = clock.now()
        context = Context(now, user.name, target.subresource, options.dry_run)
        if body.metadata.name != target.name:
            raise errors.bad_request(f"name in URL does not match name in {type(body).__name__} object")
        found = action.validate(body)
        if found:
            raise errors.invalid(type(body).__name__, target.resource.group, target.name, found)
        if not reviewed:
            body = await self.writes.admitted(target, user, body, options)

        def change(old: Any) -> Any:
            return action.act(old, body, context)

        await self.writes.act(WriteRequest(target, user, options, rules), change)
        return Status(status="Success", code=201)

    async def connect(
        self, target: Target, user: User, body: dict[str, Any], options: WriteOptions
    ) -> dict[str, Any]:
        """Return the connection's options after admission. The caller has authorised the request."""
        found: dict[str, Any] = await self.writes.admitted(target, user, body, options, Operation.CONNECT)
        return found

    async def delete(
        self, target: Target, user: User, options: DeleteOptions, warnings: Warnings = None
    ) -> Any:
        self._authorizer.check(user, "delete", target)
        removed = await self.writes.remove(target, user, options, warnings)
        return shown_form(target.resource, await self.reads.conversion.converted(removed, target.resource))

    async def delete_collection(
        self,
        target: Target,
        user: User,
        selected: ListOptions,
        options: DeleteOptions = NO_DELETE_OPTIONS,
        warnings: Warnings = None,
    ) -> Sequence[Any]:
        """Delete everything selected; returns the objects as they were found."""
        entries = await self.delete_entries(target, user, selected, options, warnings)
        items: list[Any] = []
        async for block in self.reads.in_turns(target.resource, entries):
            items.extend(self.reads.shown(target.resource, entry) for entry in block)
        return items

    async def delete_entries(
        self, target: Target, user: User, selected: ListOptions, options: DeleteOptions, warnings: Warnings
    ) -> Sequence[Entry]:
        """``delete_collection`` for a caller that wants the bytes."""
        self._authorizer.check(user, "deletecollection", target, selected.field_selector)
        found = await self.reads.select(target, selected)
        await self.reads.prepare(target.resource, found.entries)
        for entry in found.entries:
            await turns.take(DELETION_BYTES)
            namespace, _, name = entry.key.removeprefix(target.resource.key_prefix).rpartition("/")
            try:
                each = replace(target, namespace=namespace, name=name)
                await self.writes.remove(each, user, options, warnings, collection=True)
            except errors.ApiError as error:
                if not errors.is_not_found(error):
                    raise
        return found.entries
