"""Priorities of containers and the keys of barriers, with the cases of upstream's tests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import structs

from podling.api.core_v1 import Container, Pod
from podling_kruise.inplace.pod_plan import launch_priority
from podling_kruise.launchpriority.barrier import (
    BarrierStep,
    NoPriority,
    barrier_key,
    needs_barrier,
    next_step,
    priorities_of,
    waiting_priorities,
    with_barrier,
)
from podling_kruise.names import LAUNCH_COMPLETED

PRIORITIES = {"a": 3, "b": 5, "c": 0, "d": None, "e": -1, "f": 3}


def pod(*values: str | None, annotations: dict[str, str] | None = None) -> Pod:
    """Return a pod whose containers state these priorities."""
    containers = [
        {"name": f"c{number}"}
        | ({"env": [{"name": "KRUISE_CONTAINER_PRIORITY", "value": value}]} if value is not None else {})
        for number, value in enumerate(values)
    ]
    metadata = {"name": "fake", "annotations": annotations or {}}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": containers}}, Pod)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((None, None), []),
        (("0", None), []),
        (("5", "5"), []),
        (("5",), []),
        (("5", None), [5, 0]),
        (("1", "-1", "+3"), [1, -1, 3]),
    ],
)
def test_priorities_are_those_of_the_variables(values: tuple[str | None, ...], expected: list[int]) -> None:
    assert list(priorities_of(pod(*values))) == expected


@pytest.mark.parametrize("text", ["", "high", "1.5", " 1", "9223372036854775808"])
def test_priority_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(NoPriority, match=f'strconv.Atoi: parsing "{text}": '):
        priorities_of(pod(text, None))


@pytest.mark.parametrize(("value", "expected"), [("Ordered", [0, -1, -2]), ("ordered", []), ("", [])])
def test_annotation_starts_containers_in_the_order_of_the_list(value: str, expected: list[int]) -> None:
    marked = pod(None, None, None, annotations={"apps.kruise.io/container-launch-priority": value})
    assert list(priorities_of(marked)) == expected


def test_single_container_has_nothing_to_wait_for() -> None:
    assert not priorities_of(pod(None, annotations={"apps.kruise.io/container-launch-priority": "Ordered"}))


def test_order_comes_before_the_variables() -> None:
    marked = pod("1", "9", annotations={"apps.kruise.io/container-launch-priority": "Ordered"})
    assert list(priorities_of(marked)) == [0, -1]


def test_each_container_gets_a_variable_from_its_key_of_the_barrier() -> None:
    made = with_barrier(pod("7", None), [7, 0])
    found = [(each.env[-1].name, each.env[-1].value_from) for each in made.spec.containers]
    keys = []
    for name, source in found:
        assert name == "KRUISE_CONTAINER_BARRIER"
        assert source is not None
        assert source.config_map_key_ref is not None
        assert source.config_map_key_ref.name == "fake-barrier"
        keys.append(source.config_map_key_ref.key)
    assert keys == ["p_7", "p_0"]


@pytest.mark.parametrize(
    ("key", "priority"),
    [
        ("p_5", 5),
        ("p_-3", -3),
        ("p_0", 0),
        ("p_2147483647", 2147483647),
        ("p_-2147483647", -2147483647),
        ("p_9223372036854775807", 9223372036854775807),
        ("x_5", 5),
        ("p_abc", 0),
        ("p_", 0),
        ("p", 0),
    ],
)
def test_priority_is_read_from_the_key(key: str, priority: int) -> None:
    """``TestGetContainerPriority``; upstream panics at the last key."""
    other, source = {"name": "OTHER", "value": "x"}, {"configMapKeyRef": {"name": "barrier", "key": key}}
    env = [other, {"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": source}, other]
    found = launch_priority(msgspec.convert({"name": "c", "env": env}, Container))
    assert found == priority
    if key == f"p_{priority}":
        assert barrier_key(priority) == key


@pytest.mark.parametrize(
    "env", [[], [{"name": "OTHER", "value": "x"}], [{"name": "KRUISE_CONTAINER_BARRIER", "value": "p_1"}]]
)
def test_container_without_a_key_has_no_priority(env: list[dict[str, str]]) -> None:
    assert launch_priority(msgspec.convert({"name": "c", "env": env}, Container)) is None


def waiting(ready: str, **more: Any) -> Pod:
    """Return a pod with the containers of upstream's cases, of which those in ``ready`` are ready."""
    containers = []
    for name, priority in PRIORITIES.items():
        source = {"configMapKeyRef": {"name": "fake-barrier", "key": f"p_{priority}"}}
        env = [{"name": "KRUISE_CONTAINER_BARRIER", "valueFrom": source}] if priority is not None else []
        containers.append({"name": name, "env": env})
    statuses = [
        {"name": name, "ready": name in ready, "restartCount": 0, "image": "", "imageID": ""}
        for name in PRIORITIES
    ]
    status = {"containerStatuses": statuses, **more}
    return msgspec.convert(
        {"metadata": {"name": "fake"}, "spec": {"containers": containers}, "status": status}, Pod
    )


@pytest.mark.parametrize(
    ("ready", "expected"), [("", [-1, 0, 3, 3, 5]), ("b", [-1, 0, 3, 3]), ("bf", [-1, 0, 3]), ("abcef", [])]
)
def test_containers_that_are_not_ready_wait(ready: str, expected: list[int]) -> None:
    assert waiting_priorities(waiting(ready)) == expected


@pytest.mark.parametrize(
    ("ready", "keys", "expected"),
    [
        ("", (), BarrierStep("p_5")),
        ("", (5,), BarrierStep()),
        ("b", (5,), BarrierStep("p_3")),
        ("bf", (5, 3), BarrierStep()),
        ("abf", (5, 3), BarrierStep("p_0")),
        ("abcf", (5, 3, 0), BarrierStep("p_-1", is_last=True)),
        ("abcf", (5, 3, 0, -1), BarrierStep(is_last=True)),
        ("abcef", (5, 3, 0), BarrierStep(is_last=True)),
    ],
)
def test_next_key_is_that_of_the_highest_priority_left(
    ready: str, keys: tuple[int, ...], expected: BarrierStep
) -> None:
    assert next_step(waiting(ready), {barrier_key(each) for each in keys}) == expected


@pytest.mark.parametrize(("status", "expected"), [("False", True), ("True", False)])
def test_ready_pod_needs_no_barrier(status: str, expected: bool) -> None:
    conditions = [{"type": "ContainersReady", "status": status}]
    assert needs_barrier(waiting("b", conditions=conditions)) is expected


def test_pod_whose_containers_have_all_begun_needs_no_barrier() -> None:
    held = waiting("b", conditions=[{"type": "ContainersReady", "status": "False"}])
    metadata = structs.replace(held.metadata, annotations={LAUNCH_COMPLETED: "true"})
    assert needs_barrier(held)
    assert not needs_barrier(structs.replace(held, metadata=metadata))


def test_pod_without_priorities_needs_no_barrier() -> None:
    assert not needs_barrier(pod(None, None))
