"""Limits of a request's cost: the loop's time for anonymous clients, memory for a namespace's editor.

Each hostile request, and ten thousand that are made from the published document, are sent to a server whose
time and memory are measured.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import msgspec
import pytest

from tests.support.fuzzed_requests import HEAD, LAST, Maker, Published
from tests.support.hostile_requests import anonymous_requests, hostile_requests
from tests.support.request_costs import EDITOR, TENANT, Asked, Cost, MeasuredServer

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

REQUESTS = int(os.environ.get("PODLING_GENERATED_REQUESTS", "2000"))
"""Number of requests of each kind of client; 10,000 take five times as long."""
ANONYMOUS_SECONDS = 0.005
EDITOR_BYTES = 50 * 1024 * 1024
TRIES = 3
"""Attempts: a request that costs too much is sent again, because garbage collection or a first import is no
cost of its own."""
BODIES = (0, 16, 48, 160)
TOPIC = 30
"""Number of successive operations of the document that successive requests call."""
SHOWN = 200


@pytest.fixture
def server() -> Iterator[MeasuredServer]:
    gc.freeze()
    with MeasuredServer() as running:
        yield running
    gc.unfreeze()


def generated(published: Published, user: str) -> Iterator[Asked]:
    """Return the same requests every time; most of the editor's are about its namespace."""
    operations = [each for each in published.operations if not user or "{namespace}" in each.path]
    for number in range(REQUESTS):
        digest = hashlib.shake_256(str(number).encode()).digest(HEAD + BODIES[number % len(BODIES)])
        if number % 40 == 0:
            start = number % len(operations)
            maker = Maker(published, [operations[start:][:TOPIC]])
        made = maker.request(digest[:HEAD], digest[HEAD:])
        path = made.path.decode("utf-8", "surrogateescape").replace("/default", f"/{TENANT}")
        body = (made.body or b"").replace(b'"namespace": "default"', f'"namespace": "{TENANT}"'.encode())
        for name in LAST:
            path, body = path.replace(name, "1"), body.replace(name.encode(), b"1")
        headers = tuple(
            (name, value.encode("utf-8").decode("latin-1"))
            for name, value in made.headers.items()
            if name not in ("Authorization", "Content-Type", "Impersonate-User")
        )
        yield Asked(made.method, path, body, made.headers["Content-Type"], user, headers)


def published(server: MeasuredServer) -> Published:
    return Published(msgspec.json.decode(server.read_all("/openapi/v2")))


def too_costly(
    server: MeasuredServer, asked: Iterable[Asked], is_too_much: Callable[[Asked, Cost], bool], *, whole: bool
) -> list[str]:
    """Return the requests that cost too much each time they are sent, with their costs."""
    found: list[str] = []
    for each in asked:
        for _ in range(TRIES):
            cost = server.cost(each, whole=whole)
            if not is_too_much(each, cost):
                break
        else:
            found.append(f"{str(each)[:SHOWN]}: {cost}")
    return found


def report(found: list[str]) -> None:
    """Fail with all findings."""
    if found:
        pytest.fail(f"{len(found)} requests cost too much:\n" + "\n".join(found[:SHOWN]), pytrace=False)


def takes_too_long(asked: Asked, cost: Cost) -> bool:
    return cost.seconds > ANONYMOUS_SECONDS


def grows_too_much(asked: Asked, cost: Cost) -> bool:
    return cost.grown > EDITOR_BYTES + len(asked.body)


def test_hostile_anonymous_requests_hold_the_loop_shortly(server: MeasuredServer) -> None:
    report(too_costly(server, anonymous_requests(), takes_too_long, whole=False))


def test_generated_anonymous_requests_hold_the_loop_shortly(server: MeasuredServer) -> None:
    report(too_costly(server, generated(published(server), ""), takes_too_long, whole=False))


def test_hostile_requests_of_an_editor_take_little_memory(server: MeasuredServer) -> None:
    report(too_costly(server, hostile_requests(), grows_too_much, whole=True))


def test_generated_requests_of_an_editor_take_little_memory(server: MeasuredServer) -> None:
    requests = (replace(each, user=EDITOR) for each in generated(published(server), EDITOR))
    report(too_costly(server, requests, grows_too_much, whole=False))
