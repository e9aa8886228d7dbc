"""Records of EndpointSlices, and the endpoints of a port."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.discovery_v1 import Endpoint, EndpointHints, EndpointPort, ForNode, ForZone
from podling.network.services.endpoint_slices import endpoints_of, slice_record
from tests.support.service_packets import endpoint, endpoint_slice


def test_record_keeps_what_identifies_the_object_and_nothing_else() -> None:
    found = endpoint_slice(endpoint("10.0.0.1"))
    metadata = structs.replace(
        found.metadata, uid="u", resource_version="7", annotations={"a": "b"}, generate_name="svc-"
    )
    record = slice_record(structs.replace(found, metadata=metadata))
    assert (record.metadata.uid, record.metadata.resource_version) == ("u", "7")
    assert (record.metadata.annotations, record.metadata.labels) == ({}, {})
    assert record.service == "svc"


@pytest.mark.parametrize(
    ("ready", "serving", "terminating", "state"),
    [
        (None, None, None, (True, True, False)),
        (True, True, False, (True, True, False)),
        (False, None, None, (False, True, False)),
        (False, False, True, (False, False, True)),
        (False, True, True, (False, True, True)),
    ],
)
def test_absent_conditions_mean_ready_and_serving(
    ready: bool | None, serving: bool | None, terminating: bool | None, state: tuple[bool, bool, bool]
) -> None:
    found = endpoint("10.0.0.1", ready=ready, serving=serving, terminating=terminating)
    (record,) = slice_record(endpoint_slice(found)).endpoints
    assert (record.ready, record.serving, record.terminating) == state


@pytest.mark.parametrize(
    "label", ["service.kubernetes.io/service-proxy-name", "service.kubernetes.io/headless"]
)
def test_slice_for_others_has_no_service(label: str) -> None:
    found = endpoint_slice(endpoint("10.0.0.1"))
    labels = {**found.metadata.labels, label: ""}
    record = slice_record(structs.replace(found, metadata=structs.replace(found.metadata, labels=labels)))
    assert (record.service, record.endpoints, record.ports) == ("", (), ())


def test_addresses_that_are_none_are_left_out() -> None:
    odd = [Endpoint(addresses=()), endpoint("fd00::1"), endpoint("name.example"), endpoint("10.0.0.1")]
    assert len(slice_record(endpoint_slice(*odd)).endpoints) == 1
    assert slice_record(endpoint_slice(*odd, family="FQDN")).service == ""


def test_hints_are_kept() -> None:
    hints = EndpointHints(for_zones=(ForZone(name="z"),), for_nodes=(ForNode(name="n"),))
    (record,) = slice_record(endpoint_slice(structs.replace(endpoint("10.0.0.1"), hints=hints))).endpoints
    assert (record.zone_hints, record.node_hints) == (("z",), ("n",))


def test_endpoints_of_several_slices_are_one_sorted_list() -> None:
    slices = [
        slice_record(endpoint_slice(endpoint("10.0.0.2", "there"), endpoint("10.0.0.1"))),
        slice_record(endpoint_slice(endpoint("10.0.0.2", "here"))),
        slice_record(endpoint_slice(endpoint("10.0.0.2", "there"))),
    ]
    found = endpoints_of(slices, "ip", "p80", "TCP", "here")
    assert [(each.target[3], each.is_local) for each in found] == [(1, False), (2, True)]


def test_port_is_found_by_name_and_protocol() -> None:
    ports = (
        EndpointPort(name="p80", protocol="UDP", port=1),
        EndpointPort(name="p80", protocol="TCP", port=2),
        EndpointPort(name="other", protocol="TCP", port=3),
        EndpointPort(name="none", protocol="TCP"),
    )
    slices = [slice_record(structs.replace(endpoint_slice(endpoint("10.0.0.1")), ports=ports))]
    (found,) = endpoints_of(slices, "ip", "p80", "TCP", "here")
    assert found.target == bytes((10, 0, 0, 1, 0, 2))
    assert not endpoints_of(slices, "ip", "none", "TCP", "here")
    assert not endpoints_of(slices, "ip6", "p80", "TCP", "here")
