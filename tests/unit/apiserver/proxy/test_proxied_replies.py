"""Answers of servers behind the API server: encodings, redirects, and the links of documents."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

import pytest

from podling.apiserver.proxy.link_rewriting import Links
from podling.apiserver.proxy.proxied_replies import (
    EXPANDED_BYTES,
    GZIP,
    RAW,
    ZLIB,
    coding_of,
    rewritten,
    rewritten_headers,
)
from podling.machinery.errors import ApiError

LINKS = Links("/proxy/node/node1:10250", "mynode.com", "mynode.com", "http", "foo.com")
DOCUMENT = b'<a href="/kubelet.log">log</a>' * 4000
WANTED = b'<a href="http://foo.com/proxy/node/node1:10250/kubelet.log">log</a>' * 4000


def packed(data: bytes, window: int) -> bytes:
    compressor = zlib.compressobj(wbits=window)
    return compressor.compress(data) + compressor.flush()


async def rewritten_document(data: bytes, encoding: str, piece: int = 1000) -> bytes:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), piece):
            yield data[at : at + piece]

    return b"".join([each async for each in rewritten(chunks(), encoding, LINKS)])


@pytest.mark.parametrize(
    ("encoding", "window"),
    [("gzip", GZIP), ("deflate", ZLIB), ("deflate", RAW)],
)
async def test_links_of_compressed_documents_are_rewritten(encoding: str, window: int) -> None:
    made = await rewritten_document(packed(DOCUMENT, window), encoding, piece=7)
    assert zlib.decompress(made, wbits=window) == WANTED


async def test_links_of_a_plain_document_are_rewritten() -> None:
    assert await rewritten_document(DOCUMENT, "") == WANTED


async def test_document_in_an_unknown_encoding_stays_as_it_is() -> None:
    assert await rewritten_document(DOCUMENT, "br") == DOCUMENT


async def test_every_member_of_a_gzip_document_is_rewritten() -> None:
    half = DOCUMENT[: len(DOCUMENT) // 2]
    made = await rewritten_document(packed(half, GZIP) * 2, "gzip")
    assert zlib.decompress(made, wbits=GZIP) == WANTED


def test_compressed_document_is_expanded_in_bounded_pieces() -> None:
    coding = coding_of("gzip", b"")
    assert coding is not None
    pieces = list(coding.decode(packed(b"a" * 10 * EXPANDED_BYTES, GZIP)))
    assert sum(map(len, pieces)) == 10 * EXPANDED_BYTES
    assert max(map(len, pieces)) == EXPANDED_BYTES


def test_redirect_leads_through_the_proxy() -> None:
    made = rewritten_headers({"Location": "/next", "X-Other": "y"}, LINKS)
    assert made["Location"] == "http://foo.com/proxy/node/node1:10250/next"
    assert made["X-Other"] == "y"


def test_cors_headers_of_the_server_are_removed() -> None:
    made = rewritten_headers({"Access-Control-Allow-Origin": "*", "X-Other": "y"}, LINKS)
    assert list(made) == ["X-Other"]


def test_malformed_redirect_is_an_internal_error() -> None:
    with pytest.raises(ApiError, match="error trying to parse Location header") as error:
        rewritten_headers({"Location": "http://[bad"}, LINKS)
    assert error.value.code == 500
