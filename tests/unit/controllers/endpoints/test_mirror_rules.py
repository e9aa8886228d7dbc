"""Slices that mirror Endpoints. Cases of upstream's ``endpointslicemirroring/reconciler_test.go``."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    ObjectReference,
    Service,
    ServiceSpec,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.endpoints.mirror_rules import (
    arrange_mirrors,
    desired,
    owner_of,
    should_mirror,
)
from podling.controllers.endpoints.slice_rules import Changes

HTTP = EndpointPort(name="http", port=80, protocol="TCP")
ADMIN = EndpointPort(name="admin", port=81, protocol="TCP")


def addresses(*ips: str, **fields: Any) -> tuple[EndpointAddress, ...]:
    return tuple(EndpointAddress(ip=ip, **fields) for ip in ips)


def subset(
    *ips: str, waiting: tuple[str, ...] = (), ports: tuple[EndpointPort, ...] = (HTTP,)
) -> EndpointSubset:
    return EndpointSubset(addresses=addresses(*ips), not_ready_addresses=addresses(*waiting), ports=ports)


def endpoints(*subsets: EndpointSubset, **metadata: Any) -> Endpoints:
    return Endpoints(
        metadata=ObjectMeta(name="web", namespace="default", uid="e1", **metadata), subsets=subsets
    )


def mirrored(of: Endpoints, slices: list[EndpointSlice] | None = None) -> Changes:
    return arrange_mirrors(owner_of(of), slices or [], desired(of)[0])


def stored(of: Endpoints) -> list[EndpointSlice]:
    """Return the slices of an object as they are made first."""
    return [
        structs.replace(each, metadata=structs.replace(each.metadata, name=f"web-{number}"))
        for number, each in enumerate(mirrored(of).create)
    ]


def shown(slices: list[EndpointSlice]) -> list[tuple[str, list[int | None], list[tuple[str, bool | None]]]]:
    """Return address type, ports and endpoints of slices, with the readiness."""
    return [
        (
            each.address_type,
            [port.port for port in each.ports],
            [(endpoint.addresses[0], endpoint.conditions.ready) for endpoint in each.endpoints],
        )
        for each in slices
    ]


def test_each_subset_and_family_has_a_slice() -> None:
    of = endpoints(
        subset("192.0.2.1", "2001:db8::1", waiting=("192.0.2.2",)),
        subset("192.0.2.3", ports=(ADMIN,)),
    )
    assert sorted(shown(mirrored(of).create)) == [
        ("IPv4", [80], [("192.0.2.1", True), ("192.0.2.2", False)]),
        ("IPv4", [81], [("192.0.2.3", True)]),
        ("IPv6", [80], [("2001:db8::1", True)]),
    ]


def test_subsets_with_the_same_ports_share_a_slice() -> None:
    of = endpoints(subset("192.0.2.1", ports=(HTTP, ADMIN)), subset("192.0.2.2", ports=(ADMIN, HTTP)))
    assert [sorted(ips) for _, _, ips in shown(mirrored(of).create)] == [
        [("192.0.2.1", True), ("192.0.2.2", True)]
    ]


def test_slice_has_labels_annotations_and_owner_of_its_endpoints() -> None:
    of = endpoints(
        subset("192.0.2.1"),
        labels={"team": "a", "endpointslice.kubernetes.io/managed-by": "other"},
        annotations={
            "note": "kept",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z",
        },
    )
    (made,) = mirrored(of).create
    assert made.metadata.labels == {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }
    assert made.metadata.annotations == {"note": "kept"}
    (ref,) = made.metadata.owner_references
    assert (ref.kind, ref.uid, ref.controller) == ("Endpoints", "e1", True)
    assert made.metadata.generate_name == "web-"


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"team": "b"}},
        {"annotations": {"note": "new"}},
    ],
)
def test_changed_metadata_is_mirrored(change: dict[str, Any]) -> None:
    slices = stored(endpoints(subset("192.0.2.1")))
    changes = mirrored(endpoints(subset("192.0.2.1"), **change), slices)
    assert [each.metadata.name for each in changes.update] == ["web-0"]


def test_nothing_is_written_when_nothing_changes() -> None:
    of = endpoints(subset("192.0.2.1", "2001:db8::1"), subset("192.0.2.3", ports=(ADMIN,)))
    assert mirrored(of, stored(of)) == Changes()
    swapped = endpoints(subset("192.0.2.3", ports=(ADMIN,)), subset("2001:db8::1", "192.0.2.1"))
    assert mirrored(swapped, stored(of)) == Changes()


def test_revision_of_target_changes_nothing() -> None:
    def of(revision: str) -> Endpoints:
        ref = ObjectReference(kind="Pod", name="p", resource_version=revision)
        return endpoints(EndpointSubset(addresses=addresses("192.0.2.1", target_ref=ref), ports=(HTTP,)))

    assert mirrored(of("2"), stored(of("1"))) == Changes()


@pytest.mark.parametrize(
    ("new", "updated", "deleted"),
    [
        (subset("192.0.2.9"), ["web-0"], []),
        (subset("192.0.2.1", ports=(ADMIN,)), ["web-0"], []),  # the slice is reused
        (subset(waiting=("192.0.2.1",)), ["web-0"], []),
        (None, [], ["web-0"]),
    ],
)
def test_slice_follows_its_subset(new: EndpointSubset | None, updated: list[str], deleted: list[str]) -> None:
    slices = stored(endpoints(subset("192.0.2.1")))
    changes = mirrored(endpoints(*(() if new is None else (new,))), slices)
    assert [each.metadata.name for each in changes.update] == updated
    assert [each.metadata.name for each in changes.delete] == deleted
    assert changes.create == []


def test_slice_of_another_family_is_not_reused() -> None:
    slices = stored(endpoints(subset("192.0.2.1")))
    changes = mirrored(endpoints(subset("2001:db8::1")), slices)
    assert [each.address_type for each in changes.create] == ["IPv6"]
    assert [each.metadata.name for each in changes.delete] == ["web-0"]


def test_all_but_one_slice_of_a_subset_are_deleted() -> None:
    of = endpoints(subset("192.0.2.1"))
    (one,) = stored(of)
    other = structs.replace(one, metadata=structs.replace(one.metadata, name="other"))
    changes = mirrored(of, [one, other])
    assert (changes.update, [each.metadata.name for each in changes.delete]) == ([], ["other"])


@pytest.mark.parametrize(
    ("ready", "waiting", "skipped", "shape"),
    [(1000, 0, 0, (1000, 0)), (1001, 5, 6, (1000, 0)), (990, 20, 10, (990, 10))],
)
def test_thousand_addresses_of_a_subset_are_mirrored(
    ready: int, waiting: int, skipped: int, shape: tuple[int, int]
) -> None:
    def ips(count: int, network: int) -> tuple[str, ...]:
        return tuple(f"10.{network}.{n // 250}.{n % 250}" for n in range(count))

    of = endpoints(subset(*ips(ready, 0), waiting=ips(waiting, 1)))
    found, left_out = desired(of)
    ((_, made),) = found.items()
    states = [each.conditions.ready for each in made.values()]
    assert (left_out, (states.count(True), states.count(False))) == (skipped, shape)


@pytest.mark.parametrize(
    ("metadata", "spec", "wanted"),
    [
        ({}, {}, True),
        ({}, {"type": "ExternalName"}, True),
        ({}, {"selector": {"app": "web"}}, False),
        ({}, None, False),
        ({"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}, {}, False),
        ({"labels": {"endpointslice.kubernetes.io/skip-mirror": "True"}}, {}, True),
        ({"annotations": {"control-plane.alpha.kubernetes.io/leader": ""}}, {}, False),
    ],
)
def test_endpoints_of_services_without_selector_are_mirrored(
    metadata: dict[str, Any], spec: dict[str, Any] | None, wanted: bool
) -> None:
    service = None if spec is None else Service(metadata=ObjectMeta(name="web"), spec=ServiceSpec(**spec))
    assert should_mirror(endpoints(**metadata), service) is wanted
