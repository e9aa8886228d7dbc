"""Server-side apply's errors about values of the wrong type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Pod, Service
from podling.machinery.encoding.custom import DEDUCED
from podling.machinery.encoding.shapes import Kind, Shape, shape_of
from podling.machinery.patches.typed_values import mistakes

FIRST = ".spec.containers: element 0: associative list with keys"
CONTAINER = '.spec.containers[name="a"]'


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def container(**rest: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "a", **rest}])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pod(), ""),
        (pod(nodeName=None, containers=None), ""),
        (pod(nodeName=5), ".spec.nodeName: expected string, got &value.valueUnstructured{Value:5}"),
        (pod(nodeName=True), ".spec.nodeName: expected string, got &value.valueUnstructured{Value:true}"),
        (
            pod(nodeName={"b": ["x", None], "a": 1.5}),
            ".spec.nodeName: expected string, got &value.valueUnstructured{Value:map[string]interface {}"
            '{"a":1.5, "b":[]interface {}{"x", interface {}(nil)}}}',
        ),
        (pod(priority="high"), ".spec.priority: expected numeric (int or float), got string"),
        (pod(priority=True), ".spec.priority: expected numeric (int or float), got bool"),
        (pod(priority=[]), ".spec.priority: expected numeric (int or float), got []interface {}"),
        (pod(priority={}), ".spec.priority: expected numeric (int or float), got map[string]interface {}"),
        (pod(priority=1.5), ""),
        (pod(hostNetwork="yes"), ".spec.hostNetwork: expected boolean, got &{yes}"),
        (pod(containers={"name": "a"}), ".spec.containers: expected list, got &{map[name:a]}"),
        (pod(nodeSelector=["a"]), ".spec.nodeSelector: expected map, got &{[a]}"),
        (pod(securityContext="root"), ".spec.securityContext: expected map, got &{root}"),
        (pod(containers=["a"]), f"{FIRST} may not have non-map elements"),
        (pod(containers=[None]), f"{FIRST} may not have a null element"),
        (
            pod(containers=[{"name": "a"}, {"name": "a", "image": 1}]),
            "errors:\n"
            '  .spec.containers: duplicate entries for key [name="a"]\n'
            f"  {CONTAINER}.image: expected string, got &value.valueUnstructured{{Value:1}}",
        ),
        (
            {"metadata": {"finalizers": [{"a": 1}]}},
            ".metadata.finalizers: element 0: associative list without keys has an element that's a map type",
        ),
        (
            {"metadata": {"finalizers": ["a", "a"]}},
            '.metadata.finalizers: duplicate entries for key [="a"]',
        ),
        (
            container(env=[{"name": "X", "value": 8080}]),
            f'{CONTAINER}.env[name="X"].value: expected string, got &value.valueUnstructured{{Value:8080}}',
        ),
        (
            container(command=["a", 1]),
            f"{CONTAINER}.command[1]: expected string, got &value.valueUnstructured{{Value:1}}",
        ),
        (container(ports=[{"name": "http"}]), ""),  # the protocol, by its default, is key enough
        (container(resources={"limits": {"cpu": 1}}), ""),
        (
            container(resources={"limits": {"cpu": []}}),
            f"{CONTAINER}.resources.limits.cpu: expected any scalar, got &{{[]}}",
        ),
        (container(livenessProbe={"httpGet": {"port": "http"}}), ""),
        (
            pod(zebra=1, nodeName=2),
            "errors:\n  .spec.nodeName: expected string, got "
            "&value.valueUnstructured{Value:2}\n  .spec.zebra: field not declared in schema",
        ),
        (pod(aardvark=1, nodeName=2), ".spec.aardvark: field not declared in schema"),
        ([], "expected map, got &{[]}"),
    ],
    ids=str,
)
def test_mistyped_value_is_reported(value: Any, text: str) -> None:
    assert mistakes(value, shape_of(Pod)) == text


def test_keys_are_named_in_the_order_of_their_names() -> None:
    ports = [{"port": 80, "protocol": "UDP"}, {"protocol": "UDP", "port": 80}]
    found = mistakes({"spec": {"ports": ports}}, shape_of(Service))
    assert found == '.spec.ports: duplicate entries for key [port=80,protocol="UDP"]'


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(anything)
def test_data_without_a_schema_are_never_wrong(value: Any) -> None:
    assert mistakes(value, DEDUCED) == ""
    assert mistakes(value, Shape(Kind.ANY)) == ""
