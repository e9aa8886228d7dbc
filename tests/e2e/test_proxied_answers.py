"""Pods and nodes through the API server's proxy: links, redirects, headers, encodings, long documents."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import json
import ssl
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from podling.api.core_v1 import Pod
from podling.apiserver.proxy.proxied_replies import Deflated
from podling.kubelet.node.machine import primary_address
from tests.e2e.test_streams_over_tls import bound_pod
from tests.support.over_tls import running_over_tls

pytestmark = pytest.mark.e2e

PAGE = '<p>é</p><a href="/a">a</a><a href="b">b</a><img src="http://example.com/c"/>'
PROXY = "/api/v1/namespaces/default/pods/p:{port}/proxy"
NODE = "/api/v1/nodes/n1/proxy"


def page(prefix: str) -> str:
    return PAGE.replace('"/a"', f'"{prefix}/a"')


def raw_deflate(data: bytes) -> bytes:
    writer = zlib.compressobj(wbits=-15)
    return writer.compress(data) + writer.flush()


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "deflate": raw_deflate,
    "br": lambda data: b"\xff" + data,
}


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer as a server that does not know of any proxy."""
    match request.path.strip("/").split("/"):
        case ["page", name]:
            body, encoding = ENCODINGS[name](PAGE.encode()), "deflate" if name == "zlib" else name
            return web.Response(body=body, content_type="text/html", headers={"Content-Encoding": encoding})
        case ["page"]:
            allowed = {"Access-Control-Allow-Origin": "*", "X-Own": "1"}
            return web.Response(text=PAGE, content_type="text/html", headers=allowed)
        case ["text"]:
            return web.Response(text=PAGE)
        case ["method"]:
            return web.Response(text=request.method)
        case ["missing"]:
            return web.Response(status=404, text=PAGE, content_type="text/html")
        case ["moved"]:
            return web.Response(status=302, headers={"Location": request.query["to"]})
        case ["headers"] | [""]:
            found = {name: ", ".join(request.headers.getall(name)) for name in request.headers}
            return web.json_response({"path": request.raw_path} | found)
        case ["long"]:
            response = web.StreamResponse(headers={"Content-Type": "text/html"})
            await response.prepare(request)
            for _ in range(400):
                await response.write(b"<p>" + b"x" * 9_990 + b"<a href=/y>")
            return response
        case ["broken"]:
            response = web.StreamResponse(headers={"Content-Type": "text/html"})
            await response.prepare(request)
            await response.write(b"<a href=/y>")
            assert request.transport is not None
            request.transport.close()
            return response
    raise web.HTTPNotFound


