"""Frames on the socket between the node's process and the DNS process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.control import PING_BYTES_MAX
from podling.network.dns.messages import (
    Begin,
    Complete,
    Configure,
    Endpoint,
    Frames,
    Garbage,
    Hello,
    Namespaces,
    Notice,
    Ping,
    Pong,
    Services,
    frame,
    from_server,
    to_server,
)
from podling.network.dns.settings import Server, Settings

SETTINGS = Settings({"acme.local": (Server("1.2.3.4", 5353),)}, (Server("8.8.8.8"),), "10.0.0.1 db")
TO_SERVER = (
    Begin(),
    Services((b"records",), ("shop/gone",)),
    Namespaces(("a", "b")),
    Configure(SETTINGS, "/etc/resolv.conf"),
    Complete(),
    Ping(3),
)
FROM_SERVER = (Hello(7, "build", (Endpoint("udp", "10.88.0.1", 53),)), Pong(3), Notice("DNSLoop", "text"))


@given(st.lists(st.integers(1, 60)))
def test_messages_survive_every_cut(sizes: list[int]) -> None:
    for messages, decoder in ((TO_SERVER, to_server), (FROM_SERVER, from_server)):
        data = b"".join(frame(each) for each in messages)
        frames, found, start = Frames(), [], 0
        for size in (*sizes, len(data)):
            found += [decoder.decode(each) for each in frames.feed(data[start : start + size])]
            start += size
        assert tuple(found) == messages


def test_frame_that_is_too_long_is_garbage() -> None:
    with pytest.raises(Garbage):
        list(Frames().feed(b"\xff\xff\xff\xff"))


def test_longest_ping_is_recognised_by_its_length() -> None:
    assert len(frame(Ping(2**64 - 1, 2**64 - 1))) - 4 < PING_BYTES_MAX
