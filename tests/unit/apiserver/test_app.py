"""The HTTP edge: what requests without rights leave behind in memory and in the log."""

from __future__ import annotations

import asyncio
import gc
import logging
import tracemalloc
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.support.held_loop import CountedCalls
from tests.support.served_here import TOKEN, serving

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

NAME_LENGTH = 50_000
REQUESTS = 60
URLS_KEPT = 130
"""With so many requests the caches of the URL library, which are bounded by count, are full."""
KEPT_BYTES_MAX = 1_000_000
"""A cache that kept what is sent would hold three million bytes."""


async def exchange(port: int, *lines: str | bytes, body: bytes = b"") -> bytes:
    """Send one request, byte for byte, over a connection of its own; return the whole answer."""
    head = [line if isinstance(line, bytes) else line.encode() for line in lines]
    more = [b"Host: a", b"Connection: close", b"Content-Length: %d" % len(body), b"", b""]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\r\n".join([*head, *more]) + body)
    try:
        return await reader.read()
    finally:
        writer.close()


def code_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


LONG_REQUESTS: list[Callable[[str], tuple[str, ...]]] = [
    lambda text: (f"GET /api/v1/namespaces/default/configmaps/{text} HTTP/1.1",),
    lambda text: (f"GET /api/v1/namespaces/{text}/configmaps HTTP/1.1",),
    lambda text: (f"GET /apis/x.example.com/v1/{text} HTTP/1.1",),
    lambda text: (f"GET /{text} HTTP/1.1",),
    lambda text: (f"GET /api/v1/pods?fieldSelector={quote('spec.nodeName=' + text)} HTTP/1.1",),
    lambda text: (f"GET /api/v1/pods?labelSelector={quote('a=' + text)} HTTP/1.1",),
    lambda text: (f"GET /api/v1/pods?resourceVersion={text} HTTP/1.1",),
    lambda text: ("GET /api/v1/pods HTTP/1.1", f"Accept: {text}"),
    lambda text: ("POST /api/v1/namespaces/default/configmaps HTTP/1.1", f"User-Agent: {text}"),
    lambda text: ("GET /api/v1/pods HTTP/1.1", f"Authorization: Bearer {text}"),
]


@pytest.mark.slow
@pytest.mark.parametrize("request_of", LONG_REQUESTS)
@pytest.mark.parametrize("known", [False, True])
async def test_long_requests_leave_nothing_in_memory(
    request_of: Callable[[str], tuple[str, ...]], known: bool
) -> None:
    async with serving(TOKEN) as (_, port):

        async def send(numbers: range) -> int:
            for number in numbers:
                lines = request_of(f"{number:05}" + "x" * NAME_LENGTH)
                own = [f"Authorization: Bearer {TOKEN}"] if known and len(lines) == 1 else []
                await exchange(port, *lines, *own)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = await send(range(URLS_KEPT))
            after = await send(range(URLS_KEPT, URLS_KEPT + REQUESTS))
        finally:
            tracemalloc.stop()
    assert after - before < KEPT_BYTES_MAX


