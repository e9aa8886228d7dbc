"""Gaps, duplicates and disorder of watches are found."""

from __future__ import annotations

import pytest

from podling.sim.checkers.watch_order import WatchOrder
from tests.support.checked import History, node, pod


@pytest.mark.parametrize(
    ("revisions", "text"),
    [
        ((1, 2, 4), ""),
        ((1, 4), "watch 1 of pods by scheduler misses revision 2: 4 follows 1"),
        ((1, 2, 2, 4), "watch 1 of pods by scheduler delivers revision 2 after 2"),
        ((2, 1), "watch 1 of pods by scheduler misses revision 1: 2 follows 0"),
    ],
)
def test_deliveries_are_compared_with_the_history(revisions: tuple[int, ...], text: str) -> None:
    history = History(WatchOrder)
    for obj in (pod("a"), pod("b"), node(), pod("c")):
        history.write(obj)
    for revision in revisions:
        history.deliver(revision, after="0")
    assert history.texts[:1] == ([text] if text else [])


def test_watch_with_a_selector_may_skip_changes() -> None:
    history = History(WatchOrder)
    for name in "abc":
        history.write(pod(name))
    history.deliver(1, after="0", selector="app=web")
    history.deliver(3, after="0", selector="app=web")
    assert not history.texts


def test_revision_that_falls_is_a_violation() -> None:
    history = History(WatchOrder)
    history.write(pod("a"))
    history.revision = 0
    history.write(pod("b"))
    assert history.texts == ["revision 1 of pods/default/b follows revision 1"]


@pytest.mark.parametrize(("revision", "count"), [(1, 0), (2, 1), (3, 1)])
def test_bookmark_says_that_all_was_delivered(revision: int, count: int) -> None:
    history = History(WatchOrder)
    for name in "ab":
        history.write(pod(name))
    history.deliver(1, after="0")
    history.deliver(revision, after="0", is_bookmark=True)
    text = f"watch 1 of pods by scheduler misses revision 2: {revision + 1} follows 1"
    assert history.texts == [text] * count
