"""Questions of clients on the wire, well formed or not, and the sizes of their responses."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.answers import (
    BADVERS,
    FORMERR,
    NOTIMP,
    REFUSED,
    A,
    Answer,
    address_record,
)
from podling.network.dns.encoding import UDP_BYTES_MAX, encode
from podling.network.dns.queries import read_query, refuse, respond
from tests.support.dns_messages import answers, options, question, read

NAME = "web.shop.svc.cluster.local"


def test_question_is_read() -> None:
    query = read_query(question("Web.Shop.svc.cluster.local", number=99))
    assert query is not None
    assert (query.id, query.labels, query.type) == (99, tuple(NAME.split(".")), A)
    assert (query.refusal, query.edns, query.payload) == (0, False, 512)


@pytest.mark.parametrize(
    ("size", "wanted"), [(0, 512), (100, 512), (512, 512), (1000, 1000), (4096, UDP_BYTES_MAX)]
)
def test_buffer_size_of_the_client_is_kept_within_limits(size: int, wanted: int) -> None:
    query = read_query(question(NAME, payload=size, dnssec=True))
    assert query is not None
    assert query.payload == wanted
    assert query.wants_dnssec == bool(size)


def changed(data: bytes, place: int, *values: int) -> bytes:
    return data[:place] + bytes(values) + data[place + len(values) :]


PLAIN = question(NAME)


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (changed(PLAIN, 2, 0x28), NOTIMP),
        (changed(PLAIN, 4, 0, 0), FORMERR),
        (changed(PLAIN, 4, 0, 2), FORMERR),
        (changed(PLAIN, 6, 0, 1), FORMERR),
        (changed(PLAIN, 10, 0, 1), FORMERR),
        (changed(PLAIN, 12, 0xC0, 0x0C), FORMERR),
        (changed(PLAIN, 12, 64), FORMERR),
        (changed(PLAIN, 13, 0xFF), FORMERR),
        (PLAIN[:-2], FORMERR),
        (PLAIN[:14], FORMERR),
        (changed(PLAIN, 13, ord(".")), FORMERR),
        (changed(PLAIN, len(PLAIN) - 1, 3), REFUSED),
        (changed(PLAIN, len(PLAIN) - 1, 255), REFUSED),
        (question(NAME, payload=1232, version=1), BADVERS),
    ],
)
def test_question_that_cannot_be_answered_is_refused(data: bytes, refusal: int) -> None:
    query = read_query(data)
    assert query is not None
    assert query.refusal == refusal
    response = refuse(query, refusal)
    assert response[:2] == data[:2]
    assert response[2] & 0x80, "it is a response"
    assert response[3] & 0x0F == refusal & 0x0F
    assert len(response) <= max(len(data), 12) + 11, "it amplifies nothing"


def test_unknown_version_of_edns_is_named_in_the_response() -> None:
    query = read_query(question(NAME, payload=1232, version=1))
    assert query is not None
    (option,) = options(refuse(query, BADVERS))
    assert (option.ttl >> 24, (option.ttl >> 16) & 0xFF) == (BADVERS >> 4, 0)


@pytest.mark.parametrize("data", [b"", b"\0" * 11, changed(PLAIN, 2, 0x81)])
def test_packet_that_is_no_question_gets_no_response(data: bytes) -> None:
    assert read_query(data) is None


@given(st.binary(max_size=300))
def test_no_packet_fails(data: bytes) -> None:
    query = read_query(data)
    if query is not None and query.refusal:
        assert len(refuse(query, query.refusal)) <= max(len(data), 12) + 11


@given(st.lists(st.tuples(st.integers(0, len(PLAIN) + 10), st.integers(0, 255)), max_size=8))
def test_no_damaged_question_fails(changes: list[tuple[int, int]]) -> None:
    data = bytearray(question(NAME, payload=1232))
    for place, value in changes:
        data[place] = value
    query = read_query(bytes(data))
    assert query is None or query.refusal or len(respond(query, encode(Answer(), query.question), 512)) <= 512


@given(st.integers(0, 120), st.sampled_from([0, 512, 900, 1232, 4096]))
def test_response_is_never_larger_than_the_buffer(count: int, size: int) -> None:
    query = read_query(question(NAME, payload=size))
    assert query is not None
    records = tuple(address_record("", 30, f"10.0.{number // 200}.{number % 200}") for number in range(count))
    encoded = encode(Answer(records=records), query.question)
    response = respond(query, encoded, query.payload)
    assert len(response) <= query.payload
    found = read(response)
    fitting = (query.payload - 12 - len(query.question) - (11 if size else 0)) // 16
    assert len(found.rr) == min(count, fitting), "as many records as fit"
    assert found.header.tc == (count > fitting)
    assert len(options(response)) == bool(size), "an OPT record answers an OPT record"


def test_response_repeats_the_letters_of_the_question() -> None:
    data = question("wEb.ShOp.svc.cluster.local", number=5)
    query = read_query(data)
    assert query is not None
    response = respond(
        query, encode(Answer(records=(address_record("", 30, "10.0.0.1"),)), query.question), 512
    )
    assert answers(response) == ["wEb.ShOp.svc.cluster.local. 30 A 10.0.0.1"]
    assert struct.unpack_from("!H", response)[0] == 5
