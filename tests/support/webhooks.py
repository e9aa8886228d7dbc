"""An admission webhook with answers from tests, and its configuration."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from podling.apiserver.auth.pki import Pki
from podling.apiserver.serving import Serving, tls_context
from podling.machinery.encoding import codec
from podling.testing import ControlPlane

Answer = dict[str, Any]
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["configmaps"]}


class Hook:
    """A webhook with the answers that a test sets."""

    def __init__(self, url: str, ca: str) -> None:
        self.client = {"url": f"{url}/admit", "caBundle": ca}
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.code = 200
        self.waits: asyncio.Event | None = None
        """An event to wait for before an answer, if any."""
        self.answer: Callable[[dict[str, Any]], Answer] = lambda _asked: {"allowed": True}

    async def serve(self, request: web.BaseRequest) -> web.Response:
        review = await request.json()
        if self.waits is not None:
            await self.waits.wait()
        self.paths.append(request.path_qs)
        self.headers.append(request.headers)
        self.asked.append(review["request"])
        response = {"uid": review["request"]["uid"], **self.answer(review["request"])}
        return web.json_response({**review, "request": None, "response": response}, status=self.code)

    def webhook(self, name: str = "a.example.com", **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "clientConfig": self.client,
            "rules": [EVERYTHING],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }


def patch(*operations: dict[str, Any]) -> Answer:
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


def label(name: str) -> dict[str, Any]:
    return {"op": "add", "path": "/metadata/labels", "value": {name: "yes"}}


@asynccontextmanager
async def serving_hook(directory: Path) -> AsyncIterator[Hook]:
    """Serve a webhook behind HTTPS on this machine; ``directory`` keeps its certificates."""
    pki = Pki(directory)
    found: list[Hook] = []

    async def serve(request: web.BaseRequest) -> web.Response:
        return await found[0].serve(request)

    runner = web.ServerRunner(web.Server(serve))
    await runner.setup()
    context = tls_context(Serving(certificate=pki.server("webhook", ("127.0.0.1",))))
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    found.append(Hook(f"https://127.0.0.1:{runner.addresses[0][1]}", base64.b64encode(pki.ca_pem).decode()))
    try:
        yield found[0]
    finally:
        await runner.cleanup()


async def configure(plane: ControlPlane, kind: type[Any], *webhooks: dict[str, Any], name: str = "c") -> None:
    plain = {"metadata": {"name": name}, "webhooks": list(webhooks)}
    await plane.client.create(codec.convert(plain, kind)[0])
