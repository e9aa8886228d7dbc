"""Explanations of pods without a node, or on one that is not ready."""

from __future__ import annotations

import pytest

from tests.support.ailing_pods import BOUND, ask

UNPLACED = {
    "0/1 nodes are available: 1 Insufficient memory.": "Lower the pod's requests for memory, free",
    "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.": "for cpu and memory, free",
    "0/1 nodes are available: 1 node(s) had untolerated taint(s).": "the taint: one has gpu=a:NoSchedule.",
    "0/1 nodes are available: 1 node(s) were unschedulable.": "kubectl uncordon two",
    "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.": "--show-labels",
    "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.": "Start a pod with the labels",
    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.": "drop hostPort",
    'persistentvolumeclaim "data" not found': "Create the claim",
    "0/1 nodes are available: 1 Too many pods.": "add a node",
    "no nodes available to schedule pods": "podling up",
    "0/1 nodes are available: something new.": "kubectl describe nodes",
}


@pytest.mark.parametrize(("message", "advice"), UNPLACED.items())
def test_advice_for_unschedulable_pod_follows_the_message(message: str, advice: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    answer = ask(None, {"conditions": [condition]})
    assert (answer.area, answer.reason) == ("scheduler", "Unschedulable")
    assert answer.text == f"No node can take the pod: {message.rstrip('.')}."
    assert advice in answer.advice
    assert [source.name for source in answer.evidence] == ["PodScheduled"]


def test_preemption_text_is_cut_except_nominated_node() -> None:
    message = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: nothing helps."
    )
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    asked = [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]
    answer = ask({"containers": asked}, {"conditions": [condition], "nominatedNodeName": "one"})
    assert answer.text == (
        "No node can take the pod: 0/1 nodes are available: 1 Insufficient cpu (it requests cpu 5). "
        "Pods of lower priority are being ended on node one to make room for it."
    )


def test_scheduling_gate_and_foreign_scheduler_are_reported() -> None:
    assert ask({"schedulingGates": [{"name": "example.com/quota"}]}).reason == "SchedulingGated"
    answer = ask({"schedulerName": "mine"})
    assert answer.area == "scheduler"
    assert "a profile of the name mine" in answer.advice


def test_missing_or_unready_node_is_reported() -> None:
    assert ask(BOUND, node=None).reason == "NodeNotFound"
    answer = ask(BOUND, node="False")
    text = "Its node one has not been ready for some time: KubeletNotReady: no network."
    assert (answer.area, answer.text) == ("node", text)
