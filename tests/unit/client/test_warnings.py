"""Warning headers, as tables and over a socket."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.apiserver.http.negotiation import warning_headers
from podling.client.http import HttpClient
from podling.client.warnings import parse_warnings
from podling.machinery.errors import ApiError
from tests.unit.client.test_http import MAP, answer, scripted


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ('299 - "plain"', ["plain"]),
        ('299 agent "one" "Wed, 21 Oct 2015 07:28:00 GMT"', ["one"]),
        ('299 - "one", 299 - "two"', ["one", "two"]),
        ('299 - "a \\"quoted\\" and a \\\\ slash"', ['a "quoted" and a \\ slash']),
        ('299 - "a, b", 199 - "another code", 299 - ""', ["a, b"]),
        ('299 - "good", nonsense', ["good"]),
        ("", []),
    ],
)
def test_warning_header_is_parsed(value: str, texts: list[str]) -> None:
    assert parse_warnings([value]) == texts


def test_own_headers_are_read_back() -> None:
    texts = ['with "quotes"', "with \\ and ,", "plain"]
    assert parse_warnings(warning_headers(texts)) == texts


@pytest.mark.asyncio(loop_factories=["real"])
async def test_client_hands_over_warnings_of_successes_and_failures() -> None:
    told: list[str] = []
    text = '299 - "careful"'
    async with scripted(answer(MAP, Warning=text), answer(b"{}", 404, Warning=text)) as (url, _):
        client = HttpClient(url)
        client.on_warning(told.append)
        await client.get(ConfigMap, "a", "default")
        with pytest.raises(ApiError):
            await client.get(ConfigMap, "a", "default")
        await client.close()
    assert told == ["careful", "careful"]
