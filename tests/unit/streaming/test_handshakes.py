"""The order in which handshakes begin."""

from __future__ import annotations

import pytest

from podling.streaming.handshakes import IN_PROGRESS_MAX, HandshakeQueue


def taken(queue: HandshakeQueue[str]) -> list[str]:
    found = []
    while (connection := queue.take()) is not None:
        found.append(connection)
    return found


@pytest.mark.parametrize(
    ("waiting", "order"),
    [
        ([], []),
        (["a1", "a2", "a3"], ["a1", "a2", "a3"]),
        (["a1", "a2", "a3", "b1"], ["a1", "b1", "a2", "a3"]),
        (["a1", "a2", "b1", "b2", "c1"], ["a1", "b1", "c1", "a2", "b2"]),
    ],
    ids=str,
)
def test_addresses_take_turns(waiting: list[str], order: list[str]) -> None:
    queue: HandshakeQueue[str] = HandshakeQueue()
    for connection in waiting:
        queue.add(connection[0], connection)
    assert bool(queue) is bool(waiting)
    assert taken(queue) == order
    assert not queue


def test_new_address_waits_for_no_more_than_one_of_each_other() -> None:
    queue: HandshakeQueue[str] = HandshakeQueue()
    for number in range(500):
        queue.add("a", f"a{number}")
    assert queue.take() == "a0"
    queue.add("b", "b0")
    assert [queue.take(), queue.take()] == ["a1", "b0"]


def test_closed_connection_is_not_begun() -> None:
    queue: HandshakeQueue[str] = HandshakeQueue()
    for connection in ("a1", "a2", "b1"):
        queue.add(connection[0], connection)
    queue.discard("a", "a1")
    queue.discard("b", "b1")
    queue.discard("c", "c1")
    assert taken(queue) == ["a2"]


def test_address_with_many_handshakes_in_progress_waits() -> None:
    queue: HandshakeQueue[str] = HandshakeQueue()
    for number in range(IN_PROGRESS_MAX + 3):
        queue.add("a", f"a{number}")
    assert len(taken(queue)) == IN_PROGRESS_MAX
    queue.add("a", "last")
    queue.add("b", "b0")
    assert taken(queue) == ["b0"]
    queue.discard("a", "last")
    queue.end("a")
    assert taken(queue) == [f"a{IN_PROGRESS_MAX}"]
    for _ in range(IN_PROGRESS_MAX):
        queue.end("a")
    assert taken(queue) == [f"a{IN_PROGRESS_MAX + 1}", f"a{IN_PROGRESS_MAX + 2}"]
