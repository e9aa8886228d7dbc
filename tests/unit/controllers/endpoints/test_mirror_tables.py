"""Slices that mirror Endpoints: the table of upstream's ``endpointslicemirroring/reconciler_test.go``."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct, structs

from podling.api.core_v1 import EndpointAddress, EndpointPort, Endpoints, EndpointSubset
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.endpoints.mirror_rules import LAST_APPLIED, arrange_mirrors, desired, owner_of
from podling.controllers.endpoints.slice_rules import Changes
from podling.controllers.endpoints.subset_rules import repacked

PORTS = {
    "http": EndpointPort(name="http", port=80, protocol="TCP"),
    "https": EndpointPort(name="https", port=443, protocol="TCP"),
    "udp": EndpointPort(name="https", port=443, protocol="UDP"),
    "http3": EndpointPort(name="http", port=3000, protocol="TCP"),
    "udp3": EndpointPort(name="https", port=3001, protocol="UDP"),
}


def subset(ports: str, ready: str = "", waiting: str = "") -> EndpointSubset:
    """Return a subset of these ports, with addresses that are ``<ip>``; each has a host name and a node."""

    def addresses(text: str) -> tuple[EndpointAddress, ...]:
        return tuple(EndpointAddress(ip=ip, hostname=f"on-{ip[-1]}", node_name="n") for ip in text.split())

    return EndpointSubset(
        ports=tuple(PORTS[name] for name in ports.split()),
        addresses=addresses(ready),
        not_ready_addresses=addresses(waiting),
    )


def endpoints(*subsets: EndpointSubset, **metadata: Any) -> Endpoints:
    metadata = {"uid": "e1", **metadata}
    return Endpoints(metadata=ObjectMeta(name="web", namespace="default", **metadata), subsets=subsets)


def mirrored(of: Endpoints, slices: list[EndpointSlice]) -> Changes:
    return arrange_mirrors(owner_of(of), slices, desired(of)[0])


def stored(of: Endpoints) -> list[EndpointSlice]:
    """Return the slices of an object as they are made first."""
    return [
        structs.replace(each, metadata=structs.replace(each.metadata, name=f"web-{number}"))
        for number, each in enumerate(mirrored(of, []).create)
    ]


class Case(Struct, frozen=True):
    """An object, the one that its slices mirror so far, and the sizes and numbers of changes."""

    wanted: Endpoints
    before: Endpoints = endpoints()
    sizes: list[int] = []
    written: tuple[int, int, int] = (0, 0, 0)


ONE = subset("http", "10.0.0.1")
TWO = subset("http udp", "10.0.0.1 10.0.0.2")
THREE = subset("http3 udp3", "10.0.1.1 10.0.1.2 10.0.1.3")
BOTH = endpoints(TWO, THREE)
CASES = {
    "no subsets": Case(endpoints()),
    "no addresses": Case(endpoints(subset("http"))),
    "one address": Case(endpoints(ONE), sizes=[1], written=(1, 0, 0)),
    "another port for another address": Case(
        endpoints(ONE, subset("https", "10.0.0.2")), sizes=[1, 1], written=(2, 0, 0)
    ),
    "another port for the same address": Case(
        endpoints(ONE, subset("https", "10.0.0.1")), sizes=[1], written=(1, 0, 0)
    ),
    "another address for the same port": Case(
        endpoints(ONE, subset("http", "10.0.0.2")), sizes=[2], written=(1, 0, 0)
    ),
    "the same fields": Case(endpoints(ONE), endpoints(ONE), [1]),
    "an earlier owner": Case(endpoints(ONE), endpoints(ONE, uid="e0"), [1], (0, 1, 0)),
    "an annotation less": Case(endpoints(ONE), endpoints(ONE, annotations={"foo": "bar"}), [1], (0, 1, 0)),
    "a label more": Case(endpoints(ONE, labels={"foo": "bar"}), endpoints(ONE), [1], (0, 1, 0)),
    "two ports": Case(endpoints(TWO), sizes=[2], written=(1, 0, 0)),
    "not ready": Case(endpoints(subset("http udp", "", "10.0.0.1 10.0.0.2")), sizes=[2], written=(1, 0, 0)),
    "ready and not ready": Case(
        endpoints(subset("http udp", "10.1.1.1 10.1.1.2", "10.0.0.1 10.0.0.2")), sizes=[4], written=(1, 0, 0)
    ),
    "two subsets": Case(BOTH, sizes=[3, 2], written=(2, 0, 0)),
    "some addresses are there": Case(
        BOTH, endpoints(subset("http udp", "10.0.0.2 10.0.0.3")), [3, 2], (1, 1, 0)
    ),
    "one subset is there": Case(BOTH, endpoints(TWO), [3, 2], (1, 0, 0)),
    "one subset less": Case(endpoints(TWO), BOTH, [2], (0, 0, 1)),
    "other ports": Case(endpoints(TWO), endpoints(THREE), [2], (0, 1, 0)),
    "two families": Case(
        endpoints(
            subset("http udp", "2001:db8::1 10.0.0.2"), subset("http3 udp3", "10.0.1.1 10.0.1.2 2001:db8::2")
        ),
        sizes=[2, 1, 1, 1],
        written=(4, 0, 0),
    ),
    "one family": Case(
        endpoints(subset("http udp", "2001:db8::1 2001:db8::2"), subset("http3", "2001:db8::3 2001:db8::4")),
        sizes=[2, 2],
        written=(2, 0, 0),
    ),
    "everything goes": Case(endpoints(), BOTH, [], (0, 0, 2)),
    "applied by kubectl": Case(endpoints(ONE, annotations={LAST_APPLIED: "{}"}), endpoints(ONE), [1]),
    "applied by kubectl, first": Case(
        endpoints(ONE, annotations={LAST_APPLIED: "", "foo": "bar"}), sizes=[1], written=(1, 0, 0)
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_slices_of_endpoints(case: Case) -> None:
    slices = stored(case.before) if case.before.subsets else []
    changes = mirrored(case.wanted, slices)
    changed = {each.metadata.name for each in [*changes.update, *changes.delete]}
    kept = [each for each in slices if each.metadata.name not in changed]
    every = [*changes.create, *changes.update, *kept]
    assert sorted((len(each.endpoints) for each in every), reverse=True) == case.sizes
    assert (len(changes.create), len(changes.update), len(changes.delete)) == case.written
    own = {name: text for name, text in case.wanted.metadata.annotations.items() if name != LAST_APPLIED}
    for each in every:
        assert each.metadata.annotations == own
        assert [ref.uid for ref in each.metadata.owner_references] == ["e1"]


def ips(subset: EndpointSubset) -> tuple[list[str], list[str], list[int]]:
    return (
        [each.ip for each in subset.addresses],
        [each.ip for each in subset.not_ready_addresses],
        [port.port for port in subset.ports],
    )


@pytest.mark.parametrize(
    ("subsets", "wanted"),
    [
        pytest.param([], [], id="none"),
        pytest.param([subset("http")], [], id="no addresses"),
        pytest.param([subset("", "10.0.0.1")], [(["10.0.0.1"], [], [])], id="no ports"),
        pytest.param(
            [ONE, subset("http", "10.0.0.1")], [(["10.0.0.1"], [], [80])], id="the same subset twice"
        ),
        pytest.param(
            [ONE, subset("http", "", "10.0.0.1")], [([], ["10.0.0.1"], [80])], id="not ready is stronger"
        ),
        pytest.param(
            [subset("http", "", "10.0.0.1"), ONE], [([], ["10.0.0.1"], [80])], id="not ready stays so"
        ),
        pytest.param(
            [ONE, subset("https", "", "10.0.0.1")],
            [([], ["10.0.0.1"], [443]), (["10.0.0.1"], [], [80])],
            id="ready for one port",
        ),
        pytest.param(
            [subset("http https", "10.0.0.1"), subset("http", "10.0.0.2")],
            [(["10.0.0.1"], [], [443]), (["10.0.0.1", "10.0.0.2"], [], [80])],
            id="a port that both have",
        ),
    ],
)
def test_subsets_in_canonical_form(
    subsets: list[EndpointSubset], wanted: list[tuple[list[str], list[str], list[int]]]
) -> None:
    """Cases of ``pkg/api/v1/endpoints/util_test.go``."""
    assert sorted(ips(each) for each in repacked(subsets)) == wanted
