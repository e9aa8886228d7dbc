"""The distribution of endpoints over slices."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod, Service, ServicePort
from podling.api.discovery_v1 import EndpointSlice
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.slice_rules import (
    ENDPOINTS_MAX,
    HEADLESS,
    Changes,
    Owner,
    arrange,
    recycled,
)
from podling.controllers.owner_references import controller_reference
from tests.unit.controllers.endpoints.services import NODES, running_pod, service

OWNER = Owner("web", "default", controller_reference(service()), rules.labels_of(service()))


def arrangement(slices: list[EndpointSlice], of: Service, pods: list[Pod]) -> Changes:
    """Return the changes as they are written."""
    changes = arrange(OWNER, "IPv4", slices, rules.desired(of, pods, NODES, "IPv4"))
    return recycled(changes, OWNER.reference)


def crowd(count: int) -> list[Pod]:
    return [running_pod(f"p{number}", f"10.0.{number // 250}.{number % 250}") for number in range(count)]


def filled(count: int) -> tuple[list[EndpointSlice], list[Pod]]:
    """Return the slices of a service with so many pods, as first made."""
    pods = crowd(count)
    changes = arrangement([], service(), pods)
    named = [
        structs.replace(each, metadata=structs.replace(each.metadata, name=f"web-{number}"))
        for number, each in enumerate(changes.create)
    ]
    return named, pods


def sizes(slices: list[EndpointSlice]) -> list[int]:
    return [len(each.endpoints) for each in slices]


def test_slices_hold_a_hundred_at_most() -> None:
    slices, _ = filled(250)
    assert sizes(slices) == [100, 100, 50]


def test_a_change_touches_as_few_slices_as_it_can() -> None:
    slices, pods = filled(250)
    pods[120] = structs.replace(pods[120], status=structs.replace(pods[120].status, conditions=()))
    changes = arrangement(slices, service(), pods)
    assert [each.metadata.name for each in changes.update] == ["web-1"]
    assert (changes.create, changes.delete) == ([], [])


def test_new_endpoints_take_the_place_of_lost_ones() -> None:
    slices, pods = filled(250)
    pods[5] = running_pod("new", "10.1.0.1")
    changes = arrangement(slices, service(), pods)
    assert [each.metadata.name for each in changes.update] == ["web-0"]
    assert sizes(changes.update) == [100]


def test_a_slice_that_empties_goes_but_the_last_one_stays_as_placeholder() -> None:
    slices, pods = filled(150)
    changes = arrangement(slices, service(), pods[:100])
    assert [each.metadata.name for each in changes.delete] == ["web-1"]
    slices, _ = filled(1)
    changes = arrangement(slices, service(), [])
    (left,) = changes.update
    assert (left.metadata.name, left.ports, left.endpoints) == ("web-0", (), ())
    assert (changes.create, changes.delete) == ([], [])


def test_nothing_is_written_when_nothing_changes() -> None:
    slices, pods = filled(150)
    assert written(arrangement(slices, service(), pods)) == ([], [], [])


def written(changes: Changes) -> tuple[list[int], list[int], list[int]]:
    """Return the sizes of the slices that are created, updated and deleted."""
    return sizes(changes.create), sorted(sizes(changes.update)), sizes(changes.delete)


def partly_filled(*numbers: int) -> tuple[list[EndpointSlice], list[Pod]]:
    """Return slices with so many endpoints each, and the pods behind them."""
    if not numbers:
        return [], []
    slices, pods = filled(ENDPOINTS_MAX * len(numbers))
    short = [
        structs.replace(each, endpoints=each.endpoints[:number])
        for each, number in zip(slices, numbers, strict=True)
    ]
    kept = {address for each in short for endpoint in each.endpoints for address in endpoint.addresses}
    return short, [pod for pod in pods if pod.status.pod_ip in kept]


def more(count: int) -> list[Pod]:
    return [running_pod(f"new{number}", f"10.9.{number // 250}.{number % 250}") for number in range(count)]


@pytest.mark.parametrize(
    ("held", "gone", "new", "wanted"),
    [
        ((), 0, 250, ([100, 100, 50], [], [])),
        ((30, 80), 0, 20, ([], [100], [])),  # the slice that gets closest to full
        ((30, 80), 0, 40, ([], [70], [])),
        ((30, 80), 0, 90, ([90], [], [])),  # none has the capacity, and they are not divided
        ((30, 80), 0, 150, ([100], [80], [])),  # a full one first, the rest fits
        ((30, 80), 0, 100, ([100], [], [])),
        ((30, 80), 10, 95, ([], [95, 100], [])),  # a slice that changes anyway takes as many as it can
        ((30, 80), 30, 5, ([], [85], [30])),
        ((100, 100), 1, 1, ([], [100], [])),
        ((100, 100), 1, 2, ([1], [100], [])),
    ],
)
def test_new_endpoints_fill_slices_as_upstream(
    held: tuple[int, ...], gone: int, new: int, wanted: tuple[list[int], list[int], list[int]]
) -> None:
    slices, pods = partly_filled(*held)
    found = arrangement(slices, service(), [*pods[gone:], *more(new)])
    assert written(found) == wanted


def test_changed_ports_rewrite_the_slices_that_are_there() -> None:
    slices, pods = filled(150)
    port = ServicePort(port=80, target_port=9090, protocol="TCP")
    changes = arrangement(slices, service(port), pods)
    assert sorted(each.metadata.name or "" for each in changes.update) == ["web-0", "web-1"]
    assert {each.ports[0].port for each in changes.update} == {9090}
    assert (changes.create, changes.delete) == ([], [])


def test_another_order_of_ports_changes_nothing() -> None:
    ports = [ServicePort(name=name, port=port, target_port=port) for name, port in (("b", 1), ("a", 2))]
    pods = crowd(2)
    first = arrangement([], service(*ports), pods).create
    named = [structs.replace(each, metadata=structs.replace(each.metadata, name="web-0")) for each in first]
    assert written(arrangement(named, service(*reversed(ports)), pods)) == ([], [], [])


def test_slices_of_an_earlier_service_of_the_name_are_deleted_and_not_reused() -> None:
    slices, pods = filled(1)
    (old,) = slices
    ref = structs.replace(old.metadata.owner_references[0], uid="earlier")
    old = structs.replace(old, metadata=structs.replace(old.metadata, owner_references=(ref,)))
    changes = arrangement([old], service(), pods)
    assert (changes.delete, sizes(changes.create), changes.update) == ([old], [1], [])


@pytest.mark.parametrize(
    ("labels", "is_written"),
    [({"team": "a"}, False), ({"team": "b"}, True), ({}, True), ({"team": "a", "more": "x"}, True)],
)
@pytest.mark.parametrize("count", [0, 1])
def test_labels_of_the_service_are_copied(labels: dict[str, str], is_written: bool, count: int) -> None:
    slices, pods = filled(count)
    wanted = service()
    of = structs.replace(wanted, metadata=structs.replace(wanted.metadata, labels=labels))
    owner = structs.replace(OWNER, labels=rules.labels_of(of))
    found = recycled(arrange(owner, "IPv4", slices, rules.desired(of, pods, NODES, "IPv4")), OWNER.reference)
    assert [each.metadata.labels for each in found.update] == ([owner.labels] if is_written else [])
    assert (found.create, found.delete) == ([], [])


def test_change_of_reserved_labels_alone_writes_nothing() -> None:
    slices, pods = filled(1)
    owner = structs.replace(OWNER, labels={**OWNER.labels, HEADLESS: ""})
    found = arrange(owner, "IPv4", slices, rules.desired(service(), pods, NODES, "IPv4"))
    assert written(found) == ([], [], [])


def test_pod_made_anew_under_its_name_and_address_replaces_its_endpoint_in_place() -> None:
    slices, pods = filled(3)
    pods[1] = structs.replace(pods[1], metadata=structs.replace(pods[1].metadata, uid="new"))
    (changed,) = arrangement(slices, service(), pods).update
    refs = [each.target_ref for each in changed.endpoints]
    assert [ref.uid for ref in refs if ref is not None] == ["p0", "new", "p2"]
