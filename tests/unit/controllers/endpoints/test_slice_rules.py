"""The distribution of endpoints over slices."""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import (
    Pod,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.slice_rules import Owner, arrange
from podling.controllers.owner_references import controller_reference
from tests.unit.controllers.endpoints.services import NODES, running_pod, service

OWNER = Owner("web", "default", controller_reference(service()), rules.labels_of(service()))


def crowd(count: int) -> list[Pod]:
    return [running_pod(f"p{number}", f"10.0.{number // 250}.{number % 250}") for number in range(count)]


def filled(count: int) -> tuple[list[EndpointSlice], list[Pod]]:
    """Return the slices of a service with so many pods, as first made."""
    pods = crowd(count)
    changes = arrange(OWNER, [], rules.desired(service(), pods, NODES))
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
    changes = arrange(OWNER, slices, rules.desired(service(), pods, NODES))
    assert [each.metadata.name for each in changes.update] == ["web-1"]
    assert (changes.create, changes.delete) == ([], [])


def test_new_endpoints_take_the_place_of_lost_ones() -> None:
    slices, pods = filled(250)
    pods[5] = running_pod("new", "10.1.0.1")
    changes = arrange(OWNER, slices, rules.desired(service(), pods, NODES))
    assert [each.metadata.name for each in changes.update] == ["web-0"]
    assert sizes(changes.update) == [100]


def test_a_slice_that_empties_goes_but_the_last_one_stays() -> None:
    slices, pods = filled(150)
    changes = arrange(OWNER, slices, rules.desired(service(), pods[:100], NODES))
    assert [each.metadata.name for each in changes.delete] == ["web-1"]
    slices, _ = filled(1)
    changes = arrange(OWNER, slices, rules.desired(service(), [], NODES))
    assert len(changes.create) == 1, "the place holder has no ports"
    assert [each.metadata.name for each in changes.delete] == ["web-0"]


def test_nothing_is_written_when_nothing_changes() -> None:
    slices, pods = filled(150)
    changes = arrange(OWNER, slices, rules.desired(service(), pods, NODES))
    assert (changes.create, changes.update, changes.delete) == ([], [], [])
