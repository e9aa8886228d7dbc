"""Webhooks and aggregated APIs of tests: Python functions and ASGI applications instead of servers.

An application's own work takes the machine's time, while the cluster's stands still. It must end within
the time-out of the call, in the machine's time. The delay that a test gives is time of the cluster.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from podling import clock
from podling.apiserver.backends.local_servers import ServerAnswer, ServerRequest
from podling.sim.servers.simulated_servers import Handler

App = Callable[..., Any]
"""A function of a review's request, or an ASGI application (``scope``, ``receive``, ``send``)."""
Plain = dict[str, Any]


def handler_of(app: App, seconds: float = 0.0) -> Handler:
    """Return the handler that answers with an application, ``seconds`` of the cluster's time later."""
    answer = partial(_answer_of_app, app) if is_asgi(app) else partial(_answer_of_function, app)

    async def handle(request: ServerRequest) -> ServerAnswer:
        if seconds:
            await clock.sleep_in_request(seconds)
        hold = clock.hold()
        try:
            async with asyncio.timeout(request.seconds):
                return await answer(request)
        except TimeoutError:
            raise
        except Exception as error:
            return _failure(error)
        finally:
            if hold is not None:
                hold.cancel()

    return handle


def is_asgi(app: App) -> bool:
    """Return whether an application takes the three arguments of ASGI."""
    return len(inspect.signature(app).parameters) == 3


async def _answer_of_function(function: App, request: ServerRequest) -> ServerAnswer:
    """Answer a review with a function; one that is no coroutine runs in a thread, and may use any client."""
    review: Plain = msgspec.json.decode(request.body)
    asked: Plain = review["request"]
    if inspect.iscoroutinefunction(function):
        found = await function(asked)
    else:
        found = await asyncio.to_thread(function, asked)
    is_conversion = review["kind"] == "ConversionReview"
    response = conversion_response(asked, found) if is_conversion else admission_response(asked, found)
    head = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
    return ServerAnswer(200, msgspec.json.encode({**head, "response": response}))


def admission_response(request: Plain, found: Any) -> Plain:
    """Return the response to an admission review that a function's value means. Pure.

    True and None allow the request, False and a text, the message, refuse it, a list is a JSON patch, and a
    dictionary the response itself. Raises ``TypeError`` for other values.
    """
    uid = {"uid": request.get("uid")}
    if found is None or isinstance(found, bool):
        return {**uid, "allowed": found is not False}
    if isinstance(found, str):
        return {**uid, "allowed": False, "status": {"code": 403, "message": found}}
    if isinstance(found, list):
        encoded = base64.b64encode(msgspec.json.encode(found)).decode()
        return {**uid, "allowed": True, "patchType": "JSONPatch", "patch": encoded}
    if isinstance(found, dict):
        return {**uid, **found}
    raise TypeError(f"a webhook returned {type(found).__name__}: see podling.testing for what it may return")


def conversion_response(request: Plain, found: Any) -> Plain:
    """Return the response to a conversion review: the converted objects, or the message of a failure. Pure.

    Raises ``TypeError`` for other values.
    """
    uid = {"uid": request.get("uid")}
    if isinstance(found, str):
        return {**uid, "result": {"status": "Failure", "message": found}}
    if isinstance(found, list):
        return {**uid, "convertedObjects": found, "result": {"status": "Success"}}
    raise TypeError(f"a conversion returned {type(found).__name__}, not a list of objects")


async def _answer_of_app(app: App, request: ServerRequest) -> ServerAnswer:
    """Answer a request with an ASGI application. Its start and end (``lifespan``) are not called."""
    path, _, query = request.path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in request.headers],
        "client": None,
        "server": ("localhost", 443),
    }
    sent: list[Plain] = []
    is_read = False

    async def receive() -> Plain:
        nonlocal is_read
        if is_read:
            return {"type": "http.disconnect"}
        is_read = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message: Plain) -> None:
        sent.append(message)

    call: Awaitable[None] = app(scope, receive, send)
    await call
    start = next((each for each in sent if each["type"] == "http.response.start"), None)
    if start is None:
        raise RuntimeError("the application sent no response")
    body = b"".join(each.get("body", b"") for each in sent if each["type"] == "http.response.body")
    headers = tuple((name.decode(), value.decode()) for name, value in start.get("headers", ()))
    return ServerAnswer(start["status"], body, headers)


def _failure(error: Exception) -> ServerAnswer:
    text = f"{type(error).__name__}: {error}"
    return ServerAnswer(500, text.encode(), (("Content-Type", "text/plain"),))
