"""Choosing endpoints: the cases of ``pkg/proxy/topology_test.go``."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.network.services.endpoint_slices import EndpointRecord, PortEndpoint, SlicePort, SliceRecord
from podling.network.services.service_ports import FamilyRecord, PortRecord, ServiceRecord
from podling.network.services.topology import Chosen, choose, policies_without_local

NODE, ZONE = "node", "zone-a"


def endpoint(
    number: int, state: str = "ready", *, local: bool = False, zone: str = "", node: str = ""
) -> PortEndpoint:
    """Return an endpoint; ``state`` is ready, ending (serving while it terminates), ended or unready.

    ``zone`` may name several zones.
    """
    return PortEndpoint(
        target=bytes((10, 1, 2, number, 0, 80)),
        is_local=local,
        endpoint=EndpointRecord(
            address=bytes((10, 1, 2, number)),
            ready=state == "ready",
            serving=state in ("ready", "ending"),
            terminating=state in ("ending", "ended"),
            node=NODE if local else "other",
            zone_hints=tuple(zone.split()),
            node_hints=(node,) if node else (),
        ),
    )


def numbers(chosen: Chosen) -> tuple[list[int], list[int], bool]:
    return (
        [each.target[3] for each in chosen.cluster],
        [each.target[3] for each in chosen.local],
        chosen.has_any,
    )


A, B = endpoint(1, zone="zone-a"), endpoint(2, zone="zone-b")
HINTS = [
    # endpoints, zone of the node, cluster endpoints
    ("hints of the zone", [A, B], ZONE, [1]),
    ("hints of another zone", [A, B], "zone-b", [2]),
    ("no endpoint for the zone", [A, B], "zone-c", [1, 2]),
    ("node without zone", [A, B], "", [1, 2]),
    ("an endpoint without hint", [A, endpoint(2)], ZONE, [1, 2]),
    ("an unready endpoint without hint", [A, B, endpoint(3, "unready")], ZONE, [1]),
    ("no ready endpoint", [endpoint(1, "ending", zone="zone-b")], ZONE, [1]),
    (
        "an unready endpoint of the zone",
        [A, B, endpoint(3, zone="zone-c"), endpoint(4, "unready", zone="zone-a")],
        ZONE,
        [1],
    ),
    (
        "only unready endpoints of the zone",
        [endpoint(1, "unready", zone="zone-a"), B, endpoint(3, zone="zone-c")],
        ZONE,
        [2, 3],
    ),
    (
        "several hints of an endpoint",
        [
            endpoint(1, zone="zone-a zone-b zone-c"),
            endpoint(2, zone="zone-b zone-c"),
            endpoint(3, zone="zone-b zone-d"),
            endpoint(4, zone="zone-c"),
        ],
        "zone-c",
        [1, 2, 4],
    ),
    (
        "hints of the node before those of the zone",
        [endpoint(1, zone=ZONE, node="other"), endpoint(2, zone=ZONE, node=NODE)],
        ZONE,
        [2],
    ),
    (
        "hints of other nodes leave those of the zone",
        [endpoint(1, zone=ZONE, node="x"), endpoint(2, zone="zone-b", node="y")],
        ZONE,
        [1],
    ),
    (
        "a missing hint of a node leaves those of the zone",
        [endpoint(1, zone=ZONE), endpoint(2, zone="zone-b", node=NODE)],
        ZONE,
        [1],
    ),
    (
        "hints of the node alone",
        [endpoint(1, node=NODE), endpoint(2, node="other")],
        "",
        [1],
    ),
]


@pytest.mark.parametrize(
    ("endpoints", "zone", "cluster"), [case[1:] for case in HINTS], ids=[c[0] for c in HINTS]
)
def test_hints_restrict_the_cluster_policy(
    endpoints: list[PortEndpoint], zone: str, cluster: list[int]
) -> None:
    chosen = choose(endpoints, uses_cluster=True, uses_local=False, node=NODE, zone=zone)
    assert numbers(chosen) == (cluster, [], True)


STATES = [
    # name, endpoints, cluster, local, has any
    ("none", [], [], [], False),
    ("ready ones of both kinds", [endpoint(1, local=True), endpoint(2)], [1, 2], [1], True),
    ("none on this node", [endpoint(1), endpoint(2)], [1, 2], [], True),
    (
        "a ready one hides the ending",
        [endpoint(1, "ending", local=True), endpoint(2, local=True)],
        [2],
        [2],
        True,
    ),
    (
        "each policy falls back by itself",
        [endpoint(1, "ending", local=True), endpoint(2)],
        [2],
        [1],
        True,
    ),
    (
        "all ending",
        [endpoint(1, "ending", local=True), endpoint(2, "ending"), endpoint(3, "ended", local=True)],
        [1, 2],
        [1],
        True,
    ),
    ("all ended", [endpoint(1, "ended", local=True), endpoint(2, "unready")], [], [], False),
]


@pytest.mark.parametrize(
    ("endpoints", "cluster", "local", "has_any"), [c[1:] for c in STATES], ids=[c[0] for c in STATES]
)
def test_state_decides_for_both_policies(
    endpoints: list[PortEndpoint], cluster: list[int], local: list[int], has_any: bool
) -> None:
    chosen = choose(endpoints, uses_cluster=True, uses_local=True, node=NODE, zone=ZONE)
    assert numbers(chosen) == (cluster, local, has_any)
    only_cluster = choose(endpoints, uses_cluster=True, uses_local=False, node=NODE, zone=ZONE)
    assert numbers(only_cluster) == (cluster, [], bool(cluster))
    only_local = choose(endpoints, uses_cluster=False, uses_local=True, node=NODE, zone=ZONE)
    assert numbers(only_local) == ([], local, has_any)


def test_hints_do_not_restrict_the_local_policy() -> None:
    endpoints = [endpoint(1, local=True, zone="zone-b"), endpoint(2, zone=ZONE)]
    chosen = choose(endpoints, uses_cluster=True, uses_local=True, node=NODE, zone=ZONE)
    assert numbers(chosen) == ([2], [1], True)


HERE, THERE = endpoint(1, local=True), endpoint(2)
POLICIES = [
    # name, internal and external policy Local, reachable from outside, endpoints, cluster, local, has any
    ("internal, none", True, False, False, [], None, [], False),
    ("internal, all elsewhere", True, False, False, [endpoint(1), THERE], None, [], True),
    ("internal, all here", True, False, False, [HERE, endpoint(2, local=True)], None, [1, 2], True),
    ("internal, some here", True, False, False, [HERE, THERE], None, [1], True),
    ("cluster, none ready", False, False, False, [endpoint(1, "unready")], [], None, False),
    ("cluster, some ready", False, False, False, [endpoint(1, "unready"), THERE], [2], None, True),
    ("internal, from outside", True, False, True, [HERE, THERE], [1, 2], [1], True),
    ("external, from outside", False, True, True, [HERE, THERE], [1, 2], [1], True),
    ("both, from outside", True, True, True, [HERE, THERE], [1, 2], [1], True),
    ("both, all elsewhere", True, True, True, [endpoint(1), THERE], [1, 2], [], True),
    ("both, all elsewhere and ending", True, True, True, [endpoint(1, "ending")], [1], [], True),
    (
        "external, with ending ones",
        False,
        True,
        True,
        [
            endpoint(1),
            endpoint(2, "unready", local=True),
            endpoint(3, "ending", local=True),
            endpoint(4, "ending"),
        ],
        [1],
        [3],
        True,
    ),
    ("external, not reachable from outside", False, True, False, [HERE, THERE], [1, 2], None, True),
]


@pytest.mark.parametrize(
    ("internal", "external", "is_reachable", "endpoints", "cluster", "local", "has_any"),
    [case[1:] for case in POLICIES],
    ids=[case[0] for case in POLICIES],
)
def test_policies_decide_which_endpoints_are_used(
    internal: bool,
    external: bool,
    is_reachable: bool,
    endpoints: list[PortEndpoint],
    cluster: list[int] | None,
    local: list[int] | None,
    has_any: bool,
) -> None:
    """None: the Service uses no endpoints of this kind."""
    port = PortRecord("", "TCP", 80, 8080 if is_reachable else 0)
    family = FamilyRecord("ip", bytes((10, 96, 0, 9)))
    key = Key("default", "web")
    service = ServiceRecord(key, (port,), (family,), external_local=external, internal_local=internal)
    uses_cluster = service.uses_cluster_endpoints(family, port)
    uses_local = service.uses_local_endpoints(family, port)
    assert (uses_cluster, uses_local) == (cluster is not None, local is not None)
    chosen = choose(endpoints, uses_cluster=uses_cluster, uses_local=uses_local, node=NODE, zone=ZONE)
    assert numbers(chosen) == (cluster or [], local or [], has_any)


@pytest.mark.parametrize(
    ("internal", "external", "node", "expected"),
    [
        (True, False, "other", {"internal"}),
        (True, True, "other", {"internal", "external"}),
        (True, True, NODE, set()),
        (False, False, "other", set()),
        (True, True, "", set()),
    ],
    ids=["internal", "both", "local endpoint", "no policy", "no endpoint at all"],
)
def test_policies_without_local_endpoints(
    internal: bool, external: bool, node: str, expected: set[str]
) -> None:
    """``node`` has the Service's one endpoint; without a node there is none."""
    service = ServiceRecord(
        key=Key("default", "web"),
        ports=(PortRecord("", "TCP", 80, 30080),),
        families=(FamilyRecord("ip", bytes((10, 96, 0, 9))),),
        external_local=external,
        internal_local=internal,
    )
    found = EndpointRecord(bytes((10, 1, 2, 3)), ready=True, serving=True, terminating=False, node=node)
    slices = (SliceRecord(ObjectMeta(), "web", "ip", (SlicePort("", "TCP", 80),), (found,) if node else ()),)
    assert policies_without_local(service, slices, "ip", NODE) == expected
    assert policies_without_local(service, slices, "ip6", NODE) == set()