@pytest.mark.parametrize("header", [b"Bearer \xff", b"Bearer a\xc3\xbf", b"Bearer \xff.\xff.\xff", b"\xff x"])
async def test_credentials_that_are_no_text_are_refused(
    header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(TOKEN) as (_, port):
        answer = await exchange(port, "GET /api/v1/pods HTTP/1.1", b"Authorization: " + header)
    assert code_of(answer) == 401
    assert not caplog.records


async def test_impersonated_names_that_are_no_text_are_refused_as_such() -> None:
    lines = ("GET /api/v1/pods HTTP/1.1", f"Authorization: Bearer {TOKEN}", b"Impersonate-User: \xff")
    async with serving(TOKEN) as (_, port):
        answer = await exchange(port, *lines)
    assert code_of(answer) == 403
    assert 'User "\N{REPLACEMENT CHARACTER}" cannot list'.encode() in answer.replace(b'\\"', b'"')


async def test_anonymous_requests_may_not_impersonate() -> None:
    async with serving(TOKEN) as (_, port):
        answer = await exchange(port, "GET /version HTTP/1.1", "Impersonate-User: bob")
    assert code_of(answer) == 403
    assert b"cannot impersonate-on:user-info:get path" in answer


@pytest.mark.parametrize("line", [b"GET /\xff\xfe HTTP/1.1", b"GET / HTTP/9", b"G\x00T / HTTP/1.1"])
async def test_malformed_requests_are_not_logged(line: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving(TOKEN) as (_, port):
        answer = await exchange(port, line)
    assert code_of(answer) == 400
    assert not [record for record in caplog.records if "request" in record.getMessage()]


ANCHORS = b"".join(b"&a%d [" % depth for depth in range(100)) + b"1," * 100_000 + b"]" * 100
BODIES = [
    ("application/json", b"["),
    ("application/json", b'[{"a":1},' * 100_000),
    ("application/yaml", b"a: [" + ANCHORS + b"]"),
    ("application/yaml", b"- a\n" * 100_000),
    ("application/vnd.kubernetes.protobuf", b"k8s\x00" + b"\x12\x01a" * 200_000),
    ("application/apply-patch+yaml", ANCHORS),
    ("application/json-patch+json", b'[{"op": "add"},' * 50_000),
    ("application/nonsense", b"x"),
]
WRITES = [
    "POST /api/v1/namespaces/default/configmaps",
    "PUT /api/v1/namespaces/default/configmaps/a",
    "PATCH /api/v1/namespaces/default/configmaps/a",
    "DELETE /api/v1/namespaces/default/configmaps/a",
    "DELETE /api/v1/namespaces/default/configmaps",
    "POST /apis/authentication.k8s.io/v1/tokenreviews",
    "POST /api/v1/namespaces/default/pods/a/eviction",
    "POST /api/v1/namespaces/default/pods/a/binding",
    "POST /api/v1/namespaces/default/serviceaccounts/a/token",
    "PUT /api/v1/namespaces/default/pods/a/status",
    "PATCH /apis/apps/v1/namespaces/default/deployments/a/scale",
    "POST /nowhere",
]
CALLS_MAX = 5_000
"""So many calls of functions take about two milliseconds; reading any of the large bodies takes far more."""


@pytest.mark.parametrize("line", WRITES)
async def test_bodies_of_forbidden_requests_are_not_read(line: str) -> None:
    async with serving(TOKEN) as (_, port):
        for media_type, body in BODIES:
            with CountedCalls() as calls:
                answer = await exchange(port, f"{line} HTTP/1.1", f"Content-Type: {media_type}", body=body)
            assert code_of(answer) == 403, media_type
            assert calls.most < CALLS_MAX, media_type


@pytest.mark.parametrize("line", WRITES[:3])
async def test_large_bodies_do_not_hold_the_loop(line: str) -> None:
    media_type = "application/apply-patch+yaml" if line.startswith("PATCH") else "application/yaml"
    lines = (
        f"{line}?fieldManager=a HTTP/1.1",
        f"Authorization: Bearer {TOKEN}",
        f"Content-Type: {media_type}",
    )
    async with serving(TOKEN) as (_, port):
        with CountedCalls() as calls:
            answer = await exchange(port, *lines, body=b"- ab\n" * 40_000)
    assert code_of(answer) == 400
    assert calls.most < CALLS_MAX


async def test_known_path_is_authorised_and_read_anew_for_each_request() -> None:
    path, own = "/api/v1/namespaces/default/configmaps", f"Authorization: Bearer {TOKEN}"
    async with serving(TOKEN) as (_, port):
        codes = [
            code_of(await exchange(port, f"{method} {path}{rest} HTTP/1.1", *lines))
            for method, rest, lines in (
                ("GET", "", (own,)),
                ("GET", "", ()),
                ("GET", "", (own,)),
                ("POST", "", (own,)),
                ("GET", "?watch=true&timeoutSeconds=nothing", (own,)),
                ("PUT", "", (own,)),
                ("PUT", "", (own,)),
            )
        ]
    assert codes == [200, 403, 200, 400, 400, 405, 405]