@asynccontextmanager
async def running(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await answer(request)  # type: ignore[arg-type]
        except web.HTTPNotFound:
            return web.Response(status=404)

    runner = web.ServerRunner(web.Server(serve))
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


class Proxied:
    """A session with the API server, and the proxied server's path there."""

    def __init__(self, session: aiohttp.ClientSession, prefix: str, host: str) -> None:
        self.session, self.prefix, self.host = session, prefix, host

    async def get(self, path: str, **options: object) -> tuple[int, dict[str, str], bytes]:
        url = self.prefix + path
        async with self.session.get(url, allow_redirects=False, **options) as response:  # type: ignore[arg-type]
            return response.status, dict(response.headers), await response.read()


@pytest.fixture(params=["pod", "node"])
async def proxied(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Proxied]:
    """A pod or a kubelet behind the proxy; a pod may have any address but loopback."""
    host = primary_address() if request.param == "pod" else "127.0.0.1"
    if request.param == "pod" and ipaddress.ip_address(host).is_loopback:
        pytest.skip("needs an address that is no loopback's")
    async with running_over_tls(tmp_path) as server:
        context = None
        if request.param == "node":
            pair = server.pki.node_server("n1", ["127.0.0.1"])
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(pair.certificate, pair.key)
        async with running(context) as port, server.admin() as session:
            await bound_pod(server, port)
            status = {"status": {"podIP": host, "podIPs": [{"ip": host}]}}
            await server.api.client().patch(Pod, "p", status, "default", subresource="status")
            prefix = NODE if request.param == "node" else PROXY.format(port=port)
            yield Proxied(session, prefix, f"{host}:{port}")


async def test_links_of_html_lead_through_the_proxy(proxied: Proxied) -> None:
    code, headers, body = await proxied.get("/page")
    assert (code, body.decode()) == (200, page(proxied.prefix))
    assert headers["X-Own"] == "1"
    assert not [name for name in headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_encoded_documents_keep_their_encoding(proxied: Proxied, encoding: str) -> None:
    _, headers, body = await proxied.get(f"/page/{encoding}")
    assert headers["Content-Encoding"] == ("deflate" if encoding == "zlib" else encoding)
    if encoding == "br":
        assert body == b"\xff" + PAGE.encode()
        return
    window = {"gzip": 31, "zlib": 15, "deflate": -15}[encoding]
    assert zlib.decompress(body, window).decode() == page(proxied.prefix)


async def test_other_documents_stay_as_they_are(proxied: Proxied) -> None:
    assert (await proxied.get("/text"))[2].decode() == PAGE


@pytest.mark.parametrize("method", ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"])
async def test_every_method_is_passed_on(proxied: Proxied, method: str) -> None:
    async with proxied.session.request(method, f"{proxied.prefix}/method") as response:
        assert (response.status, await response.text()) == (200, method)


async def test_stated_length_of_a_body_goes_along(proxied: Proxied) -> None:
    async with proxied.session.post(f"{proxied.prefix}/headers", data=b"12345") as response:
        found = await response.json()
    assert found["Content-Length"] == "5"
    assert "Transfer-Encoding" not in found


async def test_errors_pass_as_they_are(proxied: Proxied) -> None:
    code, _, body = await proxied.get("/missing")
    assert (code, body.decode()) == (404, page(proxied.prefix))


@pytest.mark.parametrize(
    ("to", "wanted"),
    [
        ("/new/?a=b", "{prefix}/new/?a=b"),
        ("http://{host}/new", "{prefix}/new"),
        ("new", "new"),
        ("http://example.com/new", "http://example.com/new"),
    ],
)
async def test_redirects_lead_through_the_proxy(proxied: Proxied, to: str, wanted: str) -> None:
    parameters = {"to": to.format(host=proxied.host)}
    code, headers, _ = await proxied.get("/moved", params=parameters)
    assert (code, headers["Location"]) == (302, wanted.format(prefix=proxied.prefix))


async def test_malformed_redirect_is_an_error(proxied: Proxied) -> None:
    code, _, body = await proxied.get("/moved", params={"to": "http://a b/"})
    assert (code, json.loads(body)["reason"]) == (500, "InternalError")
    assert "error trying to parse Location header" in json.loads(body)["message"]


async def test_root_without_a_slash_is_moved(proxied: Proxied) -> None:
    code, headers, _ = await proxied.get("?a=b")
    assert (code, headers["Location"]) == (301, f"{proxied.prefix}/?a=b")
    code, _, body = await proxied.get("/?a=b")
    assert (code, json.loads(body)["path"]) == (200, "/?a=b")


async def test_servers_receive_forwarded_headers(proxied: Proxied) -> None:
    sent = {
        "X-Forwarded-For": "192.0.2.1",
        "X-Own": "1",
        "Connection": "X-Between",
        "X-Between": "1",
        "Impersonate-User": "token-admin",
        "Impersonate-Group": "system:masters",
        "Impersonate-Extra-Scopes": "x",
    }
    _, _, body = await proxied.get("/headers/", headers=sent)
    found = json.loads(body)
    assert found["path"] == "/headers/"
    assert found["X-Forwarded-Uri"] == f"{proxied.prefix}/headers/"
    assert found["X-Forwarded-For"] == "192.0.2.1, 127.0.0.1"
    assert found["X-Own"] == "1"
    assert not [name for name in found if name.startswith(("Impersonate", "X-Between", "Authorization"))]


async def test_long_documents_are_passed_on_piece_by_piece(proxied: Proxied) -> None:
    async with proxied.session.get(proxied.prefix + "/long") as response:
        body = await response.read()
    link = f'<a href="{proxied.prefix}/y">'.encode()
    assert body == (b"<p>" + b"x" * 9_990 + link) * 400


async def test_document_that_breaks_off_does_not_end_well(proxied: Proxied) -> None:
    with pytest.raises(aiohttp.ClientError):
        await proxied.get("/broken")


def test_bomb_is_expanded_piece_by_piece() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    assert max(map(len, Deflated(31).decode(bomb))) <= 64 * 1024


def test_gzip_of_several_members_is_read() -> None:
    data = gzip.compress(b"one") + gzip.compress(b"two")
    assert b"".join(Deflated(31).decode(data)) == b"onetwo"


@pytest.mark.parametrize("path", ["/page", "/text"])
async def test_clients_of_http_1_0_are_answered_without_chunks(proxied: Proxied, path: str) -> None:
    url = proxied.session._base_url
    assert url is not None
    assert url.port is not None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", url.port, ssl=context)
    writer.write(f"GET {proxied.prefix}{path} HTTP/1.0\r\nAuthorization: Bearer s3cret\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.0 200")
    assert body.decode() == (page(proxied.prefix) if path == "/page" else PAGE)
