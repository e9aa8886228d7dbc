"""Connections to extenders over real sockets: HTTP, TLS with and without an authority, time limits."""

from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path

import pytest
from aiohttp import web

from podling.apiserver.auth.pki import Pki
from podling.scheduler.configuration.types import Extender, ExtenderTLS
from podling.scheduler.extenders.http_extender import ExtenderFailed
from podling.scheduler.extenders.transport import connection
from podling.scheduler.plugin_registry import PluginRefused
from tests.unit.kubelet.probes.servers import server

real = pytest.mark.asyncio(loop_factories=["real"])


@real
async def test_request_is_a_post_of_json() -> None:
    seen: list[tuple[str, str, str, bytes]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.method, request.path, request.content_type, await request.read()))
        return web.Response(text="yes")

    async with server(handler) as port:
        url = f"http://127.0.0.1:{port}/v1/filter"
        assert await connection(Extender(url_prefix=url))(url, b"{}") == (200, b"yes")
    assert seen == [("POST", "/v1/filter", "application/json", b"{}")]


@real
async def test_request_ends_with_its_time() -> None:
    over = asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        await over.wait()
        return web.Response()

    async with server(handler) as port:
        url = f"http://127.0.0.1:{port}/"
        with pytest.raises(ExtenderFailed, match="context deadline exceeded"):
            await connection(Extender(url_prefix=url, http_timeout="50ms"))(url, b"{}")
        over.set()


@real
async def test_connection_that_fails_is_doubtful() -> None:
    with pytest.raises(ExtenderFailed) as failed:
        await connection(Extender(url_prefix="http://127.0.0.1:1"))("http://127.0.0.1:1/filter", b"{}")
    text = 'Post "http://127.0.0.1:1/filter": dial tcp 127.0.0.1:1: connect: connection refused'
    assert str(failed.value) == text
    assert failed.value.is_doubtful


@pytest.mark.parametrize(
    ("tls", "text"),
    [
        (
            ExtenderTLS(insecure=True, ca_file="/ca.crt"),
            "specifying a root certificates file with the insecure flag is not allowed",
        ),
        (
            ExtenderTLS(cert_file="/tls.crt"),
            "certFile/certData and keyFile/keyData must be specified together",
        ),
        (ExtenderTLS(ca_data="&"), "illegal base64 data"),
        (ExtenderTLS(ca_file="/missing"), "No such file"),
    ],
)
def test_unusable_tls_settings_are_refused(tls: ExtenderTLS, text: str) -> None:
    with pytest.raises(PluginRefused, match=text):
        connection(Extender(url_prefix="https://e", tls_config=tls))


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


def tls_settings(pki: Pki, trusts: str) -> ExtenderTLS:
    """Return settings with a client's certificate as data and its key as a file."""
    client = pki.admin()
    return ExtenderTLS(
        insecure=trusts == "insecure",
        ca_data=base64.b64encode(pki.ca_pem).decode() if trusts == "authority" else "",
        cert_data=base64.b64encode(client.certificate.read_bytes()).decode(),
        key_file=str(client.key),
    )


@real
@pytest.mark.parametrize(
    ("trusts", "enable_https", "works"),
    [("authority", False, True), ("", True, True), ("", False, False), ("insecure", False, True)],
)
async def test_certificate_is_checked_unless_configured_otherwise(
    pki: Pki, trusts: str, enable_https: bool, works: bool
) -> None:
    """An extender at an address for which the authority has issued a certificate."""
    pair = pki.server("extender", ["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=pki.ca_pem.decode())
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_REQUIRED
    tls = tls_settings(pki, trusts)

    async def handler(request: web.Request) -> web.Response:
        return web.Response(text="yes")

    async with server(handler, context) as port:
        url = f"https://127.0.0.1:{port}/filter"
        send = connection(Extender(url_prefix=url, enable_https=enable_https, tls_config=tls))
        if works:
            assert await send(url, b"{}") == (200, b"yes")
        else:
            with pytest.raises(ExtenderFailed, match="certificate"):
                await send(url, b"{}")
