"""Counting of replies, one by one and many at once."""

from __future__ import annotations

from podling.network.dns.answers import A
from podling.network.dns.metrics import Label, Metrics
from podling.network.dns.reply_cache import Reply

LABEL = Label("udp", "1", A, 0, "kubernetes", 90, "", 512)
HIT = Label("udp", "1", A, 0, "kubernetes", 90, "success", 512)


def test_many_replies_count_as_so_many_single_ones() -> None:
    one, many = Metrics(), Metrics()
    for _ in range(5):
        one.count(HIT)
    many.count(HIT, 5)
    for name in ("requests", "responses", "hits", "misses"):
        assert getattr(one, name) == getattr(many, name)
    for sizes in ("request_sizes", "response_sizes"):
        first, second = getattr(one, sizes)["udp"], getattr(many, sizes)["udp"]
        assert (first.cumulative(), first.total) == (second.cumulative(), second.total)


def test_first_answer_is_a_miss_and_its_repeats_are_hits() -> None:
    metrics, reply = Metrics(), Reply(b"", (b"",), HIT)
    metrics.count(LABEL)
    reply.hits = 4
    for _ in range(2):
        metrics.count_hits([reply])
    assert metrics.responses == {("NOERROR", "kubernetes"): 1, ("NOERROR", "cache"): 4}
    assert (metrics.misses, metrics.hits["success"]) == (1, 4)
    assert metrics.requests["udp", "1", "A"] == 5


def test_unknown_numbers_have_names_of_their_own() -> None:
    metrics = Metrics()
    metrics.count(Label("tcp", "2", 4711, 23, "forward", 12, "", 65535))
    metrics.forwarded("10.0.0.1:53", 23, 0.1)
    assert metrics.requests == {("tcp", "2", "other"): 1}
    assert metrics.responses == {("23", "forward"): 1}
    assert list(metrics.forwards) == [("10.0.0.1:53", "23")]
