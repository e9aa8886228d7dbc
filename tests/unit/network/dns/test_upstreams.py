"""The order in which other servers get questions."""

from __future__ import annotations

from podling.network.dns.settings import Server
from podling.network.dns.upstreams import FAILURES_MAX, Upstreams, order

A, B, C = Server("10.0.0.1"), Server("10.0.0.2"), Server("10.0.0.3")


def test_servers_take_turns() -> None:
    found = Upstreams().of((A, B, C))
    firsts = [order(found, number, 0.0)[0].server for number in range(6)]
    assert firsts == [A, B, C, A, B, C]
    assert {each.server for each in order(found, 1, 0.0)} == {A, B, C}


def test_silent_server_is_left_out_while_others_answer() -> None:
    upstreams = Upstreams()
    a, b = upstreams.of((A, B))
    a.failures = FAILURES_MAX
    assert order([a, b], 0, 0.0) == [b]
    b.failures = FAILURES_MAX
    assert set(order([a, b], 0, 0.0)) == {a, b}, "where all are silent, all are tried"


def test_server_that_leads_back_is_never_used() -> None:
    a, b = Upstreams().of((A, B))
    a.loops_until = 30.0
    b.failures = FAILURES_MAX
    assert order([a, b], 0, 10.0) == [b]
    b.loops_until = 30.0
    assert order([a, b], 0, 10.0) == []
    assert order([a, b], 0, 30.0) == [a], "it is tested again later"


def test_health_outlives_a_change_of_settings() -> None:
    upstreams = Upstreams()
    (a,) = upstreams.of((A,))
    a.failures = 1
    upstreams.of((A, B))
    upstreams.keep_only((A,))
    assert [each.failures for each in upstreams.all()] == [1]
    upstreams.keep_only(())
    assert upstreams.of((A,))[0].failures == 0
