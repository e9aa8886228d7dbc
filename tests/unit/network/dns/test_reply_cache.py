"""Replies kept as bytes: found by the question, patched for each client, forgotten with their Services."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.reply_cache import DEPENDING_MAX, Reply, ReplyCache, reply_key
from tests.support.dns_messages import question

NAME = "web.shop.svc.cluster.local"


def reply(*tails: bytes, until: float = float("inf")) -> Reply:
    return Reply(b"<head>", tails or (b"<tail>",), None, until)


def test_identifier_and_letters_are_those_of_each_client() -> None:
    cache = ReplyCache()
    cache.put(question(NAME, number=1), reply())
    other = question(NAME.title(), number=0x4142)
    assert cache.get(other, 0.0) == b"AB<head>" + other[12:] + b"<tail>"


def test_every_other_difference_is_another_question() -> None:
    cache = ReplyCache()
    cache.put(question(NAME), reply())
    for other in (
        question(NAME, "AAAA"),
        question(f"x.{NAME}"),
        question(NAME, payload=512),
        question(NAME, recursion=False),
        question(NAME) + b"\0",
        question(NAME)[:-1],
        b"",
        b"\0" * 12,
    ):
        assert cache.get(other, 0.0) is None


def test_reply_is_good_until_its_moment() -> None:
    cache = ReplyCache()
    cache.put(question(NAME), reply(until=5.0))
    assert cache.get(question(NAME), 4.9) is not None
    assert cache.get(question(NAME), 5.0) is None


def test_orders_take_turns() -> None:
    cache = ReplyCache()
    cache.put(question(NAME), reply(b"a", b"b", b"c"))
    last = [(cache.get(question(NAME), 0.0) or b"")[-1:] for _ in range(6)]
    assert sorted(last[:3]) == [b"a", b"b", b"c"]
    assert last[:3] == last[3:]


def test_change_of_a_service_forgets_its_replies_only() -> None:
    cache = ReplyCache()
    cache.put(question("a"), reply(), ("shop/a", "*"))
    cache.put(question("b"), reply(), ("shop/b",))
    cache.put(question("c"), reply())
    cache.changed(("shop/a", "shop/unknown"))
    assert [cache.get(question(name), 0.0) is not None for name in "abc"] == [False, True, True]
    cache.changed(("*",))
    assert cache.get(question("b"), 0.0) is not None


def test_hits_survive_the_reply() -> None:
    cache = ReplyCache(entries_max=2)
    for name in "ab":
        cache.put(question(name), reply())
    cache.get(question("a"), 0.0)
    cache.put(question("c"), reply())
    assert [each.hits for each in cache.dropped] == [1]
    cache.get(question("b"), 0.0)
    cache.clear()
    assert [each.hits for each in cache.dropped] == [1, 1]
    assert cache.get(question("b"), 0.0) is None


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from("abcd"), st.sets(st.sampled_from("xyz"))),
            st.tuples(st.just("changed"), st.sampled_from("xyz"), st.none()),
        )
    )
)
def test_nothing_is_kept_that_depends_on_a_change(steps: list[tuple[str, str, set[str] | None]]) -> None:
    cache, held = ReplyCache(entries_max=3), dict[str, set[str]]()
    for kind, name, depends in steps:
        if kind == "put":
            held.pop(name, None)
            held[name] = depends or set()
            while len(held) > 3:
                held.pop(next(iter(held)))
            cache.put(question(name), reply(), depends or ())
        else:
            cache.changed((name,))
            held = {each: needs for each, needs in held.items() if name not in needs}
    assert set(cache.replies) == {reply_key(question(name)) for name in held}


def test_one_change_forgets_a_bounded_number_of_replies() -> None:
    cache = ReplyCache()
    for number in range(DEPENDING_MAX + 50):
        cache.put(question("a", payload=600 + number), reply(), ("shop/a", "*"))
        cache.put(question(f"b{number}"), reply())
        assert cache.get(question("a", payload=600 + number), 0.0) is not None
    assert len(cache.replies) == DEPENDING_MAX + DEPENDING_MAX + 50
    cache.changed(("shop/a",))
    assert len(cache.replies) == DEPENDING_MAX + 50
