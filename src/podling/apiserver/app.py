"""The HTTP edge: sockets, TLS, and authentication. All other stages are called from here.

There is no table of routes: a path either names a resource (``resource_paths.parse_path``) or is one of a few
documents. Every error becomes a ``Status``; an unexpected error is logged with the request's audit ID and
answered as 500.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, cast

from aiohttp import hdrs, web

from podling import clock, turns
from podling.apiserver.aggregation.api_services import External
from podling.apiserver.aggregation.backend import AGGREGATOR, UNAVAILABLE
from podling.apiserver.aggregation.local_apis import serve_local
from podling.apiserver.auth import issuer
from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.authz import refusal
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.flowcontrol.filter import KnownFlow
from podling.apiserver.flowcontrol.work_estimator import WITH_BODIES
from podling.apiserver.http.clock_handlers import ClockRequests
from podling.apiserver.http.component_pages import ComponentPages
from podling.apiserver.http.exchange import CACHE_CONTROL, Answer, HttpRequest
from podling.apiserver.http.health import Health
from podling.apiserver.http.metrics import (
    Labels,
    RequestCounts,
    RequestMetrics,
    path_labels,
    stored_objects,
    target_labels,
)
from podling.apiserver.http.nonresource_handlers import Documents
from podling.apiserver.http.options import flag, time_limit
from podling.apiserver.http.replies import TEXT, reply, reply_error, reply_text
from podling.apiserver.http.request_ends import (
    CLIENT_GONE,
    MAX_BODY_BYTES,
    answer_failure,
    send,
    send_continue,
)
from podling.apiserver.http.request_users import request_attributes, user_of
from podling.apiserver.http.resource_handlers import ObjectRequests
from podling.apiserver.http.resource_paths import Parsed, parse_path, verb_of
from podling.apiserver.http.websocket_tokens import with_bearer_token
from podling.apiserver.proxy.streams import StreamRequests
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import CONNECTIONS, SHUTDOWN_SECONDS, Serving, tls_context
from podling.client.requests import Target, User
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.machinery.text_cache import LENGTH_MAX
from podling.streaming.listener import Listener

log = logging.getLogger(__name__)

LONG_PATH = 2048
"""To parse a path and a query of this length takes 1 ms."""
APPLY = "application/apply-patch"
ROUTES_MAX = 4096
"""Meanings of requests remembered before remembering starts afresh."""
TIMED_OUT = "request did not complete within the allotted timeout"
WRITER = "writer"
"""The process that a client of an API worker names in ``?process=`` for the documents of the writer."""
STREAMS = ("log", "exec", "attach", "portforward", "proxy")


class Writer(Protocol):
    """The process that writes, for a server whose store is a replica."""

    def is_ahead(self, request: HttpRequest) -> bool:
        """Return whether the store lacks something that the answer to ``request`` must show."""
        ...

    async def caught_up(self, request: HttpRequest) -> None:
        """Wait until the store has it; not for ever, then the request ``is_stale``."""
        ...

    def serves(self, request: HttpRequest, verb: str, target: Target) -> bool:
        """Return whether the writer has to answer."""
        ...

    async def forward(self, request: HttpRequest, user: User) -> web.StreamResponse:
        """Return the writer's answer."""
        ...


class _Route(NamedTuple):
    """The meaning of a request for a resource."""

    parsed: Parsed
    verb: str
    counts: RequestCounts
    flow: KnownFlow


