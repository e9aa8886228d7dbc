"""Stale reads, lists that mix moments, and lost updates are found."""

from __future__ import annotations

import pytest

from podling.client.base import Listing
from podling.client.requests import ListOptions
from podling.machinery.errors import not_found
from podling.sim.checkers.linearisable_reads import LinearisableReads
from tests.support.checked import History, pod, revised


def history() -> History:
    """Return a history in which ``a`` was written with the revisions 1 and 3, and ``b`` with 2."""
    made = History(LinearisableReads)
    for name in "aba":
        made.write(pod(name))
    return made


@pytest.mark.parametrize(
    ("sent", "revision", "text"),
    [
        (3, 3, ""),
        (1, 1, ""),
        (1, 3, ""),
        (3, 1, "revision 1, although revision 3 was written before the read began"),
        (3, 4, "revision 4, which was never written"),
    ],
)
def test_get_returns_a_state_between_begin_and_answer(sent: int, revision: int, text: str) -> None:
    made = history()
    made.request("get", pod("a"), sent=sent, answer=revised(pod("a"), revision))
    assert made.texts == ([f"get of pods/default/a by controller-manager: {text}"] if text else [])


def test_existing_object_is_found() -> None:
    made = history()
    made.request("get", pod("a"), error=not_found("pods", "", "a"))
    assert made.texts == ["get of pods/default/a by controller-manager: not found, although it exists"]


def test_object_that_goes_meanwhile_may_be_missing() -> None:
    made = history()
    made.delete(pod("a"))
    made.request("get", pod("a"), sent=3, error=not_found("pods", "", "a"))
    made.request("get", pod("a"), error=not_found("pods", "", "a"))
    made.request("get", pod("c"), error=not_found("pods", "", "c"))
    assert not made.texts


@pytest.mark.parametrize(
    ("revisions", "as_of", "text"),
    [
        ({"a": 3, "b": 2}, 3, ""),
        ({"a": 1, "b": 2}, 3, "as of 3: default/a has revision 1, not 3"),
        ({"a": 3}, 3, "as of 3: 1 objects of 2"),
        ({"a": 1, "b": 2}, 2, ": a list as of revision 2, begun at 3"),
    ],
)
def test_list_is_of_one_moment(revisions: dict[str, int], as_of: int, text: str) -> None:
    made = history()
    items = tuple(revised(pod(name), revision) for name, revision in revisions.items())
    made.request("list", pod(), detail=ListOptions(), answer=Listing(items, str(as_of)), is_list=True)
    assert len(made.texts) == bool(text)
    assert all(each.endswith(text) for each in made.texts)


@pytest.mark.parametrize(
    ("named", "text"),
    [("3", ""), ("", ""), ("1", "it named revision 1 and replaced revision 3")],
)
def test_update_replaces_the_revision_that_it_names(named: str, text: str) -> None:
    made = history()
    made.write(pod("a", phase="Failed"))
    body = revised(pod("a"), int(named)) if named else pod("a")
    made.request("update", pod("a"), sent=3, detail=body, answer=revised(pod("a"), 4))
    assert made.texts == ([f"update of pods/default/a by controller-manager: {text}"] if text else [])
