"""Requests about objects, as HTTP carries them: bytes and headers to the registry's calls and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from aiohttp import hdrs, web

from podling import clock
from podling.api.meta_v1 import DeleteOptions, ListMeta, Status
from podling.apiserver.http import options as request_options
from podling.apiserver.http import replies
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.list_cache import KeptLists
from podling.apiserver.http.metrics import RequestMetrics
from podling.apiserver.http.negotiation import JSON, PLAIN, Form, Wanted, check_form, negotiate
from podling.apiserver.http.replies import reply_object
from podling.apiserver.http.representations import Renderer
from podling.apiserver.http.resource_paths import Parsed
from podling.apiserver.http.watch_handlers import WatchRequests
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.registry import listing
from podling.apiserver.registry.objects import entry_of
from podling.apiserver.registry.patching import check_named
from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.write_costs import Work
from podling.apiserver.registry.write_jobs import read_patch
from podling.apiserver.registry.write_stages import body_type
from podling.client.base import PatchType
from podling.client.requests import Patch, RawBody, Target, User, WriteOptions
from podling.machinery import errors, tables
from podling.machinery.encoding.custom import CustomObject, CustomResource
from podling.machinery.encoding.request_bodies import read_object
from podling.machinery.encoding.status_json import status_json
from podling.machinery.scheme import Resource
from podling.store.base import Entry
from podling.turns import TURN_BYTES

WRITES = ("create", "update", "patch", "delete")
PATCH_TYPES = {each.value: each for each in PatchType}


class ObjectRequests:
    """Serves every verb of every resource."""

    def __init__(self, registry: Registry, metrics: RequestMetrics) -> None:
        self._registry = registry
        self._metrics = metrics
        self._watches = WatchRequests(registry, metrics)
        self._lists = KeptLists()
        self._verbs = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def close(self) -> None:
        """End every watch, also one that is still to be opened: their clients go on elsewhere."""
        self._watches.close()

    async def serve(self, request: HttpRequest, parsed: Parsed, verb: str, user: User) -> web.StreamResponse:
        target = parsed.target
        if deprecation := self._registry.rules_for(target.resource).deprecation:
            request.deprecation = deprecation
        if verb in WRITES:
            self._registry.authorize(user, verb, target)  # before the body is read
        act = self._verbs[verb]
        acts = bool(target.subresource) and verb == "create"
        several_writes = acts or verb == "deletecollection"
        if not several_writes:
            return await act(request, target, user)  # one write: it happens or it does not
        # A client that goes away does not stop several of them half-way.
        return await asyncio.shield(act(request, target, user))

    async def _get(self, request: HttpRequest, target: Target, user: User) -> web.StreamResponse:
        if "resourceVersion" in request.query_string:
            listing.check_not_older(request.query.get("resourceVersion", ""), self._registry.store.revision)
        accept = request.headers.get(hdrs.ACCEPT, "")
        wanted = PLAIN if accept == JSON else negotiate(accept)
        if target.subresource and self._registry.view(target):
            return await self._answer(request, target, await self._registry.get(target, user), wanted)
        entry = self._registry.authorized_entry(target, user)
        if target.resource.storage:
            await self._registry.reads.prepare(target.resource, [entry])
        entry = self._registry.reads.shown_entry(target.resource, entry)
        if wanted is PLAIN:
            return await reply_object(request, entry.value)
        check_form(wanted, target.resource, listed=False)
        body = self._renderer(target, wanted, request.query).one(entry, clock.now())
        return await reply_object(request, body, media_type=wanted.media_type)

    async def _list(self, request: HttpRequest, target: Target, user: User) -> web.StreamResponse:
        wanted = negotiate(request.headers.get(hdrs.ACCEPT, ""))
        kept = target.resource.stored and target.resource.storage is None
        if not (kept and wanted == PLAIN and not request.query_string):
            return await self._new_list(request, target, user, wanted)
        self._registry.authorize(user, "list", target)
        found = await self._lists.find(target, self._registry.store.revision)
        if found is not None:
            return await reply_object(request, found)
        with self._lists.making(target) as ended:
            return await self._new_list(request, target, user, wanted, ended)

    async def _new_list(
        self,
        request: HttpRequest,
        target: Target,
        user: User,
        wanted: Wanted,
        ended: Callable[[], None] | None = None,
    ) -> web.StreamResponse:
        """Answer with a list made for this request. It is kept for others if they wait until it ``ended``."""
        check_form(wanted, target.resource, listed=True)
        renderer = self._renderer(target, wanted, request.query)
        selected = await self._registry.select(target, user, request_options.list_options(request.query))
        entries = await self._shown(target.resource, selected.entries)
        size = renderer.size_of(entries)
        pieces = renderer.pieces(entries, selected.metadata, clock.now(), size)
        keep = None
        if ended is not None:
            keep = partial(self._lists.keep, target, selected.revision)
            if size > TURN_BYTES:
                ended()  # it is not kept: others need not wait until this client has read it
        return await replies.reply_pieces(request, pieces, wanted.media_type, size=size, keep=keep)

    async def _shown(self, resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries as a list of ``resource`` has them."""
        if not (resource.storage or isinstance(resource, CustomResource)):
            return entries
        shown: list[Entry] = []
        async for block in self._registry.reads.in_turns(resource, entries):
            shown.extend(self._registry.reads.shown_entry(resource, entry) for entry in block)
        return tuple(shown)

    async def _watch(self, request: HttpRequest, target: Target, user: User) -> web.StreamResponse:
        tables = not request_options.is_watch_list(request.query)
        wanted = negotiate(request.headers.get(hdrs.ACCEPT, ""), tables=tables, streamed=True)
        return await self._watches.serve(request, target, user, self._renderer(target, wanted, request.query))

    async def _create(self, request: HttpRequest, target: Target, user: User) -> web.StreamResponse:
        tables = target.resource.stored and not target.subresource  # questions and deeds have no rows
        wanted = self._write_answer(request, tables=tables)
        options = _write_options(request, "create")
        body = await self._body(request, target, Work.CREATE, options)
        made = await self._registry.create(target, user, body, options)
        return await self._answer(request, target, made, wanted, 201)

    async def _update(self, request: HttpRequest, target: Target, user: User) -> web.StreamResponse:
        wanted, options = self._write_answer(request), _write_options(request, "update")
        body = await self._body(request, target, Work.CHANGE, options)
        if not isinstance(body, RawBody):
            check_named(body.metadata.name, target)
        code = self._code_of_change(target)
        changed = await self._registry.update(target, user, body, options)
        return await self._answer(request, target, changed, wanted, code)

    def _code_of_change(self, target: Target) -> int:
        """Return the status code of a change: 201 if it creates the object, else 200."""
        return 200 if self._registry.reads.exists(target) else 201

    async def _patch(self, request: HttpRequest, target: Target, user: User) -> web.StreamResponse:
        wanted = self._write_answer(request)
        media_type = request.headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip()
        patch_type = PATCH_TYPES.get(media_type)
        if patch_type is None:
            raise errors.unsupported_media_type(list(PATCH_TYPES))
        options = _write_options(request, "patch", patch_type)
        data = await request.read()
        patch = Patch(patch_type, RawBody(data, media_type))
        work = Work.APPLY if options.apply else Work.CHANGE
        if not self._registry.reads_later(work, target.resource, data):
            patch = read_patch(patch, target.resource)
        code = self._code_of_change(target)
        changed = await self._registry.patch(target, user, patch, options)
        return await self._answer(request, target, changed, wanted, code)

    async def _delete(self, request: HttpRequest, target: Target, user: User) -> web.StreamResponse:
        wanted = self._write_answer(request)
        options = request_options.delete_options(
            request.query, await self._delete_body(request, target, user)
        )
        warnings = list(self._registry.rules_for(target.resource).warnings_on_delete(options))
        request.warnings = warnings
        result = await self._registry.delete(target, user, options, warnings)
        stays = options.orphan_dependents is False and self._registry.reads.exists(target)
        return await self._answer(request, target, result, wanted, 202 if stays else 200)

    async def _delete_collection(
        self, request: HttpRequest, target: Target, user: User
    ) -> web.StreamResponse:
        wanted = self._write_answer(request)
        selected = request_options.list_options(request.query)
        self._registry.authorize(user, "deletecollection", target, selected.field_selector)
        options = request_options.delete_options(
            request.query, await self._delete_body(request, target, user)
        )
        warnings = list(self._registry.rules_for(target.resource).warnings_on_delete(options))
        request.warnings = warnings
        revision = ListMeta(resource_version=str(self._registry.store.revision))
        found = await self._registry.delete_entries(target, user, selected, options, warnings)
        renderer = self._renderer(target, wanted, request.query)
        entries = await self._shown(target.resource, found)
        size = renderer.size_of(entries)
        pieces = renderer.pieces(entries, revision, clock.now(), size)
        return await replies.reply_pieces(request, pieces, wanted.media_type, size=size)

    async def _body(self, request: HttpRequest, target: Target, work: Work, options: WriteOptions) -> Any:
        """Return the object in the body of a request, a large one as it came.

        Faults of it that are no errors become warnings.
        """
        kind = body_type(target)
        content_type = request.headers.get(hdrs.CONTENT_TYPE, JSON)
        data = await request.read()
        if self._registry.reads_later(work, target.resource, data):
            return RawBody(data, content_type)
        body, found = read_object(data, content_type, kind, options.field_validation)
        options.warnings.extend(found)
        return body

    async def _delete_body(self, request: HttpRequest, target: Target, user: User) -> DeleteOptions | None:
        data = await request.read()
        if not data:
            return None
        content_type = request.headers.get(hdrs.CONTENT_TYPE, JSON)
        return await self._registry.read_delete_options(target, user, RawBody(data, content_type))

    def _write_answer(self, request: HttpRequest, *, tables: bool = True) -> Wanted:
        """Return the form of a write's answer. Checked before the write, so that a 406 stores nothing."""
        return negotiate(request.headers.get(hdrs.ACCEPT, ""), tables=tables)

    async def _answer(
        self,
        request: HttpRequest,
        target: Target,
        obj: Any,
        wanted: Wanted,
        code: int = 200,
    ) -> web.StreamResponse:
        view = self._registry.view(target)
        own = view.body if view else (target.resource.type, CustomObject)
        shows_itself = not target.subresource or isinstance(obj, own)
        if wanted.form is Form.OBJECT or isinstance(obj, Status) or not shows_itself:
            body = status_json(obj) if isinstance(obj, Status) else self._registry.reads.json_of(target, obj)
        else:
            body = self._renderer(target, wanted, request.query).one(entry_of(obj), clock.now())
        return await reply_object(request, body, code=code, media_type=wanted.media_type)

    def _renderer(self, target: Target, wanted: Wanted, query: Mapping[str, str]) -> Renderer:
        """Makes answers about ``target``, which may be a view of its object."""
        asked = query.get("includeObject", "") if wanted.form is Form.TABLE else ""
        include = tables.check_include_object(asked)
        view = self._registry.view(target)
        rules = self._registry.rules_for(target.resource) if view is None else view.table or KindRules[Any]()
        return Renderer(target.resource, rules, wanted.form, include, wanted.version)


def _write_options(request: HttpRequest, verb: str, patch_type: PatchType | None = None) -> WriteOptions:
    agent = request.headers.get(hdrs.USER_AGENT, "")
    options = request_options.write_options(request.query, verb, patch_type, agent)
    request.warnings = options.warnings
    return options
