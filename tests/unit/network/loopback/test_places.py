"""The places of a Service on the machine, the endpoints behind them, and the order of connections."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.machinery.encoding import codec
from podling.network.loopback.places import Opening, Place, Rotation, Target, api_openings, openings_of
from podling.network.services.endpoint_slices import SliceRecord, slice_record
from podling.network.services.service_ports import record_of

NODE, OWN = "one", "192.0.2.7"


def slice_of(*targets: Target, port: str = "", protocol: str = "TCP", **endpoint: Any) -> SliceRecord:
    """Return a slice for targets with the same port."""
    plain = {
        "metadata": {
            "name": "web-a",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "web"},
        },
        "addressType": "IPv6" if ":" in targets[0][0] else "IPv4",
        "ports": [{"name": port, "protocol": protocol, "port": targets[0][1]}],
        "endpoints": [
            {"addresses": [address], "conditions": {"ready": True}, "nodeName": NODE, **endpoint}
            for address, _ in targets
        ],
    }
    return slice_record(codec.convert(plain, EndpointSlice)[0])


def places(*slices: SliceRecord, port: dict[str, Any] | None = None, **spec: Any) -> dict[str, Opening]:
    """Return a Service's places as text."""
    ports = [{"port": 80, "protocol": "TCP", **(port or {})}]
    whole = {
        "type": "ClusterIP",
        "clusterIP": "10.96.0.9",
        "clusterIPs": ["10.96.0.9"],
        "ports": ports,
        **spec,
    }
    status = {"loadBalancer": {"ingress": [{"ip": OWN, "ipMode": "VIP"}, {"ip": "192.0.2.8"}]}}
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": whole,
        "status": status if whole["type"] == "LoadBalancer" else {},
    }
    record = record_of(codec.convert(plain, Service)[0])
    if record is None:
        return {}
    found = openings_of(record, slices, NODE, lambda address: address == OWN)
    return {str(place): opening for place, opening in found.items()}


HERE = ("192.0.2.7", 8080)
THERE = ("192.0.2.9", 8080)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"10.96.0.9:80/TCP"}),
        ({"type": "NodePort", "port": {"nodePort": 30080}}, {"10.96.0.9:80/TCP", "127.0.0.1:30080/TCP"}),
        (
            {"type": "LoadBalancer", "port": {"nodePort": 30080}},
            {"10.96.0.9:80/TCP", "127.0.0.1:30080/TCP", f"{OWN}:80/TCP"},
        ),
        ({"externalIPs": [OWN, "192.0.2.10"]}, {"10.96.0.9:80/TCP", f"{OWN}:80/TCP"}),
        ({"clusterIP": "None", "clusterIPs": ["None"]}, set()),
        ({"port": {"protocol": "SCTP"}}, set()),
    ],
)
def test_type_of_service_decides_about_its_places(spec: dict[str, Any], expected: set[str]) -> None:
    assert set(places(slice_of(HERE), **spec)) == expected


def test_place_leads_to_all_ready_endpoints() -> None:
    found = places(slice_of(HERE, THERE))
    assert found["10.96.0.9:80/TCP"].targets == (HERE, THERE)


def test_service_without_endpoints_has_no_place() -> None:
    assert places() == {}
    assert places(slice_of(HERE, conditions={"ready": False, "serving": False})) == {}


def test_terminating_endpoints_serve_when_no_other_is_left() -> None:
    ending: dict[str, Any] = {"conditions": {"ready": False, "serving": True, "terminating": True}}
    assert places(slice_of(THERE, **ending))["10.96.0.9:80/TCP"].targets == (THERE,)
    assert places(slice_of(HERE), slice_of(THERE, **ending))["10.96.0.9:80/TCP"].targets == (HERE,)


def test_internal_policy_local_restricts_the_own_address_only() -> None:
    far = slice_of(THERE, nodeName="two")
    spec: dict[str, Any] = {"type": "NodePort", "port": {"nodePort": 30080}, "internalTrafficPolicy": "Local"}
    assert set(places(far, **spec)) == {"127.0.0.1:30080/TCP"}
    both = places(slice_of(HERE), far, **spec)
    assert both["10.96.0.9:80/TCP"].targets == (HERE,)
    assert both["127.0.0.1:30080/TCP"].targets == (HERE, THERE)


def test_external_policy_local_does_not_concern_clients_on_the_machine() -> None:
    spec: dict[str, Any] = {"type": "NodePort", "port": {"nodePort": 30080}, "externalTrafficPolicy": "Local"}
    assert places(slice_of(THERE, nodeName="two"), **spec)["127.0.0.1:30080/TCP"].targets == (THERE,)


def test_both_families_have_places() -> None:
    six = ("fd00::7", 8080)
    families: dict[str, Any] = {
        "clusterIPs": ["10.96.0.9", "fd00:96::9"],
        "type": "NodePort",
        "port": {"nodePort": 30080},
    }
    found = places(slice_of(HERE), slice_of(six), **families)
    assert found["[fd00:96::9]:80/TCP"].targets == found["[::1]:30080/TCP"].targets == (six,)


def test_api_server_is_reached_on_the_loopback_interface() -> None:
    spec = {"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"]}
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]
    plain = {"metadata": {"name": "kubernetes", "namespace": "default"}, "spec": {**spec, "ports": ports}}
    service = codec.convert(plain, Service)[0]
    record = record_of(service)
    assert record is not None
    assert api_openings(service, record) == {Place("10.96.0.1", 443, "TCP"): Opening((("127.0.0.1", 6443),))}


TARGETS = st.lists(
    st.tuples(st.sampled_from(["192.0.2.1", "192.0.2.2", "192.0.2.3"]), st.integers(1, 3)),
    min_size=1,
    max_size=5,
    unique=True,
)


@given(TARGETS)
def test_connections_go_to_endpoints_in_turn(targets: list[Target]) -> None:
    rotation = Rotation(Opening(tuple(targets)))
    firsts = [rotation.order("127.0.0.1", 0.0)[0] for _ in targets * 2]
    assert firsts == targets * 2


@given(TARGETS)
def test_each_endpoint_is_tried_once(targets: list[Target]) -> None:
    rotation = Rotation(Opening(tuple(targets)))
    rotation.order("127.0.0.1", 0.0)
    assert sorted(rotation.order("127.0.0.1", 0.0)) == sorted(targets)


def test_client_stays_with_its_endpoint_for_the_time_of_affinity() -> None:
    rotation = Rotation(Opening((HERE, THERE), affinity_seconds=60))
    rotation.keep("127.0.0.1", THERE, now=0.0)
    assert rotation.order("127.0.0.1", 59.0)[0] == THERE
    assert rotation.order("127.0.0.2", 59.0)[0] == HERE
    rotation.order("127.0.0.2", 59.0)
    assert rotation.order("127.0.0.1", 61.0)[0] == HERE


def test_client_of_vanished_endpoint_gets_another() -> None:
    rotation = Rotation(Opening((HERE, THERE), affinity_seconds=60))
    rotation.keep("127.0.0.1", THERE, now=0.0)
    rotation.change(Opening((HERE,), affinity_seconds=60))
    assert rotation.order("127.0.0.1", 1.0) == (HERE,)


@pytest.mark.parametrize(
    ("place", "text"),
    [(Place("10.96.0.9", 53, "UDP"), "10.96.0.9:53/UDP"), (Place("fd00::1", 80, "TCP"), "[fd00::1]:80/TCP")],
)
def test_place_is_shown_with_its_protocol(place: Place, text: str) -> None:
    assert str(place) == text
