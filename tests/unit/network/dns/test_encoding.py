"""Encoded answers: every kind of record, read back by another reader, and the changes to their bytes."""

from __future__ import annotations

from podling.network.dns.answers import (
    CNAME,
    NS,
    PTR,
    SOA,
    SRV,
    TXT,
    Answer,
    Record,
    Soa,
    Srv,
    address_record,
)
from podling.network.dns.encoding import TC, UDP_BYTES_MAX, aged, encode, rotations, with_data
from podling.network.dns.queries import Query, read_query, respond
from tests.support.dns_messages import answers, question, read

NAME = "web.shop.svc.cluster.local"


def asked(name: str = NAME, kind: str = "A") -> Query:
    query = read_query(question(name, kind))
    assert query is not None
    return query


def test_every_kind_of_record_is_read_back() -> None:
    query = asked()
    records = (
        address_record("", 30, "10.0.0.1"),
        address_record("other.example", 31, "fd00::1"),
        Record("", CNAME, 32, "a.shop.svc.cluster.local"),
        Record("", PTR, 33, "b.shop.svc.cluster.local"),
        Record("", NS, 34, "c.example"),
        Record("", SRV, 35, Srv(1, 2, 80, "d.shop.svc.cluster.local")),
        Record("", TXT, 36, b"1.1.0"),
        Record("cluster.local", SOA, 37, Soa("ns.dns.cluster.local", "hostmaster.cluster.local", 5)),
    )
    encoded = encode(Answer(records=records), query.question)
    assert answers(respond(query, encoded, 4096)) == [
        f"{NAME}. 30 A 10.0.0.1",
        "other.example. 31 AAAA fd00::1",
        f"{NAME}. 32 CNAME a.shop.svc.cluster.local.",
        f"{NAME}. 33 PTR b.shop.svc.cluster.local.",
        f"{NAME}. 34 NS c.example.",
        f"{NAME}. 35 SRV 1 2 80 d.shop.svc.cluster.local.",
        f'{NAME}. 36 TXT "1.1.0"',
        "cluster.local. 37 SOA ns.dns.cluster.local. hostmaster.cluster.local. 5 7200 1800 86400 30",
    ]
    assert encoded.seconds == 30
    assert {
        each.partition(" ")[2].split()[0] for each in answers(respond(query, aged(encoded, 9), 4096))
    } == {"9"}


def test_names_point_into_the_question() -> None:
    query = asked()
    alias = encode(Answer(records=(Record("", CNAME, 30, "x.shop.svc.cluster.local"),)), query.question)
    assert len(alias.data) == 2 + 10 + 2 + 2, "a pointer, the fixed part, a label of one letter, a pointer"


def test_many_targets_fit_into_a_large_message() -> None:
    """Names beyond the reach of a pointer are written out."""
    query = asked(f"_http._tcp.{NAME}", "SRV")
    names = [f"pod-{number % 400}.{NAME}" for number in range(500)]
    records = tuple(Record("", SRV, 30, Srv(0, 1, 80, name)) for name in names)
    additional = tuple(address_record(name, 30, "10.0.0.1") for name in names)
    encoded = encode(Answer(records=records, additional=additional), query.question)
    found = read(respond(query, encoded, 65535))
    assert len(respond(query, encoded, 65535)) > 0x4000 + 1000
    assert [str(rr.rdata.target) for rr in found.rr] == [f"{name}." for name in names]
    assert [str(rr.rname) for rr in found.ar] == [f"{name}." for name in names]


def test_no_more_is_encoded_than_fits() -> None:
    query = asked()
    records = tuple(address_record("", 30, f"10.0.{number // 250}.{number % 250}") for number in range(5000))
    encoded = encode(Answer(records=records), query.question, UDP_BYTES_MAX)
    assert encoded.flags & TC
    assert len(encoded.data) < UDP_BYTES_MAX + 16
    assert read(respond(query, encoded, 512)).header.tc


def test_missing_additional_records_are_no_truncation() -> None:
    query = asked(kind="SRV")
    records = (Record("", SRV, 30, Srv(0, 100, 80, NAME)),)
    additional = tuple(address_record(NAME, 30, f"10.0.0.{number}") for number in range(200))
    found = read(respond(query, encode(Answer(records=records, additional=additional), query.question), 512))
    assert not found.header.tc
    assert 10 < len(found.ar) < 200


def test_addresses_take_turns_at_the_first_place() -> None:
    query = asked()
    ips = [f"10.0.0.{number}" for number in range(1, 6)]
    encoded = encode(Answer(records=tuple(address_record("", 30, ip) for ip in ips)), query.question)
    found = [
        [each.rpartition(" ")[2] for each in answers(respond(query, with_data(encoded, data), 512))]
        for data in rotations(encoded, 8)
    ]
    assert [each[0] for each in found] == ips
    assert all(sorted(each) == ips for each in found)
    assert len(rotations(encoded, 2)) == 2


def test_chain_of_names_keeps_its_order() -> None:
    query = asked()
    records = (Record("", CNAME, 30, "x.example"), address_record("x.example", 30, "10.0.0.1"))
    encoded = encode(Answer(records=records), query.question)
    assert rotations(encoded, 8) == [encoded.data]
