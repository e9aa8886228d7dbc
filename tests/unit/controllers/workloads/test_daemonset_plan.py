"""Creations and deletions on many nodes, and whole roll-outs.

Cases of daemon_controller_test.go, and of the roll-outs in update_test.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import DaemonSetUpdateStrategy
from podling.api.core_v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Toleration,
)
from podling.controllers.workloads.daemonset_rules import by_node, node_of, plan
from podling.controllers.workloads.daemonset_update_rules import update
from tests.unit.controllers.workloads.daemonsets import NOW, daemon_pod, daemon_set, node, rolling

ON_DELETE = DaemonSetUpdateStrategy(type="OnDelete")
REPLACING = rolling(max_unavailable=1)
SURGING = rolling(max_surge=1, max_unavailable=0)

BLUE = {"node_selector": {"color": "blue"}}
BY_COLOUR = NodeSelectorRequirement(key="color", operator="In", values=("blue",))
AFFINE = {
    "affinity": Affinity(
        node_affinity=NodeAffinity(
            required_during_scheduling_ignored_during_execution=NodeSelector(
                node_selector_terms=(NodeSelectorTerm(match_expressions=(BY_COLOUR,)),)
            )
        )
    )
}
DEDICATED = {"tolerations": (Toleration(key="dedicated", operator="Exists", effect="NoSchedule"),)}
SEVEN = {"n0": "", "n1": "", "n2": "", "n3": "", "n4": "blue", "n5": "blue", "n6": "blue"}


def pods(number: int) -> str:
    return " ".join(["new"] * number)


# the template, the nodes, those that get a pod, and the pods that go by node
#
# A node is described by words: "blue" is its label, an effect that of its taint, all others are its pods. One
# with a "-" before it does not exist.
PLANS: list[tuple[str, dict[str, Any], dict[str, str], list[str], dict[str, int]]] = [
    ("no nodes", {}, {}, [], {}),
    ("every node", {}, dict.fromkeys(("n0", "n1", "n2"), ""), ["n0", "n1", "n2"], {}),
    (
        "one pod stays",
        {},
        {"n0": "", "n1": pods(1), "n2": pods(2), "n3": pods(5), "n4": ""},
        ["n0", "n4"],
        {"n2": 1, "n3": 4},
    ),
    ("selected nodes", BLUE, SEVEN, ["n4", "n5", "n6"], {}),
    ("affine nodes", AFFINE, SEVEN, ["n4", "n5", "n6"], {}),
    ("no such nodes", {"node_selector": {"color": "red"}}, SEVEN, [], {}),
    ("a named node", {"node_name": "n0"}, SEVEN, ["n0"], {}),
    ("an unknown name", {"node_name": "n10"}, SEVEN, [], {}),
    ("a named and selected node", {**BLUE, "node_name": "n6"}, SEVEN, ["n6"], {}),
    ("a named node that is not selected", {**BLUE, "node_name": "n0"}, SEVEN, [], {}),
    (
        "pods leave nodes that are not selected",
        BLUE,
        {"n0": "", "n1": pods(3), "n4": pods(1), "n5": "blue", "n6": "blue"},
        ["n5", "n6"],
        {"n1": 3, "n4": 1},
    ),
    (
        "both at once",
        BLUE,
        {"n0": pods(1), "n1": pods(3), "n5": "blue", "n6": f"blue {pods(13)}", "n9": f"blue {pods(1)}"},
        ["n5"],
        {"n0": 1, "n1": 3, "n6": 12},
    ),
    ("a running pod stands NoSchedule", {}, {"n0": "NoSchedule new"}, [], {}),
    ("a new one does not", {}, {"n0": "NoSchedule"}, [], {}),
    ("a tolerant one does", DEDICATED, {"n0": "NoSchedule"}, ["n0"], {}),
    ("and runs elsewhere, too", DEDICATED, {"n0": ""}, ["n0"], {}),
    ("no pod stands NoExecute", {}, {"n0": "NoExecute new"}, [], {"n0": 1}),
    ("a pod that goes is waited for", {}, {"n0": "new!"}, [], {}),
    ("one that ended, too, does not count", {}, {"n0": "failed!"}, ["n0"], {}),
    ("a failed pod is dealt with first", {}, {"n0": "failed"}, [], {"n0": 1}),
    ("and beside others", {}, {"n0": f"failed {pods(3)}"}, [], {"n0": 3}),
    ("so is one that succeeded", {}, {"n0": "done"}, [], {"n0": 1}),
    (
        "only pods that were never bound go with their nodes",
        {},
        {"n0": "new", "-n1": "new", "-n2": "new@"},
        [],
        {"n2": 1},
    ),
]


@pytest.mark.parametrize("strategy", [ON_DELETE, REPLACING], ids=["OnDelete", "RollingUpdate"])
@pytest.mark.parametrize(("why", "template", "nodes", "made", "gone"), PLANS, ids=[each[0] for each in PLANS])
def test_nodes_get_and_lose_pods(
    why: str,
    template: dict[str, Any],
    nodes: dict[str, str],
    made: list[str],
    gone: dict[str, int],
    strategy: DaemonSetUpdateStrategy,
) -> None:
    assert step(daemon_set(strategy=strategy, **template), nodes) == (made, gone), why


def step(wanted: Any, nodes: dict[str, str]) -> tuple[list[str], dict[str, int]]:
    """Return the nodes that get a pod, and the numbers of those that go by node, ended ones included."""
    present, existing = [], []
    for given, text in nodes.items():
        name, words = given.removeprefix("-"), text.split()
        labels = {"color": "blue"} if "blue" in words else {}
        taint = next((word for word in words if word in ("NoSchedule", "NoExecute")), "")
        existing += [node(name, taint, **labels)] if name == given else []
        states = [word for word in words if word not in ("blue", taint)]
        present += [daemon_pod(name, word, str(number)) for number, word in enumerate(states)]
    found = plan(wanted, existing, by_node(present), "new", NOW)
    gone: dict[str, int] = {}
    for pod in (*found.delete, *found.failed, *found.succeeded):
        gone[node_of(pod)] = gone.get(node_of(pod), 0) + 1
    return found.create, gone


SURGES: list[tuple[str, dict[str, str], list[str], dict[str, int]]] = [
    (
        "one pod of a revision stays",
        {"n0": "", "n1": pods(1), "n2": pods(2), "n3": pods(5), "n4": ""},
        ["n0", "n4"],
        {"n2": 1, "n3": 4},
    ),
    ("an old and a new one stay", {"n0": "", "n1": "new old+ old+", "n2": "new"}, ["n0"], {"n1": 1}),
    ("an old one that is not ready goes", {"n1": "new old old+"}, [], {"n1": 2}),
    (
        "a node with only a pod that goes gets one beyond the surge",
        {"n0": "new old+", "n1": "old+", "n4": "old+!"},
        ["n4"],
        {},
    ),
]


@pytest.mark.parametrize(("why", "nodes", "made", "gone"), SURGES)
def test_surging_nodes_get_and_lose_pods(
    why: str, nodes: dict[str, str], made: list[str], gone: dict[str, int]
) -> None:
    assert step(daemon_set(strategy=SURGING), nodes) == (made, gone), why


# the strategy, the pod of each of five nodes, whether new pods become ready; how many are created and deleted
# until nothing more happens, round by round. All become ready between two rounds.
ROLLOUTS: list[tuple[str, DaemonSetUpdateStrategy, str, bool, list[tuple[int, int]]]] = [
    ("two at a time", rolling(max_unavailable=2), "old+", True, [(2, 2), (2, 2), (1, 1), (0, 0)]),
    (
        "new pods first",
        rolling(max_surge=2, max_unavailable=0),
        "old+",
        True,
        [(2, 0), (2, 2), (1, 2), (0, 1)],
    ),
    ("broken new pods stop it", rolling(max_unavailable=3), "old+", False, [(3, 3), (0, 0)]),
    ("broken old pods do not count", rolling(max_unavailable=3), "old", False, [(5, 5), (0, 0)]),
    ("nor in a surge", rolling(max_surge=3, max_unavailable=0), "old", False, [(5, 5), (0, 0)]),
    ("the template is the same", rolling(max_unavailable=3), "new+", True, [(0, 0)]),
    ("updates on deletion", ON_DELETE, "old+", True, [(0, 0)]),
]


@pytest.mark.parametrize(("why", "strategy", "state", "ready", "rounds"), ROLLOUTS)
def test_rollout_goes_on_with_each_round_of_ready_pods(
    why: str, strategy: DaemonSetUpdateStrategy, state: str, ready: bool, rounds: list[tuple[int, int]]
) -> None:
    present = [daemon_pod(f"n{number}", state) for number in range(5)]
    nodes, wanted = [node(f"n{number}") for number in range(5)], daemon_set(strategy=strategy)
    found = []
    for _ in rounds:
        made = gone = 0
        while True:
            on_nodes = by_node(present)
            step = plan(wanted, nodes, on_nodes, "new", NOW)
            if not step.create and not step.delete:
                step = update(wanted, nodes, on_nodes, "new", NOW)
            if not step.create and not step.delete:
                break
            names = {pod.metadata.name for pod in step.delete}
            present = [pod for pod in present if pod.metadata.name not in names]
            present += [daemon_pod(name, "new") for name in step.create]
            made, gone = made + len(step.create), gone + len(names)
        found.append((made, gone))
        if ready:
            present = [
                daemon_pod(node_of(pod), f"{pod.metadata.labels['controller-revision-hash']}+")
                for pod in present
            ]
    assert found == rounds, why
