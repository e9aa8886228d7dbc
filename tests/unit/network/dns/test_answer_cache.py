"""Times and limits of the cache, which are those of CoreDNS' ``cache 30``."""

from __future__ import annotations

import pytest

from podling.network.dns.answer_cache import DENIAL, SUCCESS, AnswerCache, seconds_to_keep
from podling.network.dns.answers import NXDOMAIN, REFUSED, SERVFAIL, A
from podling.network.dns.encoding import Encoded
from podling.network.dns.queries import read_query, respond
from podling.network.dns.responses import read_response
from tests.support.dns_messages import answers, question, reply

NAME = "www.example"
QUERY = question(NAME)
SOA = "example. 60 IN SOA ns.example. admin.example. 1 2 3 4 20"


def key(name: str = NAME) -> tuple[bytes, bool, bool]:
    query = read_query(question(name))
    assert query is not None
    return query.key


def encoded(ttl: int = 20) -> Encoded:
    return read_response(reply(QUERY, f"{NAME}. {ttl} IN A 10.0.0.1")).encoded


@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        (reply(QUERY, f"{NAME}. 300 IN A 1.2.3.4"), (SUCCESS, 30)),
        (reply(QUERY, f"{NAME}. 20 IN A 1.2.3.4"), (SUCCESS, 20)),
        (reply(QUERY, f"{NAME}. 300 IN A 1.2.3.4", f"{NAME}. 7 IN A 1.2.3.5"), (SUCCESS, 7)),
        (reply(QUERY, f"{NAME}. 2 IN A 1.2.3.4"), (SUCCESS, 5)),
        (reply(QUERY, f"{NAME}. 0 IN A 1.2.3.4"), (SUCCESS, 0)),
        (reply(QUERY, rcode=NXDOMAIN, authority=SOA), (DENIAL, 20)),
        (reply(QUERY, authority=SOA), (DENIAL, 20)),
        (reply(QUERY, rcode=NXDOMAIN), (DENIAL, 0)),
        (reply(QUERY), (DENIAL, 0)),
        (reply(QUERY, f"{NAME}. 300 IN CNAME other.example."), (DENIAL, 0)),
        (reply(QUERY, f"{NAME}. 300 IN CNAME other.example.", authority=SOA), (DENIAL, 20)),
        (reply(QUERY, rcode=SERVFAIL), (DENIAL, 5)),
        (reply(QUERY, rcode=REFUSED), (DENIAL, 0)),
    ],
)
def test_time_for_which_a_response_is_kept(response: bytes, wanted: tuple[str, int]) -> None:
    assert seconds_to_keep(read_response(response), A) == wanted


def test_truncated_response_is_not_kept() -> None:
    data = bytearray(reply(QUERY, f"{NAME}. 20 IN A 1.2.3.4"))
    data[2] |= 0x02
    assert seconds_to_keep(read_response(bytes(data)), A)[1] == 0


def test_times_to_live_fall_every_second() -> None:
    cache, query = AnswerCache(), read_query(QUERY)
    assert query is not None
    cache.put(key(), encoded(), SUCCESS, 20, now=100.0)
    for now, left, until in ((100.0, 20, 101.0), (100.9, 20, 101.0), (101.0, 19, 102.0), (119.5, 1, 120.0)):
        found = cache.get(key(), now)
        assert found is not None
        assert answers(respond(query, found[0], 512)) == [f"{NAME}. {left} A 10.0.0.1"]
        assert found[1:] == (SUCCESS, until)
    assert cache.get(key(), 120.0) is None
    assert cache.get(key(), 100.0) is None, "it is forgotten"
    assert cache.count(SUCCESS) == 0


def test_oldest_answers_leave_first() -> None:
    cache = AnswerCache(entries_max=2)
    for name in ("a", "b", "a", "c"):
        cache.put(key(name), encoded(), SUCCESS, 20, now=0.0)
    assert [cache.get(key(name), 1.0) is not None for name in "abc"] == [True, False, True]
    assert cache.evictions == 1


def test_cache_holds_no_more_than_its_bytes() -> None:
    cache = AnswerCache(bytes_max=10_000)
    for number in range(100):
        cache.put(key(f"name-{number}"), encoded(), SUCCESS, 20, now=0.0)
    assert 5 < cache.count(SUCCESS) < 20
    cache.clear()
    assert cache.count(SUCCESS) == 0
