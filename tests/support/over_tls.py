"""An API server over TLS in this process, reached as clients reach it: with certificates and tokens."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from podling.apiserver.app import HttpServer
from podling.apiserver.auth.pki import KeyPair, Pki
from podling.apiserver.proxy.streams import HttpsNodeConnector, StreamRequests
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.client.requests import User
from podling.store.memory import MemoryStore


class Running:
    """A served API server and HTTP sessions with its credentials."""

    def __init__(self, api: ApiServer, http: HttpServer, pki: Pki) -> None:
        self.api, self.http, self.pki = api, http, pki
        self.url = f"https://127.0.0.1:{http.port}"

    def session(self, pair: KeyPair | None = None, token: str = "") -> aiohttp.ClientSession:
        """Open a session with a client certificate, a bearer token, or no credential."""
        context = ssl.create_default_context(cafile=str(self.pki.ca.certificate))
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        headers = {"Accept-Encoding": "identity"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return aiohttp.ClientSession(
            self.url, connector=aiohttp.TCPConnector(ssl=context), headers=headers, auto_decompress=False
        )

    def admin(self) -> aiohttp.ClientSession:
        return self.session(self.pki.admin())


@asynccontextmanager
async def running_over_tls(folder: Path, **options: Any) -> AsyncIterator[Running]:
    """A new cluster's server; the token ``s3cret`` is an administrator's.

    ``options`` are further fields of ``Serving``.
    """
    pki, store = Pki(folder / "pki"), MemoryStore()
    admin = User("token-admin", ("system:masters",))
    api = ApiServer(store, (), signing_key=pki.service_account_key(), static_tokens={"s3cret": admin})
    await api.start()
    connector = HttpsNodeConnector(pki.ca, pki.kubelet_client())
    certificate = pki.server("apiserver", ["127.0.0.1"])
    serving = Serving(port=0, certificate=certificate, client_ca=pki.ca, **options)
    http = HttpServer(api, api.authenticator, serving, StreamRequests(api.registry, api.objects, connector))
    await http.start()
    try:
        yield Running(api, http, pki)
    finally:
        await http.stop()
        await api.stop()
        await store.close()
