"""Committed state: preconditions of changes, and pages of today and of the past."""

from __future__ import annotations

import pytest

from podling.store.base import VALUE_BYTES_MAX, Conflict, Entry, EventType, ValueTooLarge
from podling.store.state import State


def put(state: State, key: str, value: bytes = b"") -> None:
    entry, revision = state.get(key), state.history.revision + 1
    state.commit(state.put_event(key, lambda _: value, entry.revision if entry else 0, revision, None))


def delete(state: State, key: str) -> None:
    entry = state.get(key)
    assert entry is not None
    state.commit(state.delete_event(key, None, entry.revision, state.history.revision + 1))


def filled() -> State:
    """Return a state: a, b, c created at 1 to 3, b replaced at 4, a deleted at 5, d created at 6."""
    state = State()
    for key in "abc":
        put(state, f"/x/{key}", b"old")
    put(state, "/x/b", b"new")
    delete(state, "/x/a")
    put(state, "/x/d", b"old")
    return state


def test_event_is_invisible_until_committed() -> None:
    state = State()
    event = state.put_event("/x/a", lambda revision: f"r{revision}".encode(), 0, 1, "memo")
    assert state.get("/x/a") is None
    assert state.count("/x/") == 0
    state.commit(event)
    found = state.get("/x/a")
    assert found is not None
    assert (found.value, found.revision, found.create_revision, found.memo) == (b"r1", 1, 1, "memo")


@pytest.mark.parametrize(
    ("key", "expect", "actual"), [("/x/b", 0, 4), ("/x/b", 2, 4), ("/x/a", 1, 0), ("/x/none", 5, 0)]
)
def test_change_of_another_revision_conflicts(key: str, expect: int, actual: int) -> None:
    state = filled()
    with pytest.raises(Conflict) as caught:
        state.put_event(key, lambda _: b"", expect, 7, None)
    assert caught.value.actual == actual
    with pytest.raises(Conflict):
        state.delete_event(key, None, expect, 7)


def test_deletion_of_a_missing_key_conflicts() -> None:
    with pytest.raises(Conflict):
        filled().delete_event("/x/none", None, 0, 7)


def test_deletion_keeps_the_last_value_or_the_encoded_one() -> None:
    state = filled()
    kept = state.delete_event("/x/b", None, 4, 7)
    assert (kept.type, kept.entry.value, kept.entry.create_revision) == (EventType.DELETE, b"new", 2)
    assert state.delete_event("/x/b", lambda revision: b"%d" % revision, 4, 7).entry.value == b"7"


def test_value_above_the_limit_is_refused() -> None:
    state = State()
    fitting = VALUE_BYTES_MAX - len("/a")
    assert state.put_event("/a", lambda _: bytes(fitting), 0, 1, None).entry.revision == 1
    with pytest.raises(ValueTooLarge):
        state.put_event("/a", lambda _: bytes(fitting + 1), 0, 1, None)


@pytest.mark.parametrize(
    ("revision", "found"),
    [
        (None, {"b": b"new", "c": b"old", "d": b"old"}),
        (6, {"b": b"new", "c": b"old", "d": b"old"}),
        (5, {"b": b"new", "c": b"old"}),
        (4, {"a": b"old", "b": b"new", "c": b"old"}),
        (3, {"a": b"old", "b": b"old", "c": b"old"}),
        (1, {"a": b"old"}),
    ],
)
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_page_shows_the_state_of_its_revision(
    revision: int | None, found: dict[str, bytes], limit: int
) -> None:
    state, after, seen, left = filled(), "", dict[str, bytes](), len(found)
    while left:
        page = state.page("/x/", revision, limit, after)
        assert page.revision == (revision or 6)
        left -= len(page.entries)
        assert page.remaining == left
        seen |= {entry.key.removeprefix("/x/"): entry.value for entry in page.entries}
        after = page.entries[-1].key
    assert list(seen.items()) == list(found.items())


def test_state_begins_with_stored_entries() -> None:
    state = State([Entry("/x/b", b"", 4, 2), Entry("/x/a", b"", 3, 3), Entry("/y/a", b"", 5, 5)], compacted=5)
    assert [entry.key for entry in state.page("/x/", None, 0, "").entries] == ["/x/a", "/x/b"]
    assert (state.count("/x/"), state.count("/"), state.history.revision) == (2, 3, 5)
