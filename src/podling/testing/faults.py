"""Faults that tests make: of nodes, of the control plane, and of the answers that clients get."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.sim.connection import RequestFault
from podling.sim.servers.simulated_servers import ServerFault
from podling.testing.operations import Operations

Mend = Callable[[Operations], Awaitable[None]]
"""Ends a fault, on the cluster's loop."""

KINDS = ("api", "crash", "control-plane", "kubelet", "partition", "server")


async def begin(operations: Operations, kind: str, server: Any, options: dict[str, Any]) -> Mend:
    """Begin a fault; return what ends it. Raises ``ValueError`` for unknown kinds and options.

    ``crash`` and ``kubelet`` (stopped) and ``partition`` (cut off from the API server) take a ``node``;
    ``control-plane`` stops scheduler and controllers; ``api`` takes the fields of ``RequestFault`` and
    ``code``, and decides requests over HTTPS. ``server`` is one of a webhook or an aggregated API that
    ``serve`` has set; ``service`` names it, a pattern. It takes ``seconds``, ``code`` and ``share``; with
    neither of the first two no answer comes.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown fault {kind!r}; there are: {', '.join(KINDS)}")
    if kind == "api":
        return _api_fault(server, options)
    if kind == "server":
        return _server_fault(operations, options)
    if kind == "control-plane":
        _refuse(kind, options)
        await operations.cluster.stop_control_plane()
        return _start_control_plane
    name = options.pop("node", "")
    _refuse(kind, options)
    if name not in operations.cluster.nodes:
        raise ValueError(f"there is no node {name!r}; there are: {', '.join(operations.cluster.nodes)}")
    node = operations.cluster.nodes[name]
    if kind == "partition":
        await node.connection.cut()
        return partial(_mend_connection, name)
    await (node.crash() if kind == "crash" else node.stop())
    return partial(_start_node, name)


def _api_fault(server: Any, options: dict[str, Any]) -> Mend:
    code = options.pop("code", 0)
    unknown = options.keys() - {"verb", "resource", "seconds", "carried_out", "share", "times"}
    _refuse("api", dict.fromkeys(unknown))
    if not code and not options.get("seconds"):
        raise ValueError("a fault of the API needs the code of an error, or seconds of delay")
    fault = RequestFault(error=partial(_error, code) if code else None, **options)
    server.faults.append(fault)

    async def mend(_: Operations) -> None:
        server.faults.remove(fault)

    return mend


def _server_fault(operations: Operations, options: dict[str, Any]) -> Mend:
    service, seconds, code = options.pop("service", "*"), options.pop("seconds", 0), options.pop("code", None)
    share = options.pop("share", 1.0)
    _refuse("server", options)
    hangs = not seconds and code is None
    fault = ServerFault(server=service, seconds=seconds, code=code, hangs=hangs, share=share)
    operations.cluster.servers.faults.append(fault)

    async def mend(own: Operations) -> None:
        own.cluster.servers.faults.remove(fault)

    return mend


def _error(code: int) -> ApiError:
    match code:
        case 429:
            return errors.failure(429, "TooManyRequests", "the test has made this error")
        case 409:
            return errors.failure(409, "Conflict", "the test has made this error")
        case 503:
            return errors.service_unavailable("the test has made this error")
    return errors.failure(code, "InternalError", "the test has made this error")


def _refuse(kind: str, options: dict[str, Any]) -> None:
    if options:
        raise ValueError(f"a fault {kind!r} takes no {', '.join(sorted(options))}")


async def _start_control_plane(operations: Operations) -> None:
    await operations.cluster.start_control_plane()


async def _mend_connection(name: str, operations: Operations) -> None:
    operations.cluster.nodes[name].connection.mend()


async def _start_node(name: str, operations: Operations) -> None:
    await operations.cluster.nodes[name].start()
