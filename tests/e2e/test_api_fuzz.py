"""Twenty thousand requests of every kind, made from the published OpenAPI document and damaged.

The server may refuse any request, but it answers soon, with a Status, and never with an internal error.
Requests come in sequences, each to a server of its own: one that goes wrong is shrunk to the few requests
that it takes, and the same ones are sent every time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.fuzzed_requests import LAST, Published, Request
from tests.support.fuzzed_server import beginning, served
from tests.support.held_loop import CountedCalls
from tests.support.wire import Answer, Wire

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

REQUESTS = 20_000
SEQUENCES = 830
ANSWER_SECONDS = 10.0
CALLS = 100_000
"""Calls that one callback may make: about fifty milliseconds of the loop."""
AS_KUBERNETES = (
    (500, "resourceVersion should not be set on objects to be created"),
    (500, "failed to create typed patch object"),
    (500, "failed to create typed live object"),
    (500, "failed to convert new object"),
    (500, "the spec replicas field"),
    (500, "failed calling webhook"),
    (500, "failed to allocate requested HealthCheck NodePort"),
    (500, "does not contain declared merge key"),
    (500, "unknown patch type: "),
    (500, "The order in patch list"),
    (500, "cannot merge lists without merge key"),
    (500, "merging lists cannot yet be specified in the patch"),
    (500, "list element types are not identical"),
    (503, "this server reaches no nodes"),
    (504, "Too large resource version"),
)
"""Messages of expected 5xx answers, which Kubernetes gives, too."""

CHANGES = ("POST", "PUT", "PATCH", "DELETE")
LOGS = ("podling", "asyncio")
"""Loggers that must stay silent. aiohttp's own logger reports bytes that are not HTTP."""

FUZZ = settings(
    max_examples=SEQUENCES,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)


async def published(path: bytes = b"/openapi/v2") -> dict[str, Any]:
    """Return a document that clients read."""
    async with served(await beginning()) as wire:
        answer = await wire.exchange("GET", path, {"Authorization": "Bearer fuzz"}, None)
    document: dict[str, Any] = json.loads(answer.body)
    return document


class Fuzz:
    """Sends requests and judges the answers; ``count`` counts the requests and their results."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        self._records = records
        self._past = asyncio.run(beginning())
        self._last = dict.fromkeys(LAST, "1")
        self.count = Counter[tuple[str, int]]()

    async def perform(self, sequence: list[Request]) -> None:
        self._records.clear()
        async with served(self._past) as wire:
            for request in sequence:
                await self._exchange(wire, request)

    async def _exchange(self, wire: Wire, request: Request) -> None:
        path, body = self._filled(request.path), request.body and self._filled(request.body)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await wire.exchange(request.method, path, request.headers, body)
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            pytest.fail(f"no answer ({error!r}) to {request}")
        self.count[request.method, answer.code] += 1
        if answer.code >= 500 and request.method != "HEAD":
            text = answer.body.decode()
            assert any(answer.code == code and words in text for code, words in AS_KUBERNETES), (
                f"{text} to {request}"
            )
        if answer.code >= 400 and answer.body.startswith(b"{"):  # few answers are plain text
            status = json.loads(answer.body)
            assert (status["kind"], status["code"]) == ("Status", answer.code), f"{status} to {request}"
        said = [record.getMessage() for record in self._records if record.name.startswith(LOGS)]
        self._records.clear()
        assert not said, f"{said} at {request}"
        self._remember(answer)

    def _filled(self, text: bytes) -> bytes:
        for name, value in self._last.items():
            text = text.replace(name.encode(), value.encode())
        return text

    def _remember(self, answer: Answer) -> None:
        """Remember names and tokens that later requests may use."""
        if answer.code >= 300 or not answer.body.startswith(b"{"):
            return
        metadata = json.loads(answer.body).get("metadata") or {}
        found = (metadata.get("continue"), metadata.get("resourceVersion"), metadata.get("uid"))
        self._last |= {name: value for name, value in zip(LAST, found, strict=True) if value}


def test_sequences_reach_every_served_operation() -> None:
    asked = Published(asyncio.run(published())).operations
    assert {each.method for each in asked} >= {"GET", "POST", "PUT", "PATCH", "DELETE"}
    for group in asyncio.run(published(b"/apis"))["groups"]:
        for version in group["versions"]:
            assert any(f"/apis/{version['groupVersion']}/" in each.path for each in asked), version
    paths = {each.path for each in asked}
    assert {"/apis/fuzz.example.com/v1/namespaces/{namespace}/widgets/{name}/scale", "/api/v1/nodes"} <= paths


def test_every_request_gets_a_foreseen_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    fuzz = Fuzz(caplog.records)
    api = Published(asyncio.run(published()))
    asyncio.run(fuzz.perform(api.each_once()))

    @FUZZ
    @given(sequence=api.sequences())
    def answered(sequence: list[Request]) -> None:
        asyncio.run(fuzz.perform(sequence))

    answered()
    assert fuzz.count.total() >= REQUESTS
    done = sum(count for (method, code), count in fuzz.count.items() if method in CHANGES and code < 300)
    assert done >= REQUESTS / 8, "many requests find something that they may change"


def test_no_request_holds_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    """The limit counts calls, because milliseconds depend on the machine."""
    fuzz, calls = Fuzz(caplog.records), CountedCalls()
    sequences = Published(asyncio.run(published())).sequences()

    @settings(FUZZ, max_examples=40)
    @given(sequence=sequences)
    def let_go(sequence: list[Request]) -> None:
        with calls:
            asyncio.run(fuzz.perform(sequence))
        assert calls.most < CALLS

    let_go()
