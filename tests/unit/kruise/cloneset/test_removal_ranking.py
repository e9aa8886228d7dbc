"""The order in which pods are given up. Cases: those of ``pod_sorter_test.go`` upstream."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node, Pod
from podling.machinery.pods import is_ready
from podling_kruise.cloneset.removal_ranking import choose_for_removal, removal_order

NOW, THEN = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def pod(name: str, node: str = "node", phase: str = "Running", ready: str | None = None, **more: Any) -> Pod:
    """Return a pod, ready since ``ready``; created then unless ``created`` is given."""
    conditions = [] if ready is None else [{"type": "Ready", "status": "True"}]
    if ready:
        conditions[0]["lastTransitionTime"] = ready
    cost = {"controller.kubernetes.io/pod-deletion-cost": more["cost"]} if "cost" in more else {}
    plain: dict[str, Any] = {
        "metadata": {"name": name, "uid": name, "annotations": cost},
        "spec": {"nodeName": node, "containers": []},
        "status": {"phase": phase, "conditions": conditions},
    }
    if "created" in more:
        plain["metadata"]["creationTimestamp"] = more["created"]
    if "restarts" in more:
        plain["status"]["containerStatuses"] = [{"name": "c", "restartCount": more["restarts"]}]
    return msgspec.convert(plain, Pod)


READY_NOW = pod("ready-now", ready=NOW, created=NOW)


@pytest.mark.parametrize(
    ("lesser", "greater"),
    [
        (pod("unbound", "", "Pending"), pod("pending", phase="Pending")),
        (pod("pending", phase="Pending"), pod("unknown", phase="Unknown")),
        (pod("unknown", phase="Unknown"), pod("not-ready")),
        (pod("not-ready"), pod("no-time", ready="")),
        (pod("no-time", ready=""), READY_NOW),
        (READY_NOW, pod("ready-then", ready=THEN, created=THEN)),
        (pod("restarted", ready=NOW, created=NOW, restarts=9001), READY_NOW),
        (READY_NOW, pod("older", ready=NOW, created=THEN)),
        (pod("cheap", ready=NOW, cost="10"), pod("dear", ready=NOW, cost="100")),
    ],
)
def test_pod_whose_loss_hurts_less_goes_first(lesser: Pod, greater: Pod) -> None:
    for pods in ([lesser, greater], [greater, lesser]):
        alone = [msgspec.structs.replace(each, metadata=each.metadata) for each in pods]
        assert removal_order(alone, {}, ["none"], is_ready)[0].metadata.name == lesser.metadata.name


def on(name: str, node: str) -> Pod:
    return pod(name, node, ready=NOW, created=NOW)


def test_crowded_nodes_give_up_pods_first() -> None:
    pods = [on("a1", "a"), on("b1", "b"), on("a2", "a"), on("c1", "c"), on("a3", "a"), on("b2", "b")]
    order = [each.spec.node_name for each in removal_order(pods, {}, (), is_ready)]
    assert (order[0], sorted(order[1:3])) == ("a", ["a", "b"])
    assert sorted(order[3:]) == ["a", "b", "c"]


def test_crowded_zones_give_up_pods_first() -> None:
    zones = {"a": "east", "b": "east", "c": "west"}
    nodes = {
        name: msgspec.convert({"metadata": {"name": name, "labels": {"zone": zone}}}, Node)
        for name, zone in zones.items()
    }
    pods = [on("a1", "a"), on("b1", "b"), on("c1", "c"), on("b2", "b")]
    order = removal_order(pods, nodes, ["zone"], is_ready)
    assert [zones[each.spec.node_name] for each in order[:2]] == ["east", "east"]


def test_constraint_over_more_domains_weighs_more() -> None:
    zones = {"a": "east", "b": "east", "c": "east", "d": "west"}
    nodes = {
        name: msgspec.convert(
            {"metadata": {"name": name, "labels": {"zone": zone, "kubernetes.io/hostname": name}}}, Node
        )
        for name, zone in zones.items()
    }
    pods = [on("a1", "a"), on("b1", "b"), on("c1", "c"), on("d1", "d"), on("d2", "d")]
    order = removal_order(pods, nodes, ["zone", "kubernetes.io/hostname"], is_ready)
    assert order[0].metadata.name == "d1", "two on a node weigh more than three in a zone"


@pytest.mark.parametrize(
    ("number", "old", "chosen"),
    [(1, 5, ["o1"]), (2, 1, ["o1", "n1"]), (2, 0, ["n1", "n2"]), (9, 3, ["o1", "o2", "n1", "n2"])],
)
def test_pods_of_the_old_revision_are_chosen_first(number: int, old: int, chosen: list[str]) -> None:
    olds, news = [pod("o1"), pod("o2")], [pod("n1"), pod("n2")]
    found = choose_for_removal(number, old, olds, news, list)
    assert [each.metadata.name for each in found] == chosen
