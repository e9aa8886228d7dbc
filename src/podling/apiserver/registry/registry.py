"""The registry: every verb on every kind, authorised, and passed to its handler.

Most verbs are a read (``reads``) or a write (``writes``) of an object itself. So are subresources, through
the kind's rules: a view (``scale``), an action (``binding``), or the object with fewer writable fields
(``status``). Resources that are not stored, or need more than one object, have a handler of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import structs
from msgspec.structs import replace

from podling import clock, turns
from podling.api.meta_v1 import DeleteOptions, ObjectMeta, Status
from podling.apiserver.admission.base import Chain, Operation
from podling.apiserver.customresources.conversion import Conversion
from podling.apiserver.customresources.watches import CustomWatches
from podling.apiserver.kinds.common import metadata
from podling.apiserver.kinds.common.base import Action, Context, KindRules, View
from podling.apiserver.kinds.common.views import shown_form, stored_form
from podling.apiserver.registry.large_requests import Turns
from podling.apiserver.registry.listing import Selected
from podling.apiserver.registry.patching import (
    applied_to_view,
    apply_patch,
    check_named,
    check_place,
    patched,
)
from podling.apiserver.registry.reads import Reads
from podling.apiserver.registry.watch import ObjectWatch
from podling.apiserver.registry.writes import Change, Update, Writes
from podling.client.base import Listing
from podling.client.requests import NO_DELETE_OPTIONS, ListOptions, Patch, Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource
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
        self.turns = Turns()
        self.writes = Writes(store, self.reads, rules_for, admission, self.turns)
        self._custom_watches = custom_watches
        self._authorizer = authorizer
        self._handlers: dict[tuple[str, str, str], Handler] = {}

    def serve(self, handlers: Mapping[tuple[str, str, str], Handler]) -> None:
        """Answer creations of (group, resource, subresource) by ``handlers`` instead of storing them."""
        self._handlers.update(handlers)

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

    def watch(self, target: Target, user: User, options: ListOptions) -> ObjectWatch:
        """Raises 410 at once when the start is too old."""
        self._authorizer.check(user, "watch", target, options.field_selector)
        watch = self.reads.watch(target, options)
        if isinstance(target.resource, CustomResource):
            self._custom_watches.join(target.resource, watch)
        return watch

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        handler = self._handlers.get((target.resource.group, target.resource.plural, target.subresource))
        self._authorizer.check(user, "create", target)
        if handler is not None:
            body = await self.writes.admitted(target, user, body, options)
            return await handler(target, user, body, options)
        if target.subresource:
            return await self.act(target, user, body, options)
        resource = target.resource
        made = await self.writes.create(target, user, stored_form(resource, body), options)
        return shown_form(resource, made)

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        self._authorizer.check(user, "update", target)
        check_place(body.metadata.name, body.metadata.namespace, target)
        view = self.view(target)
        update = Update(target, user, options, self.rules_for(target.resource), view=view)
        body = metadata.in_namespace(stored_form(target.resource, body), target.namespace)
        if view is not None:
            return await self._change_view(update, view, lambda _shown: body)
        body = metadata.without_duplicate_owners(body, options.warnings)
        if not self.reads.exists(target):
            _check_uid(target, body.metadata.uid, None)
            if update.rules.create_on_update and not target.subresource:
                return await self.create(target, user, metadata.without_resource_version(body), options)

        def change(old: Any) -> Any:
            _check_uid(target, body.metadata.uid, old.metadata.uid)
            return body

        return shown_form(target.resource, await self.writes.change(update, change))

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any:
        self._authorizer.check(user, "patch", target)
        view, resource = self.view(target), target.resource
        update = Update(target, user, options, self.rules_for(resource), view=view)
        if view is not None and not options.apply:
            scale = view.body
            return await self._change_view(
                update, view, lambda shown: apply_patch(shown, patch, scale, options)
            )
        if view is not None:
            patch = applied_to_view(patch, view, resource)
        if options.apply and not target.subresource and not self.reads.exists(target):
            made = metadata.without_resource_version(patched(None, patch, target, options))
            return await self.create(replace(target, name=""), user, made, options)

        def change(old: Any) -> Any:
            wanted = patched(shown_form(resource, old), patch, target, options)
            wanted = metadata.in_namespace(wanted, target.namespace)
            check_named(wanted.metadata.name, target)
            check_place(wanted.metadata.name, None, target)
            return stored_form(resource, wanted)

        changed = await self.writes.change(update, change)
        return view.show(changed) if view is not None else shown_form(resource, changed)

    def view(self, target: Target) -> View | None:
        """Return the view that ``target`` names, if it names one. Raises 404 for an unknown subresource."""
        if not target.subresource:
            return None
        if target.subresource not in target.resource.subresources:
            raise errors.not_found(target.resource.plural, target.resource.group, target.name)
        found = self.rules_for(target.resource).subresources.get(target.subresource)
        return found if isinstance(found, View) else None

    async def _change_view(self, update: Update, view: View, make: Change) -> Any:
        def change(old: Any) -> Any:
            body = make(view.show(old))
            found = view.validate(body)
            if found:
                _, _, kind = type(body).group_version_kind
                group = update.target.resource.subresources[update.target.subresource].group
                raise errors.invalid(kind, group, update.target.name, found)
            _check_same(update.target, body.metadata, old.metadata)
            given = body.metadata.resource_version
            changed = view.put(old, body, Context(clock.now(), update.user.name, update.target.subresource))
            changed_metadata = structs.replace(changed.metadata, resource_version=given)
            return structs.replace(changed, metadata=changed_metadata)

        return view.show(await self.writes.change(update, change))

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

        await self.writes.change(Update(target, user, options, rules, trusted=True), change)
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
        return shown_form(target.resource, await self.writes.remove(target, user, options, warnings))

    async def delete_collection(
        self,
        target: Target,
        user: User,
        selected: ListOptions,
        options: DeleteOptions = NO_DELETE_OPTIONS,
        warnings: Warnings = None,
    ) -> Sequence[Any]:
        """Delete everything selected; returns the objects as they were found."""
        self._authorizer.check(user, "deletecollection", target, selected.field_selector)
        found = await self.reads.select(target, selected)
        items: list[Any] = []
        async for block in self.reads.in_turns(target.resource, found.entries):
            items.extend(self.reads.shown(target.resource, entry) for entry in block)
        for obj in items:
            await turns.take(DELETION_BYTES)
            each = replace(target, namespace=obj.metadata.namespace or "", name=obj.metadata.name)
            try:
                await self.writes.remove(each, user, options, warnings, collection=True)
            except errors.ApiError as error:
                if not errors.is_not_found(error):
                    raise
        return items


def _check_uid(target: Target, asked: str | None, found: str | None) -> None:
    """409 when an update means another object than the one that is there; None: there is none."""
    if asked and asked != found:
        resource = target.resource
        key = resource.key(target.namespace, target.name)
        raise errors.other_object(
            resource.plural, resource.group, target.name, key=key, asked=asked, found=found or ""
        )


def _check_same(target: Target, given: ObjectMeta, stored: ObjectMeta) -> None:
    """409 if a view that is written means another object of the same name."""
    if given.uid and given.uid != stored.uid:
        resource = target.resource
        why = f"Precondition failed: UID in precondition: {given.uid}, UID in object meta: {stored.uid}"
        raise errors.conflict(f"{resource.plural}/{target.subresource}", resource.group, target.name, why)
