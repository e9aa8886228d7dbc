"""The resources that a container has now."""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import ContainerStatus, ResourceRequirements
from podling.machinery.quantity import parse
from podling_vpa.amounts import RequestsAndLimits, actual_resources, amounts, is_positive, texts
from tests.support.vertical_autoscalers import container, pod


def test_resources_are_those_of_the_status_and_else_of_the_spec() -> None:
    made = pod(container(requests={"cpu": "1"}, limits={"cpu": "2"}))
    (own,) = made.spec.containers
    assert actual_resources(made, own) == RequestsAndLimits({"cpu": parse("1")}, {"cpu": parse("2")})
    without = ContainerStatus(name="app")
    resized = ContainerStatus(name="app", resources=ResourceRequirements(requests={"cpu": "3"}))
    for status, expected in ((without, "1"), (resized, "3")):
        seen = structs.replace(made, status=structs.replace(made.status, container_statuses=(status,)))
        assert actual_resources(seen, own).requests == {"cpu": parse(expected)}


def test_amounts_may_be_plain_numbers() -> None:
    assert texts(amounts({"cpu": 1, "memory": "1024Mi"})) == {"cpu": "1", "memory": "1Gi"}
    assert [is_positive(each) for each in (None, parse("0"), parse("1m"))] == [False, False, True]
