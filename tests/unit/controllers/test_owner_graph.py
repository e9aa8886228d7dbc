"""The graph of owners and dependents after events in any order. Cases of upstream's ``TestProcessEvent``."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.controllers.owner_graph import OwnerGraph
from podling.machinery.scheme import resource_of

PODS = resource_of(Pod)


def pod(uid: str, *owners: str, blocks: bool = False) -> Pod:
    references = tuple(
        OwnerReference(api_version="v1", kind="Pod", name=each, uid=each, block_owner_deletion=blocks)
        for each in owners
    )
    return Pod(metadata=ObjectMeta(name=uid, namespace="default", uid=uid, owner_references=references))


# the objects that are added or changed with their owners, or deleted ("-"); and the dependents in the end
EVENTS: list[tuple[list[tuple[str, ...]], dict[str, list[str]]]] = [
    ([("1",), ("2", "1"), ("3", "1", "2")], {"1": ["2", "3"], "2": ["3"]}),
    (
        [("1",), ("2", "1"), ("3", "1", "2"), ("4", "2"), ("-2", "any")],
        {"1": ["3"], "2": ["3", "4"]},
    ),
    (
        [("1",), ("2", "1"), ("3", "1", "2"), ("4", "3"), ("2", "4")],
        {"1": ["3"], "2": ["3"], "3": ["4"], "4": ["2"]},
    ),
    (
        [("4", "2"), ("3", "1", "2"), ("2", "1"), ("1",), ("-2", "any")],
        {"1": ["3"], "2": ["3", "4"]},
    ),
    ([("2", "1"), ("-2", "1"), ("-1",)], {}),
]


@pytest.mark.parametrize(("events", "dependents"), EVENTS)
def test_dependents_are_those_that_name_the_owner(
    events: list[tuple[str, ...]], dependents: dict[str, list[str]]
) -> None:
    graph = OwnerGraph()
    for uid, *owners in events:
        if uid.startswith("-"):
            graph.remove(pod(uid.removeprefix("-"), *owners))
        else:
            graph.put(PODS, pod(uid, *owners))
    found = {uid: sorted(item.uid for item in graph.dependents(uid)) for uid in "1234"}
    assert {uid: each for uid, each in found.items() if each} == dependents


def test_events_name_what_has_to_be_looked_at() -> None:
    graph = OwnerGraph()
    assert graph.put(PODS, pod("child", "owner")) == ["child"], "its owner was not seen"
    assert graph.put(PODS, pod("owner")) == [], "the reference names it as it is"
    assert graph.put(PODS, pod("late", "owner")) == []
    assert graph.put(PODS, pod("late")) == ["late"], "its references changed"
    assert graph.remove(pod("owner")) == ["child"]
    assert graph.remove(pod("child")) == []
    assert len(graph) == 1


def test_only_references_that_say_so_block_an_owner() -> None:
    graph = OwnerGraph()
    graph.put(PODS, pod("free", "owner"))
    graph.put(PODS, pod("blocking", "owner", blocks=True))
    assert [item.uid for item in graph.blocking_dependents("owner")] == ["blocking"]
