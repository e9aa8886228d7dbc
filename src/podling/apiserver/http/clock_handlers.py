"""The paths below ``/podling/clock``, by which clients wind the clock of a cluster that has one.

``GET /podling/clock`` returns its state; ``POST`` to ``advance``, ``run-until`` and ``speed`` move it and
return the state afterwards. The server authorises them as any path that is no resource
(``nonResourceURLs``); only administrators may use them by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import msgspec
from aiohttp import web

from podling import clock
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.replies import reply
from podling.apiserver.http.wait_conditions import parse, resource_named, until_met
from podling.apiserver.registry.registry import Registry
from podling.client.requests import User
from podling.machinery import errors
from podling.machinery.scheme import RESOURCES, Resource
from podling.winding import Winding

PREFIX = "/podling/clock"

B = TypeVar("B")


class Advance(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body of ``advance``.

    Args:
        seconds: the time to let pass.
        settle_seconds: the time of the machine that clients have for their reactions, from now on.
    """

    seconds: float
    settle_seconds: float | None = None


class RunUntil(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body of ``run-until``: a condition, its namespace, and the most time that may pass."""

    condition: str
    namespace: str = "default"
    at_most_seconds: float = 86_400.0
    settle_seconds: float | None = None


class Speed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of ``speed``: cluster seconds for each second of the machine; 0 stops the clock."""

    speed: float


class ClockRequests:
    """Serves the clock of the running loop, if it is one that is wound.

    Args:
        custom: returns the resources beside the built-in ones.
    """

    def __init__(self, registry: Registry, custom: Callable[[], tuple[Resource, ...]]) -> None:
        self._registry = registry
        self._custom = custom

    @staticmethod
    def serves(path: str) -> bool:
        """Return whether a path is one of the clock's, and there is a clock to wind."""
        is_below = path == PREFIX or path.startswith(f"{PREFIX}/")
        return is_below and clock.wound_clock() is not None

    async def serve(self, request: HttpRequest, user: User) -> web.StreamResponse:
        """Answer a request that is authorised. Raises 400, 404 and 405."""
        winding = clock.wound_clock()
        assert isinstance(winding, Winding)
        action = request.path.removeprefix(PREFIX).strip("/")
        if action not in ("", "advance", "run-until", "speed"):
            raise errors.no_such_resource()
        if request.method != ("POST" if action else "GET"):
            raise errors.no_such_method()
        try:
            met = await self._act(winding, action, request, user)
        except ValueError as error:
            raise errors.bad_request(str(error)) from None
        found = msgspec.to_builtins(winding.status())
        if met is not None:
            found["met"] = met
        return await reply(request, msgspec.json.encode(found))

    async def _act(self, winding: Winding, action: str, request: HttpRequest, user: User) -> bool | None:
        """Wind the clock; return whether the condition was met, if there is one."""
        match action:
            case "advance":
                asked = await _body(request, Advance)
                _settle(winding, asked.settle_seconds)
                await winding.advance(asked.seconds)
            case "speed":
                winding.set_speed((await _body(request, Speed)).speed)
            case "run-until":
                return await self._run_until(winding, await _body(request, RunUntil), user)
        return None

    async def _run_until(self, winding: Winding, asked: RunUntil, user: User) -> bool:
        _settle(winding, asked.settle_seconds)
        awaited = parse(asked.condition, asked.namespace)
        resource = resource_named(awaited.resource, (*RESOURCES, *self._custom()))
        if resource is None:
            raise ValueError(f'the server doesn\'t have a resource type "{awaited.resource}"')
        met = until_met(self._registry, resource, awaited, user)
        return await winding.run_until(met, asked.at_most_seconds)


async def _body(request: HttpRequest, kind: type[B]) -> B:
    """Return a request's body. Raises ``ValueError``."""
    return msgspec.json.decode(await request.read(), type=kind)


def _settle(winding: Winding, seconds: float | None) -> None:
    if seconds is None:
        return
    if not 0 <= seconds < math.inf:
        raise ValueError("settleSeconds must be 0 or more")
    winding.settle_seconds = seconds
