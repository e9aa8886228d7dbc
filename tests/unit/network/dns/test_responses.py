"""Responses of other servers: read, checked, and joined to the names that led to them."""

from __future__ import annotations

import dnslib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.answers import CNAME, NXDOMAIN, Answer, Record
from podling.network.dns.encoding import AD, CD, RD, Malformed
from podling.network.dns.queries import Query, read_query, respond
from podling.network.dns.responses import joined, question_for, read_response, upstream_query
from tests.support.dns_messages import answers, options, question, read, reply

NAME = "www.example"
RECORDS = (
    f"{NAME}. 300 IN CNAME web.example.",
    "web.example. 200 IN A 1.2.3.4",
    "web.example. 100 IN MX 10 mail.example.",
)


def asked(name: str = NAME, *, payload: int = 0, dnssec: bool = False) -> Query:
    query = read_query(question(name, payload=payload, dnssec=dnssec))
    assert query is not None
    return query


@pytest.mark.parametrize("edns", [False, True])
def test_response_passes_through_without_its_options(edns: bool) -> None:
    query = asked()
    response = read_response(reply(question(NAME), *RECORDS, edns=edns))
    data = respond(query, response.encoded, 512)
    assert answers(data) == [
        f"{NAME}. 300 CNAME web.example.",
        "web.example. 200 A 1.2.3.4",
        "web.example. 100 MX 10 mail.example.",
    ]
    assert options(data) == []
    assert response.encoded.seconds == 100
    assert options(respond(asked(payload=1232), response.encoded, 512)), "the client's own gets an answer"


def test_options_before_other_records_are_removed() -> None:
    record = read(reply(question(NAME), *RECORDS, edns=True))
    record.add_ar(*dnslib.RR.fromZone("web.example. 50 IN A 1.2.3.5"))
    response = read_response(bytes(record.pack()))
    data = respond(asked(), response.encoded, 512)
    assert options(data) == []
    assert [str(rr.rdata) for rr in read(data).ar] == ["1.2.3.5"]
    assert len(answers(data)) == 3


def test_denial_names_its_time() -> None:
    soa = "example. 60 IN SOA ns.example. admin.example. 1 2 3 4 20"
    response = read_response(reply(question(NAME), rcode=NXDOMAIN, authority=soa))
    assert (response.rcode, response.denial_seconds) == (NXDOMAIN, 20)
    assert read_response(reply(question(NAME))).denial_seconds == -1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        question(NAME),
        reply(question(NAME), *RECORDS)[:-1],
        reply(question(NAME))[:12],
        b"\0\0\x81\x80\0\x02" + reply(question(NAME))[6:],
    ],
)
def test_response_that_cannot_be_read_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_response(data)


@given(st.binary(max_size=200))
def test_no_packet_fails_otherwise(data: bytes) -> None:
    try:
        read_response(data)
    except Malformed:
        return


@given(st.lists(st.tuples(st.integers(0, 70), st.integers(0, 255)), min_size=1, max_size=6))
def test_no_damaged_response_fails_otherwise(changes: list[tuple[int, int]]) -> None:
    data = bytearray(reply(question(NAME), *RECORDS, edns=True))
    for place, value in changes:
        data[place] = value
    try:
        response = read_response(bytes(data))
    except Malformed:
        return
    assert len(respond(asked(), response.encoded, 512)) <= 512


def test_question_goes_on_in_lower_case_with_the_clients_wishes() -> None:
    query = read_query(question("WWW.Example", payload=4096, dnssec=True))
    assert query is not None
    found = read(upstream_query(9, query))
    assert (found.header.id, str(found.q.qname)) == (9, f"{NAME}.")
    assert found.header.bitmap & (RD | AD | CD) == RD | AD
    (option,) = options(upstream_query(9, query))
    assert (option.rclass, option.ttl) == (1232, 0x8000)
    assert options(upstream_query(9, query, edns=False)) == []


def test_name_is_joined_to_the_answers_behind_it() -> None:
    own = "db.shop.svc.cluster.local"
    query = asked(own)
    first = Answer(records=(Record("", CNAME, 30, NAME),), follow=NAME)
    rest = read_response(reply(question(NAME), *RECORDS[:2]))
    encoded = joined(query, first, NAME, rest)
    assert answers(respond(query, encoded, 512)) == [
        f"{own}. 30 CNAME {NAME}.",
        f"{NAME}. 300 CNAME web.example.",
        "web.example. 200 A 1.2.3.4",
    ]
    assert encoded.seconds == 30


@pytest.mark.parametrize("name", ["x" * 64, ".".join(["label"] * 60)])
def test_name_that_is_too_long_is_malformed(name: str) -> None:
    with pytest.raises(Malformed):
        question_for(name, 1)
