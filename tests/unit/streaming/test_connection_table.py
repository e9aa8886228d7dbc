"""Limits on connections: new ones kept or closed, and idle ones closed for them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from podling.streaming.connection_table import ConnectionTable, Limits, Verdict, verdict

LIMITS = Limits(total=100, per_peer=10, share=0.5, reserve=0.25)


@pytest.mark.parametrize(
    ("descriptor", "connections", "of_peer", "found"),
    [
        (20, 0, 0, Verdict.KEEP),
        (749, 99, 9, Verdict.KEEP),
        (750, 99, 9, Verdict.KEEP_FOR_IDLE),
        (874, 0, 0, Verdict.KEEP_FOR_IDLE),
        (875, 0, 0, Verdict.CLOSE),
        (999, 0, 20, Verdict.CLOSE),
        (20, 100, 9, Verdict.KEEP_FOR_IDLE),
        (20, 99, 10, Verdict.KEEP_FOR_IDLE_OF_PEER),
        (600, 100, 10, Verdict.KEEP_FOR_IDLE_OF_PEER),
    ],
)
def test_limits_decide_verdict_on_connection(
    descriptor: int, connections: int, of_peer: int, found: Verdict
) -> None:
    decided = verdict(
        LIMITS, descriptor=descriptor, open_files=1000, connections=connections, of_peer=of_peer
    )
    assert decided is found


def test_connections_have_a_share_of_few_descriptors() -> None:
    """Descriptors of others count against the reserve alone."""
    seen = [
        verdict(LIMITS, descriptor=descriptor, open_files=64, connections=connections, of_peer=0)
        for descriptor, connections in ((40, 31), (40, 32), (47, 0), (48, 0), (56, 0))
    ]
    kept, full, closed = Verdict.KEEP, Verdict.KEEP_FOR_IDLE, Verdict.CLOSE
    assert seen == [kept, full, kept, full, closed]


@dataclass(eq=False)
class Client:
    peer: str = "a"
    is_idle: bool = True


def table(*clients: Client) -> ConnectionTable[Client]:
    made: ConnectionTable[Client] = ConnectionTable()
    for client in clients:
        made.add(client)
    return made


def test_oldest_idle_connection_is_taken() -> None:
    busy, first, second = Client(is_idle=False), Client(), Client()
    row = table(busy, first, second)
    assert [row.take_idle() for _ in range(3)] == [first, second, None]
    assert list(row) == [busy]


def test_idle_connection_of_a_peer_is_taken() -> None:
    other, busy, own = Client("b"), Client(is_idle=False), Client()
    row = table(other, busy, own)
    assert [row.take_idle("a"), row.take_idle("a"), row.take_idle("c")] == [own, None, None]
    assert (len(row), row.count_of("a"), row.count_of("b")) == (2, 1, 1)


def test_search_is_bounded_and_goes_on_where_it_ended() -> None:
    clients = [Client(is_idle=False) for _ in range(100)]
    row = table(*clients, idle := Client())
    assert row.take_idle() is None
    assert row.take_idle() is idle


def test_connection_is_discarded_once() -> None:
    row = table(client := Client(), other := Client())
    row.discard(client)
    row.discard(client)
    assert (list(row), row.count_of("a")) == ([other], 1)
    row.discard(other)
    assert (len(row), row.count_of("a")) == (0, 0)
