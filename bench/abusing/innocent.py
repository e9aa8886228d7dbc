"""The process of the innocent client: reads, writes and a watch at a steady pace, each of them timed.

A request is timed from its sending. The next one waits for its answer, as in any client with one connection,
so a long delay counts as one slow request.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import ssl
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

import uvloop

from bench.abusing.surroundings import INNOCENT, LISTED, WRITTEN
from bench.abusing.wire import Endpoint, Request, Wire, make_request, tls_of

GET_SECONDS, LIST_SECONDS, WRITE_SECONDS, CONNECT_SECONDS = 0.02, 0.1, 0.1, 1.0
DEADLINE_SECONDS = 30.0
SENT_EVERY_SECONDS = 0.25
NAMESPACE = f"/api/v1/namespaces/{INNOCENT}"
POD, MAPS = f"{NAMESPACE}/pods/read", f"{NAMESPACE}/configmaps"
MARK = re.compile(rb'"written":"(\d+)"')


class Sample(NamedTuple):
    """One request or event: its kind, its begin on the monotonic clock, its seconds, its failure if any."""

    kind: str
    began: float
    seconds: float
    failure: str = ""


def run(parent: Connection, endpoint: Endpoint) -> None:
    """Send samples to the parent until it closes the connection."""
    uvloop.run(Innocent(parent, endpoint).run())


class Innocent:
    """The client's requests, and the samples that the parent does not have yet."""

    def __init__(self, parent: Connection, endpoint: Endpoint) -> None:
        self._parent = parent
        self._endpoint = endpoint
        self._context: ssl.SSLContext = tls_of(endpoint)
        self._samples: list[Sample] = []
        self._sent: dict[bytes, float] = {}

    async def run(self) -> None:
        accept = "Accept: application/json\r\n"
        get = make_request(self._endpoint, "GET", POD, more=accept)
        listing = make_request(self._endpoint, "GET", f"{MAPS}?limit={LISTED}", more=accept)
        tasks = [
            asyncio.ensure_future(each)
            for each in (
                self._watch(),
                self._repeat("get", GET_SECONDS, lambda _number: get),
                self._repeat("list", LIST_SECONDS, lambda _number: listing),
                self._repeat("write", WRITE_SECONDS, self._write),
                self._connect(get),
            )
        ]
        while not any(task.done() for task in tasks):
            await asyncio.sleep(SENT_EVERY_SECONDS)
            samples, self._samples = self._samples, []
            try:
                self._parent.send(samples)
            except BrokenPipeError:
                return
        for task in tasks:
            if task.done():
                task.result()

    async def _repeat(self, kind: str, pause: float, make: Callable[[int], Request]) -> None:
        """Send a request at every multiple of ``pause``; late ones are left out."""
        wire: Wire | None = None
        due = time.monotonic()
        for number in itertools.count():
            due = max(due + pause, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
            began, failure = time.monotonic(), ""
            try:
                async with asyncio.timeout(DEADLINE_SECONDS):
                    if wire is None or not wire.is_open:
                        wire = await Wire.open(self._endpoint, self._context)
                    failure = _failure((await wire.ask(make(number))).code)
            except (OSError, TimeoutError) as error:
                failure = type(error).__name__
                if wire is not None:
                    wire.close()
                    wire = None
            if failure and kind == "write":
                self._sent.pop(b"%d" % number, None)
            self._samples.append(Sample(kind, began, time.monotonic() - began, failure))

    def _write(self, number: int) -> Request:
        body = json.dumps({"metadata": {"annotations": {"written": str(number)}}}).encode()
        self._sent[b"%d" % number] = time.monotonic()
        path = f"{MAPS}/c{number % WRITTEN:02}"
        return make_request(self._endpoint, "PATCH", path, body, "application/merge-patch+json")

    async def _connect(self, request: Request) -> None:
        """Open a new connection for one request each second, as a command-line client does."""
        while True:
            await asyncio.sleep(CONNECT_SECONDS)
            began, failure = time.monotonic(), ""
            try:
                async with asyncio.timeout(DEADLINE_SECONDS):
                    wire = await Wire.open(self._endpoint, self._context)
                    failure = _failure((await wire.ask(request)).code)
                wire.close()
            except (OSError, TimeoutError) as error:
                failure = type(error).__name__
            self._samples.append(Sample("connect", began, time.monotonic() - began, failure))

    async def _watch(self) -> None:
        """Watch the ConfigMaps; an end of the watch is a failure."""
        while True:
            rest = b""

            def received(data: bytes) -> None:
                nonlocal rest
                *lines, rest = (rest + data).split(b"\n")
                now = time.monotonic()
                for number in MARK.findall(b"\n".join(lines)):
                    if (sent := self._sent.pop(number, None)) is not None:
                        self._samples.append(Sample("event", sent, now - sent))

            began = time.monotonic()
            try:
                wire = await Wire.open(self._endpoint, self._context, received)
                path = f"{MAPS}?watch=true&resourceVersion=0&timeoutSeconds=3600"
                failure = _failure((await wire.ask(make_request(self._endpoint, "GET", path))).code)
                failure = failure or "ended"
            except (OSError, TimeoutError) as error:
                failure = type(error).__name__
            self._samples.append(Sample("watch", began, 0.0, failure))
            await asyncio.sleep(1)


def _failure(code: int) -> str:
    return "" if code < 400 else str(code)
