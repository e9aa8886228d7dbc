"""Replies that are kept are the responses that would be made anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.answering import TCP, UDP, Answering
from podling.network.dns.forwarder import Forwarder
from podling.network.dns.metrics import Metrics
from podling.network.dns.queries import read_query
from podling.network.dns.reply_cache import ReplyCache
from podling.network.dns.resolver import Resolver
from podling.network.dns.zone import Zone
from podling.supervisor import Supervisor
from tests.support.dns_messages import answers, question, read
from tests.support.dns_records import SERVICES, index_of

TESTNS = "testns.svc.cluster.local"
NAMES = (
    f"svc1.{TESTNS}",
    f"hdls1.{TESTNS}",
    f"no.{TESTNS}",
    "cluster.local",
    "10-0-0-1.testns.pod.cluster.local",
)


def answering() -> tuple[Answering, ReplyCache]:
    replies, metrics = ReplyCache(), Metrics()
    forwarder = Forwarder(Supervisor(), metrics, lambda reason, text: None)
    resolver = Resolver(Zone(index_of(*SERVICES), "cluster.local"), forwarder, ())
    return Answering(resolver, replies, metrics), replies


def respond(found: Answering, data: bytes, proto: str = UDP) -> bytes:
    query = read_query(data)
    assert query is not None
    response = found.at_once(query, data, proto, "1")
    assert response is not None
    return response


@given(
    st.sampled_from(NAMES),
    st.sampled_from(["A", "AAAA", "SRV", "TXT"]),
    st.sampled_from([0, 512, 1232, 4096]),
    st.booleans(),
    st.integers(0, 0xFFFF),
)
def test_kept_reply_equals_a_new_response(
    name: str, kind: str, payload: int, upper: bool, number: int
) -> None:
    found, replies = answering()
    first = question(name, kind, payload=payload)
    again = question(name.upper() if upper else name, kind, payload=payload, number=number)
    respond(found, first)
    kept, new = replies.get(again, 0.0), respond(found, again)
    assert kept is not None
    assert sorted(answers(kept)) == sorted(answers(new))
    assert (kept[:2], len(kept)) == (again[:2], len(new))
    assert read(kept).header.bitmap == read(new).header.bitmap
    assert str(read(kept).q.qname) == str(read(again).q.qname)


def test_addresses_of_a_kept_reply_take_turns() -> None:
    found, replies = answering()
    data = question(f"hdls1.{TESTNS}")
    respond(found, data)
    firsts = {answers(replies.get(data, 0.0) or b"")[0] for _ in range(8)}
    assert len(firsts) == 4


@pytest.mark.parametrize("data", [question(NAMES[0], payload=1232, version=1), question(NAMES[0])[:-2]])
def test_refused_question_is_not_kept(data: bytes) -> None:
    found, replies = answering()
    respond(found, data)
    assert replies.replies == {}


def test_answer_over_tcp_is_not_kept_for_udp() -> None:
    found, replies = answering()
    respond(found, question(NAMES[0]), TCP)
    assert replies.replies == {}
