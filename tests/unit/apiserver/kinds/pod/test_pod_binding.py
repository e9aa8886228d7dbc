"""Tests of ``pods/binding``."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Binding
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.pod.pod_binding import bind, validate_binding
from podling.machinery import errors
from tests.support.causes import Cause, causes, required, unsupported
from tests.support.manifests import NOW, obj, pod

BINDING = "{metadata: {name: web, labels: {a: b}}, target: {kind: Node, name: n1}}"


def test_bound_pod_has_node_labels_and_condition() -> None:
    bound = bind(pod("status: {nominatedNodeName: n2}"), obj(Binding, BINDING), Context(NOW))
    assert (bound.spec.node_name, bound.metadata.labels) == ("n1", {"a": "b"})
    assert bound.status.nominated_node_name == ""
    scheduled = [each for each in bound.status.conditions if each.type == "PodScheduled"]
    assert [(each.status, each.last_transition_time) for each in scheduled] == [("True", NOW)]


@pytest.mark.parametrize(
    ("manifest", "binding", "message"),
    [
        ("spec: {nodeName: n2}", BINDING, 'pod web is already assigned to node "n2"'),
        ("spec: {schedulingGates: [{name: a}]}", BINDING, "pod web has non-empty .spec.schedulingGates"),
        (
            "metadata: {deletionTimestamp: '2026-01-01T12:00:00Z'}",
            BINDING,
            "pod web is being deleted, cannot be assigned to a host",
        ),
        ("metadata: {uid: u1}", "{metadata: {uid: u2}, target: {name: n1}}", "u2"),
        ("metadata: {resourceVersion: '1'}", "{metadata: {resourceVersion: '2'}, target: {name: n1}}", "2"),
    ],
)
def test_pod_that_cannot_be_bound_conflicts(manifest: str, binding: str, message: str) -> None:
    with pytest.raises(errors.ApiError) as raised:
        bind(pod(manifest), obj(Binding, binding), Context(NOW))
    assert raised.value.status.code == 409
    assert message in (raised.value.status.message or "")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("{kind: Node, name: n1}", []),
        ("{name: n1}", []),
        ("{kind: Pod, name: n1}", [unsupported("target.kind", "Pod", "Node", "<empty>")]),
        ("{kind: Node}", [required("target.name")]),
    ],
)
def test_target_of_binding_is_a_node(target: str, expected: list[Cause]) -> None:
    assert causes(validate_binding(obj(Binding, f"target: {target}"))) == expected
