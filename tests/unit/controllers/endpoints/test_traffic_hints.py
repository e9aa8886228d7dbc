"""Hints for ``trafficDistribution``. Cases of upstream's ``TestReconcileHints`` and ``Test_hintsEnabled``."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import Service, ServiceSpec
from podling.api.discovery_v1 import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointSlice,
    ForNode,
    ForZone,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.endpoints.slice_rules import Changes
from podling.controllers.endpoints.traffic_hints import distribution_of, with_preference, without_hints


def hint(zone: str = "", node: str = "") -> EndpointHints | None:
    zones = (ForZone(name=zone),) if zone else ()
    nodes = (ForNode(name=node),) if node else ()
    return EndpointHints(for_zones=zones, for_nodes=nodes) if zones or nodes else None


def one_slice(
    *, ready: bool = True, zone: str | None = "a", node: str | None = "n1", hints: EndpointHints | None = None
) -> EndpointSlice:
    conditions = EndpointConditions(ready=ready)
    endpoint = Endpoint(
        addresses=("10.0.0.1",), conditions=conditions, zone=zone, node_name=node, hints=hints
    )
    return EndpointSlice(metadata=ObjectMeta(name="s"), address_type="IPv4", endpoints=(endpoint,))


def hints_of(slices: list[EndpointSlice]) -> list[EndpointHints | None]:
    return [endpoint.hints for each in slices for endpoint in each.endpoints]


@pytest.mark.parametrize("distribution", ["PreferClose", "PreferSameZone", "PreferSameNode"])
@pytest.mark.parametrize(
    ("zone", "node", "by_zone", "by_node"),
    [
        ("a", "n1", hint("a"), hint("a", "n1")),
        (None, "n1", None, hint("", "n1")),
        ("a", None, hint("a"), hint("a")),
        (None, None, None, None),
    ],
)
@pytest.mark.parametrize("old", [None, hint("b"), hint("a", "n2"), hint("", "n1")])
def test_hints_name_the_zone_and_for_one_preference_the_node(
    distribution: str,
    zone: str | None,
    node: str | None,
    by_zone: EndpointHints | None,
    by_node: EndpointHints | None,
    old: EndpointHints | None,
) -> None:
    found = one_slice(zone=zone, node=node, hints=old)
    wanted = by_node if distribution == "PreferSameNode" else by_zone
    changed = with_preference(Changes(create=[found], update=[found]), distribution)
    assert hints_of(changed.create) == hints_of(changed.update) == [wanted]
    kept = with_preference(Changes(unchanged=[found]), distribution)
    assert (kept.update, kept.unchanged) == (([], [found]) if old == wanted else ([*changed.create], []))


def test_endpoint_that_is_not_ready_has_no_hints() -> None:
    found = one_slice(ready=False)
    assert hints_of(with_preference(Changes(create=[found]), "PreferClose").create) == [None]


def test_hints_are_removed_from_slices_that_have_some() -> None:
    plain, hinted = one_slice(), one_slice(hints=hint("a"))
    changed = without_hints(Changes(create=[hinted], update=[hinted], unchanged=[plain, hinted]))
    assert (changed.create, changed.update, changed.unchanged) == ([plain], [plain, plain], [plain])


@pytest.mark.parametrize(
    ("annotations", "distribution", "wanted"),
    [
        ({}, None, None),
        ({}, "PreferClose", "PreferClose"),
        ({}, "PreferSameNode", "PreferSameNode"),
        ({}, "Nearby", None),
        ({"service.kubernetes.io/topology-mode": "Auto"}, "PreferClose", None),
        ({"service.kubernetes.io/topology-mode": "auto"}, "PreferClose", None),
        ({"service.kubernetes.io/topology-mode": "AUTO"}, "PreferClose", "PreferClose"),
        ({"service.kubernetes.io/topology-aware-hints": "Auto"}, "PreferClose", None),
        (
            {
                "service.kubernetes.io/topology-aware-hints": "disabled",
                "service.kubernetes.io/topology-mode": "Auto",
            },
            "PreferClose",
            "PreferClose",
        ),
    ],
)
def test_annotation_has_precedence_over_distribution(
    annotations: dict[str, str], distribution: str | None, wanted: str | None
) -> None:
    service = Service(metadata=ObjectMeta(annotations=annotations), spec=ServiceSpec())
    spec = structs.replace(service.spec, traffic_distribution=distribution)
    assert distribution_of(structs.replace(service, spec=spec)) == wanted
