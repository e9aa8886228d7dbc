"""The next step of a DaemonSet's rolling update (cases of update_test.go)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import DaemonSetUpdateStrategy
from podling.controllers.workloads.daemonset_rules import by_node, max_surge
from podling.controllers.workloads.daemonset_update_rules import max_unavailable, update
from tests.unit.controllers.workloads.daemonsets import NOW, daemon_pod, daemon_set, node, rolling


def step(strategy: DaemonSetUpdateStrategy, states: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the nodes that get a pod and the pods that go.

    ``states``: the pods of each node, as in ``old+ new``. A node with a ``t`` before them is tainted, the
    node ``gone`` does not exist.
    """
    wanted = daemon_set(strategy=strategy)
    wanted = structs.replace(wanted, spec=structs.replace(wanted.spec, min_ready_seconds=15))
    nodes = [
        node(name, "NoSchedule" if text.startswith("t") else "")
        for name, text in states.items()
        if name != "gone"
    ]
    pods = [daemon_pod(name, each) for name, text in states.items() for each in text.split() if each != "t"]
    found = update(wanted, nodes, by_node(pods), "new", NOW)
    return sorted(found.create), sorted(each.metadata.name or "" for each in found.delete)


REPLACE: list[tuple[str, int | str, dict[str, str], list[str]]] = [
    ("nothing to do", 1, {"a": "new+", "b": "new+"}, []),
    ("one at a time", 1, {"a": "old+", "b": "old+"}, ["a-old"]),
    ("two at a time", 2, {"a": "old+", "b": "old+", "c": "old+"}, ["a-old", "b-old"]),
    ("half of them", "50%", {"a": "old+", "b": "old+", "c": "old+"}, ["a-old", "b-old"]),
    ("a new one that is not available counts", 1, {"a": "new", "b": "old+"}, []),
    ("nor is one that is ready only now", 1, {"a": "new~", "b": "old+"}, []),
    ("broken old ones go at once", 1, {"a": "old", "b": "old", "c": "old+"}, ["a-old", "b-old"]),
    ("also when too many new ones are broken", 1, {"a": "new", "b": "new", "c": "old"}, ["c-old"]),
    ("a node without a pod counts", 1, {"a": "", "b": "old+"}, []),
    ("so does one whose pod is being deleted", 1, {"a": "old+!", "b": "old+"}, []),
    ("so does one with an old and a new pod", 1, {"a": "old+ new+", "b": "old+"}, []),
    ("so does one with several old pods", 1, {"a": "old+ old+", "b": "old+"}, []),
    ("a node that should not run it loses its old pod", 1, {"a": "t old+"}, ["a-old"]),
    ("and keeps a new one", 1, {"a": "t new+", "b": "new+"}, []),
    ("a pod of a node that is gone is replaced, too", 1, {"gone": "old", "b": "new+"}, ["gone-old"]),
]


@pytest.mark.parametrize(("why", "unavailable", "states", "gone"), REPLACE)
def test_old_pods_go_within_max_unavailable(
    why: str, unavailable: int | str, states: dict[str, str], gone: list[str]
) -> None:
    assert step(rolling(max_unavailable=unavailable), states) == ([], gone), why


SURGE: list[tuple[str, int, dict[str, str], list[str], list[str]]] = [
    ("one at a time", 1, {"a": "old+", "b": "old+"}, ["a"], []),
    ("two at a time", 2, {"a": "old+", "b": "old+", "c": "old+"}, ["a", "b"], []),
    ("one that waits counts", 1, {"a": "old+ new", "b": "old+"}, [], []),
    ("also when it is ready only now", 1, {"a": "old+ new~", "b": "old+"}, [], []),
    ("an available one takes over", 1, {"a": "old+ new+", "b": "old+"}, ["b"], ["a-old"]),
    ("broken old ones are replaced at once", 1, {"a": "old", "b": "old", "c": "old+"}, ["a", "b", "c"], []),
    ("a node with several new pods counts", 1, {"a": "new+ new+", "b": "old+"}, [], []),
    ("a broken old pod goes where none should run", 1, {"a": "t old", "b": "new+"}, [], ["a-old"]),
    ("an available one waits for its successors elsewhere", 1, {"a": "t old+", "b": "new"}, [], []),
    ("and goes when there are enough", 1, {"a": "t old+", "b": "new+"}, [], ["a-old"]),
    ("of two only as many as are too much", 1, {"a": "t old+", "b": "t old+", "c": "new"}, [], ["a-old"]),
]


@pytest.mark.parametrize(("why", "surge", "states", "made", "gone"), SURGE)
def test_new_pods_come_first_within_max_surge(
    why: str, surge: int, states: dict[str, str], made: list[str], gone: list[str]
) -> None:
    strategy = rolling(max_surge=surge, max_unavailable=0)
    assert step(strategy, states) == (made, gone), why


def test_pods_of_the_strategy_on_delete_are_left_alone() -> None:
    assert step(DaemonSetUpdateStrategy(type="OnDelete"), {"a": "old+"}) == ([], [])


@pytest.mark.parametrize(
    ("strategy", "wanted", "surge", "unavailable"),
    [
        ({"max_unavailable": 0}, 0, 0, 0),
        ({"max_unavailable": 1}, 2, 0, 1),
        ({"max_unavailable": "50%"}, 3, 0, 2),
        ({"max_unavailable": 0, "max_surge": 2}, 2, 2, 0),
        ({"max_unavailable": 0, "max_surge": "50%"}, 3, 2, 0),
        ({"max_unavailable": 0, "max_surge": "1%"}, 3, 1, 0),
        ({}, 3, 0, 1),
    ],
)
def test_numbers_of_nodes_are_rounded_up(
    strategy: dict[str, Any], wanted: int, surge: int, unavailable: int
) -> None:
    given = daemon_set(strategy=rolling(**strategy))
    assert (max_surge(given, wanted), max_unavailable(given, wanted)) == (surge, unavailable)


def test_surge_is_for_rolling_updates_alone() -> None:
    surging = rolling(max_surge=2).rolling_update
    left = DaemonSetUpdateStrategy(type="OnDelete", rolling_update=surging)
    assert max_surge(daemon_set(strategy=left), 5) == 0


def test_impossible_strategy_updates_one_pod_at_a_time() -> None:
    assert step(rolling(max_unavailable=0), {"a": "old+", "b": "old+"}) == ([], ["a-old"])