class HttpServer:
    """Serves an ``ApiServer`` to the world.

    Args:
        writer: the process that writes, if this one does not.
    """

    def __init__(
        self,
        api: ApiServer,
        authenticator: Authenticator,
        serving: Serving,
        streams: StreamRequests | None = None,
        writer: Writer | None = None,
    ) -> None:
        self._api = api
        self._writer = writer
        self._authenticator = authenticator
        self._serving = serving
        self._streams = streams
        self._metrics = RequestMetrics(lambda: stored_objects(api.store, api.catalogue.resources()))
        self._objects = ObjectRequests(api.registry, self._metrics)
        self._clock = ClockRequests(api.registry, api.catalogue.resources)
        self._fairness = api.fairness
        self._arrivals = api.arrivals
        self._documents = Documents(
            lambda: f"{serving.host}:{self.port}",
            Health(serving.checks, serving.ready_checks),
            lambda: (self._metrics, *api.collectors),
            api.catalogue.resources,
            api.discovered,
            api.aggregation,
            ComponentPages(serving.flags, api.feature_gates),
        )
        self._server = web.Server(
            cast("Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]", self._handle),
            request_factory=self._request,
            handler_cancellation=True,
        )
        self._routes: dict[tuple[str, str], _Route] = {}
        """The meaning of requests without a query, by method and path."""
        self._runner: web.ServerRunner | None = None
        self._stopping = False
        self.port = serving.port

    async def start(self) -> None:
        """Listen. Port 0 takes a free one; ``port`` says which."""
        if self._serving.listening is not None:
            self.port = self._serving.listening.port
        if not self._serving.accepts:
            return
        runner = web.ServerRunner(self._server, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        site = Listener(
            runner,
            self._serving.host,
            self._serving.port,
            also=self._serving.also,
            ssl_context=tls_context(self._serving),
            limits=self._serving.limits,
            timeouts=self._serving.timeouts,
            options=CONNECTIONS,
        )
        if self._serving.listening is not None:
            site.share(self._serving.listening)
        await site.start()
        self._runner = runner
        self.port = site.port
        self._api.measure_loop()
        self._api.start_workers()
        await self._api.announce(self._serving.host, self.port)

    async def stop(self) -> None:
        """End every watch and stream, let running requests finish, and close."""
        self._stopping = True
        self._objects.close()
        if self._streams is not None:
            await self._streams.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def inside_server(self) -> web.Server:
        """Return a server of the same requests for sockets whose clients name the users of their requests."""

        def trusted(message: Any, *rest: Any) -> HttpRequest:
            request = self._request(message, *rest)
            request.is_inside = True
            return request

        return web.Server(
            cast("Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]", self._handle),
            request_factory=trusted,
            handler_cancellation=True,
            **CONNECTIONS,
        )

    def _request(
        self, message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]
    ) -> HttpRequest:
        """Return a request whose body may be as large as Kubernetes allows."""
        loop = asyncio.get_running_loop()
        request = HttpRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY_BYTES)
        request.seconds = self._serving.timeouts.request
        return request

    async def _handle(self, request: HttpRequest) -> web.StreamResponse:
        started = clock.machine_monotonic()
        counts: RequestCounts | None = None
        if self._arrivals.is_awaited:
            self._arrivals.note()
        try:
            if hdrs.EXPECT in request.headers:
                await send_continue(request)
            if hdrs.UPGRADE in request.headers:
                request = with_bearer_token(request)
            request.received = started
            if self._writer is not None and self._writer.is_ahead(request):
                await self._writer.caught_up(request)
            if len(request.raw_path) > LONG_PATH:
                await turns.take()  # selectors: some are parsed more than once
            route = self._routes.get((request.method, request.raw_path)) or self._route(request)
            if route is None:
                counts = self._begun(path_labels(request.method, request.path))
                response = await self._other(request)
            else:
                counts = route.counts
                counts.begin()
                response = await self._resource(request, route)
        except Exception as error:
            response = await answer_failure(request, error)
        except asyncio.CancelledError:
            if request.is_late and not request.writer.output_size:
                request.task.uncancel()
                request.is_terminated = True
                response = await reply_error(request, errors.gateway_timeout(TIMED_OUT))
            else:
                if counts is not None:
                    counts.end(CLIENT_GONE, clock.machine_monotonic() - started)
                raise
        finally:
            ended = clock.machine_monotonic()
            if request.place is not None:
                request.place.close(request, started, ended)
            for timer in (request.timer, request.hold):
                if timer is not None:
                    timer.cancel()
        if self._stopping:
            response.force_close()  # the connection came too late to be closed with the others
        if counts is None:  # refused before it was understood
            counts = self._begun(path_labels(request.method, request.path))
        counts.end(response.status, ended - started, terminated=request.is_terminated)
        if type(response) is not Answer and isinstance(response, web.Response) and not response.prepared:
            await send(request, response)
        return response

    def _route(self, request: HttpRequest) -> _Route | None:
        """Return the meaning of a request for a resource; None for other requests. Raises 405.

        That of a path of a built-in resource is remembered: it is always the same.
        """
        parsed = built_in = parse_path(request.path)
        if parsed is None:
            parsed = self._api.catalogue.parse_path(request.path)
        if parsed is None:
            return None
        verb, path = self._verb(request, parsed), request.raw_path
        counts = self._metrics.of(_labels(request, verb, parsed))
        route = _Route(parsed, verb, counts, KnownFlow())
        if built_in is not None and verb != "patch" and "?" not in path and len(path) <= LENGTH_MAX:
            if len(self._routes) >= ROUTES_MAX:
                self._routes.clear()
            self._routes[request.method, path] = route
        return route

    def _begun(self, labels: Labels) -> RequestCounts:
        """Count a request with these labels that is being served; return their counts."""
        counts = self._metrics.of(labels)
        counts.begin()
        return counts

    async def _resource(self, request: HttpRequest, route: _Route) -> web.StreamResponse:
        parsed, verb = route.parsed, route.verb
        streams = parsed.target.subresource in STREAMS
        if verb != "watch" and not streams:
            request.hold = clock.hold_for_client()
        if "timeout=" in request.query_string and verb != "watch" and not streams:
            _limit_time(request)
        user = user_of(request, self._authenticator, self._api.authorizer)
        if streams:
            if self._streams is None:
                raise errors.service_unavailable("this server reaches no nodes")
            return await self._streams.serve(request, parsed, verb, user)
        if verb in WITH_BODIES and not request.content.is_eof() and request.has_small_body:
            self._api.registry.authorize(user, verb, parsed.target)
            await request.read()  # a client that sends slowly is to occupy no seat meanwhile
        writer = self._writer
        is_elsewhere = writer is not None and writer.serves(request, verb, parsed.target)
        if writer is not None and is_elsewhere and (request.has_small_body or not request.body_exists):
            return await writer.forward(request, user)  # whose priority levels limit it
        wait = self._fairness.begin(request, user, verb, parsed.target, route.flow)
        if wait is not None:
            await wait
        if writer is not None and is_elsewhere:
            return await writer.forward(request, user)  # only now, as its body takes memory here
        return await self._objects.serve(request, parsed, verb, user)

    def _verb(self, request: HttpRequest, parsed: Parsed) -> str:
        """Return the verb of a resource request. Raises 405, but only after the client is authorised."""
        by_query = not parsed.target.name and "watch" in request.query_string
        watch = parsed.watch or (by_query and flag(request.query, "watch"))
        try:
            return verb_of(request.method, parsed.target, watch=watch and request.method == "GET")
        except ApiError:
            user = user_of(request, self._authenticator, self._api.authorizer)
            asked = request_attributes(request)
            if self._api.flows.following:
                self._fairness.classify(request, user, asked)
            self._authorize(user, asked)
            raise

    async def _authorized(self, request: HttpRequest) -> User:
        """Return the user of a request after a check of its path and method. Raises 401, 403 and 429."""
        user = user_of(request, self._authenticator, self._api.authorizer)
        asked = request_attributes(request)
        wait = self._fairness.begin_path(request, user, asked)
        if wait is not None:
            await wait
        self._authorize(user, asked)
        return user

    def _authorize(self, user: User, asked: Attributes) -> None:
        decision = self._api.authorizer.decide(user, asked)
        if not decision.allowed:
            raise refusal(user, asked, decision.reason)

    async def _other(self, request: HttpRequest) -> web.StreamResponse:
        """Answer a request of an aggregated API, or for a document. The writer serves local APIs."""
        if (external := self._api.aggregation.find(request.path)) is not None:
            return await self._external(request, external)
        if "timeout=" in request.query_string and "watch" not in request.query_string:
            _limit_time(request)
        if (local := self._api.aggregation.find_local(request.path)) is None:
            return await self._document(request)
        user = await self._authorized(request)
        if self._writer is not None:
            return await self._writer.forward(request, user)
        return await serve_local(request, local)

    async def _external(self, request: HttpRequest, external: External) -> web.StreamResponse:
        """Forward the request to an aggregated server, if the user is authorised."""
        user = await self._authorized(request)
        if not external.available:
            return await reply_text(request, UNAVAILABLE, code=503)
        if "watch" in request.query_string:
            request.release_seats()
        else:
            request.hold = clock.hold_for_client()
        return await self._api.aggregation.backend.serve(request, external.service, user)

    async def _document(self, request: HttpRequest) -> web.StreamResponse:
        if self._clock.serves(request.path):  # winding takes as long as it takes, and holds no seat
            user = user_of(request, self._authenticator, self._api.authorizer)
            self._authorize(user, request_attributes(request))
            return await self._clock.serve(request, user)
        user = await self._authorized(request)
        if self._writer is not None and request.query.get("process") == WRITER:
            return await self._writer.forward(request, user)
        elsewhere = self._api.aggregation.described_by(request.path)
        if elsewhere is not None:
            return await self._api.aggregation.backend.serve(request, elsewhere, AGGREGATOR)
        if (media_type := issuer.MEDIA_TYPES.get(request.path)) is not None:
            address = f"{self._serving.host}:{self.port}"
            body = issuer.document(request.path, address, self._api.tokens.public_key)
            return await reply(request, body, media_type=media_type, headers={CACHE_CONTROL: issuer.KEPT})
        if (page := self._fairness.page(request)) is not None:
            return await reply(request, page.encode(), media_type=TEXT)
        return await self._documents.serve(request)


def _labels(request: HttpRequest, verb: str, parsed: Parsed) -> Labels:
    applies = verb == "patch" and request.headers.get(hdrs.CONTENT_TYPE, "").startswith(APPLY)
    return target_labels(verb, parsed.target, applies=applies, dry_run="dryRun" in request.query_string)


def _limit_time(request: HttpRequest) -> None:
    """Note the time that the client allows for its request. Raises 400."""
    seconds = time_limit(request.query)
    if seconds is not None and seconds < request.seconds:
        request.time_limit = seconds
        request.timer = asyncio.get_running_loop().call_later(seconds, request.end_late)
