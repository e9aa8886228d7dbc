"""Scenarios from audit logs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from podling.sim.importing.from_audit import scenario_from_audit
from podling.sim.importing.sources import Unreadable, json_lines
from tests.support.importing import moments, read

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "1"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"},
    "status": {"phase": "Pending"},
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n-1"},
    "status": {"capacity": {"cpu": "2", "memory": "4Gi", "pods": "50"}},
}


def event(second: int, verb: str, resource: str, name: str = "web", **fields: Any) -> dict[str, Any]:
    about = {"resource": resource, "namespace": "default", "name": name, "apiVersion": "v1"}
    about |= {"subresource": fields.pop("subresource")} if "subresource" in fields else {}
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Event",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": fields.pop("user", "alice")},
        "objectRef": about,
        "responseStatus": {"code": fields.pop("code", 200)},
        "requestReceivedTimestamp": f"2026-01-01T00:00:{second:02}.000000Z",
        **fields,
    }


def made(*events: dict[str, Any]) -> Any:
    text = "".join(f"{json.dumps(each)}\n" for each in events)
    return scenario_from_audit(json_lines(text, "audit.log"), "audit.log")


def test_requests_of_people_become_actions_at_their_moments() -> None:
    found = made(
        event(0, "create", "nodes", "n-1", user="system:node:n-1", requestObject=NODE),
        event(5, "create", "pods", responseObject=POD),
        event(15, "patch", "deployments", subresource="scale", requestObject={"spec": {"replicas": 4}}),
        event(25, "delete", "pods"),
        event(30, "create", "pods", subresource="eviction"),
        event(45, "patch", "nodes", requestObject={"spec": {"unschedulable": True}}),
    )
    scenario = read(found)
    assert [(each.name, each.count, each.cpu, each.pods) for each in scenario.nodes] == [("n", 1, "2", 50)]
    apply, scale, delete, evict, cordon = scenario.actions
    assert moments(scenario) == [0, 10, 20, 25, 40]
    assert scenario.begin == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert apply.apply is not None
    (plain,) = apply.apply.objects
    assert plain["metadata"] == {"name": "web", "namespace": "default"}
    assert "nodeName" not in plain["spec"]
    assert "status" not in plain
    assert scale.scale is not None
    assert (scale.scale.target.kind, scale.scale.replicas) == ("Deployment", 4)
    assert delete.delete is not None
    assert evict.delete is not None
    assert delete.delete.target == evict.delete.target
    assert cordon.cordon is not None
    assert float(scenario.until) == 640


@pytest.mark.parametrize(
    "skipped",
    [
        event(
            1, "create", "pods", responseObject=POD, user="system:serviceaccount:kube-system:job-controller"
        ),
        event(1, "create", "pods", responseObject=POD, user="system:node:n-1"),
        event(1, "create", "pods", responseObject=POD, code=409),
        event(1, "create", "pods", responseObject=POD, stage="RequestReceived"),
        event(1, "get", "pods"),
    ],
)
def test_other_requests_are_not_taken_over(skipped: dict[str, Any]) -> None:
    found = made(skipped)
    assert found.scenario["actions"] == []
    assert found.notes == ("no nodes were given: the scenario has three of the default size",)


@pytest.mark.parametrize(
    ("left", "note"),
    [
        (event(1, "create", "pods"), "1 requests without their objects"),
        (event(1, "patch", "pods", requestObject={"spec": {}}), "1 requests without their objects"),
        (event(1, "update", "widgets"), "1 requests to widgets: scenarios do not take this kind"),
        (event(1, "update", "pods", subresource="status"), "1 requests to pods/status"),
    ],
)
def test_notes_name_what_is_left_out(left: dict[str, Any], note: str) -> None:
    assert note in made(left).notes[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"apiVersion": "v1"}', "audit.log:1:1: no line of an audit log"),
        ("\n[]", "audit.log:2:1: a line must be a JSON object"),
        ('{"apiVersion" "v1"}', "audit.log:1:15: JSON is malformed: expected ':'"),
        (json.dumps(event(1, "create", "pods") | {"requestReceivedTimestamp": "noon"}), "is no moment"),
    ],
)
def test_bad_lines_have_their_place(text: str, problem: str) -> None:
    with pytest.raises(Unreadable) as raised:
        scenario_from_audit(json_lines(text, "audit.log"), "audit.log")
    assert problem in str(raised.value)
