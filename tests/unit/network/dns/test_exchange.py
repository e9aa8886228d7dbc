"""Questions to other servers that answer, lie, hang, fail or are not there; over real sockets on loopback."""

from __future__ import annotations

import asyncio
import struct

import pytest

from podling import clock
from podling.network.dns import exchange as exchanges
from podling.network.dns.answers import FORMERR, REFUSED, SERVFAIL
from podling.network.dns.encoding import UDP_BYTES_MAX
from podling.network.dns.exchange import NoAnswer, Outcome, exchange
from podling.network.dns.queries import read_query, respond
from podling.network.dns.settings import Server
from tests.support.dns_messages import StandIn, answers, options, question, read, reply

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

NAME = "www.example"
RECORD = f"{NAME}. 60 IN A 1.2.3.4"
SECONDS_MAX = 60.0
"""The longest time of what needs no wait."""


@pytest.fixture(autouse=True)
def long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every wait for a server longer than the tests take, on a slow machine, too."""
    for name in ("ATTEMPT_SECONDS", "DEADLINE_SECONDS"):
        monkeypatch.setattr(exchanges, name, 10 * SECONDS_MAX)


async def forward(*servers: StandIn, missing: tuple[Server, ...] = ()) -> tuple[Outcome, list[Server]]:
    query = read_query(question(NAME))
    assert query is not None
    failed: list[Server] = []
    places = [*missing, *(Server("127.0.0.1", each.port) for each in servers)]
    async with asyncio.timeout(SECONDS_MAX):
        return await exchange(places, query, failed.append), failed


def shown(outcome: Outcome, limit: int = 4096) -> list[str]:
    query = read_query(question(NAME))
    assert query is not None
    return answers(respond(query, outcome.response.encoded, limit))


def with_number(data: bytes, number: int) -> bytes:
    return struct.pack("!H", number & 0xFFFF) + data[2:]


async def test_answer_of_the_first_server_is_taken() -> None:
    async with StandIn(lambda data: [reply(data, RECORD)]) as first, StandIn(lambda data: []) as second:
        outcome, failed = await forward(first, second)
        assert shown(outcome) == [f"{NAME}. 60 A 1.2.3.4"]
        assert (failed, second.queries) == ([], [])
        (option,) = options(first.queries[0])
        assert option.rclass == UDP_BYTES_MAX


async def test_answers_to_other_questions_are_ignored() -> None:
    """A wrong identifier, another name, another type, garbage, then the true answer."""

    def lies(data: bytes) -> list[bytes]:
        number = struct.unpack_from("!H", data)[0]
        return [
            with_number(reply(data, f"{NAME}. 60 IN A 6.6.6.6"), number + 1),
            with_number(reply(question("evil.example"), "evil.example. 60 IN A 6.6.6.6"), number),
            with_number(reply(question(NAME, "AAAA"), f"{NAME}. 60 IN AAAA ::6"), number),
            b"garbage",
            data,
            reply(data, RECORD),
        ]

    async with StandIn(lies) as server:
        outcome, _ = await forward(server)
        assert shown(outcome) == [f"{NAME}. 60 A 1.2.3.4"]


async def test_port_and_identifier_cannot_be_foretold() -> None:
    async with StandIn(lambda data: [reply(data, RECORD)]) as server:
        for _ in range(40):
            await forward(server)
        assert len(set(server.ports)) > 30
        assert len({data[:2] for data in server.queries}) > 35


async def test_silent_server_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "ATTEMPT_SECONDS", 0.1)
    async with StandIn(lambda data: []) as silent, StandIn(lambda data: [reply(data, RECORD)]) as second:
        began = clock.monotonic()
        outcome, failed = await forward(silent, second)
        assert clock.monotonic() - began >= 0.1
        assert shown(outcome) == [f"{NAME}. 60 A 1.2.3.4"]
        assert failed == [Server("127.0.0.1", silent.port)]


async def test_missing_server_is_followed_at_once() -> None:
    async with StandIn(lambda data: [reply(data, RECORD)]) as gone:
        missing = Server("127.0.0.1", gone.port)
    async with StandIn(lambda data: [reply(data, RECORD)]) as server:
        outcome, failed = await forward(server, missing=(missing,))
        assert shown(outcome)
        assert failed == [missing]


@pytest.mark.parametrize("rcode", [SERVFAIL, REFUSED])
async def test_refusal_counts_when_no_other_server_does_better(rcode: int) -> None:
    async with (
        StandIn(lambda data: [reply(data, rcode=rcode)]) as first,
        StandIn(lambda data: [reply(data, RECORD)]) as second,
    ):
        assert (await forward(first, second))[0].response.rcode == 0
        assert (await forward(first))[0].response.rcode == rcode


async def test_no_answer_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "DEADLINE_SECONDS", 0.2)
    async with StandIn(lambda data: []) as silent:
        with pytest.raises(NoAnswer):
            await forward(silent)
    with pytest.raises(NoAnswer):
        await forward()


async def test_truncated_answer_is_fetched_over_tcp() -> None:
    def cut(data: bytes) -> list[bytes]:
        message = bytearray(reply(data))
        message[2] |= 0x02
        return [bytes(message)]

    many = [f"{NAME}. 60 IN A 10.0.{number}.1" for number in range(200)]
    async with StandIn(cut, over_tcp=lambda data: [reply(data, *many)]) as server:
        outcome, _ = await forward(server)
        assert len(shown(outcome, 65535)) == 200
        query = read_query(question(NAME))
        assert query is not None
        small = respond(query, outcome.response.encoded, 512)
        assert len(small) <= 512
        assert read(small).header.tc, "a client with a small buffer has to come over TCP, too"
    async with StandIn(cut, over_tcp=lambda data: [b"garbage"]) as server:
        outcome, _ = await forward(server)
        assert shown(outcome) == [], "what is left is the truncated answer"


async def test_server_without_edns_gets_a_plain_question() -> None:
    def old(data: bytes) -> list[bytes]:
        return [reply(data, rcode=FORMERR)] if options(data) else [reply(data, RECORD)]

    async with StandIn(old) as server:
        assert shown((await forward(server))[0]) == [f"{NAME}. 60 A 1.2.3.4"]
        assert [bool(options(data)) for data in server.queries] == [True, False]


async def test_servers_without_a_way_to_them_cost_no_wait() -> None:
    with pytest.raises(NoAnswer):
        await forward(missing=(Server("255.255.255.255", 53),))
