"""The node's images over HTTPS: the API that ``podling image`` uses on a running node.

Kubernetes has no such API: there each runtime brings its own tool. One process owns the image store's
directory, so the command line calls that process instead of changing the files. The kubelet server admits
administrators only, and archives are named by their path on the node.

    GET    /images                                    -> {"images": [...]}
    POST   /images/load   {"path", "names"}           -> {"images": [...]}
    POST   /images/pull   {"name", "username", "password"} -> {"images": [...]}
    DELETE /images?name=NAME                          -> {"images": []}
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from aiohttp import web

from podling.runtime.base import Credentials, Image, ImageFailure, ImageService, NotFound, RuntimeFailure

T = TypeVar("T")


class LoadRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    names: tuple[str, ...] = ()


class PullRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    username: str = ""
    password: str = ""


class Images(msgspec.Struct, frozen=True):
    """The response: images as they now are, or the request's error."""

    images: tuple[Image, ...] = ()
    error: str = ""


def image_routes(images: Callable[[], ImageService]) -> Sequence[web.RouteDef]:
    """Return the routes above, over the image service that ``images`` returns."""

    async def list_all(request: web.Request) -> web.Response:
        return await _answer(images().list_images())

    async def load(request: web.Request) -> web.Response:
        wanted = await _body(request, LoadRequest)
        return await _answer(images().load(Path(wanted.path), wanted.names))

    async def pull(request: web.Request) -> web.Response:
        wanted = await _body(request, PullRequest)
        login = (Credentials(username=wanted.username, password=wanted.password),) if wanted.username else ()
        return await _answer(_one(images().pull(wanted.name, login)))

    async def remove(request: web.Request) -> web.Response:
        return await _answer(_none(images().remove_image(request.query.get("name", ""))))

    return (
        web.get("/images", list_all),
        web.post("/images/load", load),
        web.post("/images/pull", pull),
        web.delete("/images", remove),
    )


async def _one(image: Awaitable[Image]) -> tuple[Image, ...]:
    return (await image,)


async def _none(done: Awaitable[None]) -> tuple[Image, ...]:
    await done
    return ()


async def _body(request: web.Request, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.read(), type=shape)
    except msgspec.DecodeError as error:
        raise web.HTTPBadRequest(text=str(error)) from error


async def _answer(images: Awaitable[tuple[Image, ...]]) -> web.Response:
    try:
        return _json(200, Images(await images))
    except NotFound as error:
        return _json(404, Images(error=str(error)))
    except (ImageFailure, RuntimeFailure, OSError) as error:
        return _json(422, Images(error=str(error)))


def _json(status: int, answer: Images) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(answer), content_type="application/json")
