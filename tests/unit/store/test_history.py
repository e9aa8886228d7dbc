"""The window of past changes: its bounds, its size, and the past that it restores."""

from __future__ import annotations

import pytest

from podling.store import history
from podling.store.base import Compacted, Entry, Event, EventType, FutureRevision
from podling.store.history import DERIVED_BYTES, PARTS, History


def history_of(*changes: tuple[str, bytes | None], compacted: int = 0) -> History:
    """Return a window with a put for each value and a deletion for each None."""
    made, entries = History(compacted), dict[str, Entry]()
    for revision, (key, value) in enumerate(changes, compacted + 1):
        previous = entries.pop(key, None)
        if value is None:
            assert previous is not None
            made.append(Event(EventType.DELETE, Entry(key, previous.value, revision, 1), previous))
        else:
            entries[key] = Entry(key, value, revision, revision)
            made.append(Event(EventType.PUT, entries[key], previous))
    return made


FOUR = (("/a", b"1"), ("/b", b"22"), ("/a", b"333"), ("/b", None))


def test_event_out_of_order_is_refused() -> None:
    made = history_of(*FOUR, compacted=10)
    assert made.revision == 14
    for revision in (13, 14, 16):
        with pytest.raises(ValueError, match=f"revision {revision} does not follow 14"):
            made.append(Event(EventType.PUT, Entry("/c", b"", revision, revision), None))


@pytest.mark.parametrize(
    ("revision", "after", "up_to"),
    [(10, [11, 12, 13, 14], []), (12, [13, 14], [11, 12]), (14, [], [11, 12, 13, 14])],
)
def test_events_are_found_on_both_sides_of_a_revision(
    revision: int, after: list[int], up_to: list[int]
) -> None:
    made = history_of(*FOUR, compacted=10)
    made.check(revision)
    assert [event.revision for event in made.after(revision)] == after
    assert [event.revision for event in made.up_to(revision)] == up_to


def test_revision_outside_the_window_is_refused() -> None:
    made = history_of(*FOUR, compacted=10)
    with pytest.raises(Compacted, match="oldest kept is 10"):
        made.check(9)
    with pytest.raises(FutureRevision, match="current one is 14"):
        made.check(15)


@pytest.mark.parametrize(
    ("revision", "prefix", "before"),
    [
        (0, "/", {"/a": None, "/b": None}),
        (1, "/", {"/a": b"1", "/b": None}),
        (2, "/", {"/a": b"1", "/b": b"22"}),
        (3, "/", {"/b": b"22"}),
        (2, "/a", {"/a": b"1"}),
        (4, "/", {}),
    ],
)
def test_replaced_values_are_those_of_the_revision(
    revision: int, prefix: str, before: dict[str, bytes | None]
) -> None:
    found = history_of(*FOUR).replaced_since(revision, prefix)
    assert {key: entry and entry.value for key, entry in found.items()} == before


def test_size_counts_replaced_and_deleted_values() -> None:
    assert history_of(*FOUR[:2]).size_bytes == 0
    assert history_of(*FOUR[:3]).size_bytes == 1
    assert history_of(*FOUR).size_bytes == 1 + 2 + 2


@pytest.mark.parametrize(("revision", "size"), [(0, 5), (2, 5), (3, 4), (4, 0)])
def test_compaction_forgets_events_and_their_size(revision: int, size: int) -> None:
    made = history_of(*FOUR)
    made.compact(revision)
    assert (made.compacted, made.revision, made.size_bytes) == (revision, 4, size)
    assert [event.revision for event in made.after(revision)] == list(range(revision + 1, 5))
    made.compact(revision - 1)
    assert made.compacted == revision


@pytest.mark.parametrize(("size", "revision"), [(5, 0), (4, 3), (3, 4), (0, 4)])
def test_window_of_a_size_begins_at_a_revision(size: int, revision: int) -> None:
    made = history_of(*FOUR)
    assert made.beyond(size) == revision
    made.compact(revision)
    assert made.size_bytes <= size


def replaced(count: int, size: int) -> tuple[History, list[Entry]]:
    """Return a window of one key that was replaced so often, and its entries."""
    made, entries = (
        History(),
        [Entry("/a", b"x" * size, number, 1, "derived") for number in range(1, count + 2)],
    )
    previous: Entry | None = None
    for entry in entries:
        made.append(Event(EventType.PUT, entry, previous))
        previous = entry
    return made, entries


def test_older_values_lose_what_was_derived_from_them() -> None:
    made, entries = replaced(10, DERIVED_BYTES // 4)
    kept = [entry.revision for entry in entries if entry.memo is not None]
    assert kept == [7, 8, 9, 10, 11], "four that were replaced, and the present one"
    entries[0].memo = entries[-1].memo = "made again"
    assert list(made.forget_derived()) == []
    assert entries[0].memo is None
    assert entries[-1].memo == "made again"


def test_values_lose_what_was_derived_from_them_at_the_second_call() -> None:
    made, entries = replaced(3, DERIVED_BYTES // 8)
    list(made.forget_derived())
    later = Entry("/a", b"x", 5, 1, "derived")
    made.append(Event(EventType.PUT, later, entries[-1]))
    assert all(entry.memo is not None for entry in entries)
    steps = list(made.forget_derived())
    assert [entry.memo is None for entry in entries] == [True, True, True, False], "of the last event"
    assert len(steps) == 3, "one large value at each step"
    list(made.forget_derived())
    assert entries[-1].memo is None
    assert later.memo == "derived", "it is current"


def test_newest_change_keeps_what_was_derived_from_its_values() -> None:
    _, entries = replaced(3, 2 * DERIVED_BYTES)
    assert [entry.memo is None for entry in entries] == [True, True, False, False]


def test_compaction_counts_on_from_what_is_left() -> None:
    made, entries = replaced(10, DERIVED_BYTES // 4)
    made.compact(9)
    made.append(Event(EventType.PUT, Entry("/a", b"", 12, 1, "derived"), entries[-1]))
    assert [entry.memo is None for entry in entries[7:]] == [False] * 4
    made.compact(12)
    assert made.size_bytes == 0


def test_values_that_late_readers_made_again_are_forgotten_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "STEP_EVENTS", 2)
    made, entries = replaced(24, 10)
    for _ in range(2):
        list(made.forget_derived())
    for entry in entries[:-1]:
        entry.memo = "made again"
    list(made.forget_derived())
    assert any(entry.memo for entry in entries[:-1]), "only a part was searched"
    for _ in range(PARTS):
        list(made.forget_derived())
    assert not any(entry.memo for entry in entries[:-1])
