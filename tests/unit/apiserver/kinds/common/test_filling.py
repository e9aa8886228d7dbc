"""Tests of the functions that set defaults."""

from __future__ import annotations

from podling.api.apps_v1 import DeploymentSpec
from podling.api.core_v1 import ContainerPort, PodSpec
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty, map_items


def test_absent_fields_are_filled_but_zero_pointers_stay() -> None:
    assert fill_absent(DeploymentSpec(replicas=0), replicas=1).replicas == 0
    assert fill_absent(DeploymentSpec(), replicas=1).replicas == 1
    assert fill_absent(ContainerPort(container_port=80), host_port=80).host_port == 80


def test_empty_fields_are_filled_with_any_zero() -> None:
    assert fill_empty(DeploymentSpec(replicas=0), replicas=1).replicas == 1
    assert fill_empty(PodSpec(restart_policy="Never"), restart_policy="Always").restart_policy == "Never"


def test_unchanged_objects_and_tuples_are_returned_themselves() -> None:
    port = ContainerPort(container_port=80, name="http")
    assert fill_absent(port, name="web") is port
    assert fill_empty(port, name="web") is port
    assert change(port, name=port.name) is port
    ports = (port, ContainerPort(container_port=81, name="b"))
    assert map_items(ports, lambda each: fill_empty(each, name="web")) is ports
    assert [each.name for each in map_items(ports, lambda each: change(each, name="x"))] == ["x", "x"]
