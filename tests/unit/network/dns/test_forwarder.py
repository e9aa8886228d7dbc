"""Forwarding: equal questions share one, silent servers are probed, loops are found out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from podling import clock
from podling.network.dns.exchange import NoAnswer
from podling.network.dns.forwarder import CONCURRENT_MAX, Forwarder, Overload
from podling.network.dns.metrics import Metrics
from podling.network.dns.queries import Query, read_query
from podling.network.dns.settings import Server
from podling.supervisor import Supervisor
from tests.support.dns_messages import StandIn, question, reply

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

NAME = "www.example"
RECORD = f"{NAME}. 60 IN A 1.2.3.4"


class Forwarding:
    """A forwarder with what it reports."""

    def __init__(self, tasks: Supervisor) -> None:
        self.metrics = Metrics()
        self.notices: list[str] = []
        self.forwarder = Forwarder(tasks, self.metrics, lambda reason, text: self.notices.append(text))


@pytest.fixture
async def forwarding() -> AsyncIterator[Forwarding]:
    tasks = Supervisor()
    yield Forwarding(tasks)
    await tasks.close()


def query_for(name: str = NAME) -> Query:
    query = read_query(question(name))
    assert query is not None
    return query


def place(server: StandIn) -> Server:
    return Server("127.0.0.1", server.port)


def answer(data: bytes) -> list[bytes]:
    return [reply(data, RECORD)] if NAME.encode().split(b".")[0] in data else [reply(data)]


async def test_equal_questions_at_the_same_time_are_one(forwarding: Forwarding) -> None:
    async with StandIn(answer) as server:
        found = await asyncio.gather(
            *(forwarding.forwarder.forward([place(server)], query_for()) for _ in range(50))
        )
        assert len(server.queries) == 1
        assert {id(each) for each in found} == {id(found[0])}
        await forwarding.forwarder.forward([place(server)], query_for())
        assert len(server.queries) == 2, "a later one is a new one"
        assert forwarding.metrics.forwards[str(place(server)), "NOERROR"].count == 2


async def test_too_many_questions_are_refused(forwarding: Forwarding) -> None:
    async with StandIn(lambda data: []) as silent:
        forward = forwarding.forwarder.forward
        queries = [query_for(f"n{number}.example") for number in range(CONCURRENT_MAX)]
        waiting = [asyncio.ensure_future(forward([place(silent)], each)) for each in queries]
        await clock.sleep(0)
        with pytest.raises(Overload):
            await forwarding.forwarder.forward([place(silent)], query_for("one-more.example"))
        assert forwarding.metrics.rejects == 1
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_silent_server_is_probed_until_it_answers(forwarding: Forwarding) -> None:
    speaks = False
    async with StandIn(lambda data: answer(data) if speaks else []) as server:
        with pytest.raises(NoAnswer):
            await forwarding.forwarder.forward([place(server)], query_for())
        with pytest.raises(NoAnswer):
            await forwarding.forwarder.forward([place(server)], query_for())
        assert forwarding.metrics.broken == 0
        speaks = True
        asked = len(server.queries)
        async with asyncio.timeout(10):
            while len(server.queries) == asked:
                await clock.sleep(0.05)
        await forwarding.forwarder.forward([place(server)], query_for())


async def test_server_that_leads_back_is_found_out(forwarding: Forwarding) -> None:
    """The stand-in sends every question back to us, as a machine's resolver that forwards to the cluster."""
    forwarder = forwarding.forwarder

    def lead_back(data: bytes) -> list[bytes]:
        query = read_query(data)
        assert query is not None
        return [] if forwarder.is_loop(query.labels) else [reply(data)]

    async with StandIn(lead_back) as server, StandIn(answer) as good:
        forwarder.use([place(server), place(good)])
        async with asyncio.timeout(10):
            while not forwarding.notices:
                await clock.sleep(0.01)
        assert str(place(server)) in forwarding.notices[0]
        asked = len(server.queries)
        for number in range(6):
            await forwarder.forward([place(server), place(good)], query_for(f"www{number}.example"))
        assert len(server.queries) == asked, "it is not queried any more"
        with pytest.raises(NoAnswer):
            await forwarder.forward([place(server)], query_for("alone.example"))
    assert not forwarder.is_loop(("www", "example"))


@pytest.mark.usefixtures("failures_expected")
async def test_mistake_of_ours_is_logged_once(
    forwarding: Forwarding, caplog: pytest.LogCaptureFixture
) -> None:
    """A port that no server can have does not get this far: here it stands for any unexpected exception."""
    for name in ("a.example", "b.example", "c.example"):
        with pytest.raises(NoAnswer):
            await forwarding.forwarder.forward([Server("127.0.0.1", 70_000)], query_for(name))
    assert forwarding.metrics.panics == 3
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is OverflowError


async def test_silence_is_not_logged(forwarding: Forwarding, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(NoAnswer):
        await forwarding.forwarder.forward([], query_for())
    assert (forwarding.metrics.panics, caplog.records) == (0, [])
