"""Slices of Services with many pods: the cases of upstream's ``endpointslice/reconciler_test.go``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest
from msgspec import structs

from podling.api.core_v1 import ContainerPort, Node, Pod, Service, ServicePort
from podling.api.discovery_v1 import EndpointSlice
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.endpoints.slice_rules import Changes, Owner, arrange, new_slice, recycled
from podling.controllers.owner_references import controller_reference
from tests.unit.controllers.endpoints.services import NODES, running_pod, service

WEB = service(cluster_ip="10.96.0.1", ip_families=("IPv4",))
PORTS = (structs.replace(rules.ports_of(WEB, running_pod("any"))[0]),)


def pods(numbers: Iterable[int], *, ready: bool | None = None) -> dict[int, Pod]:
    """Return pods by their numbers; each third is not ready."""
    return {
        each: running_pod(
            f"p{each}", f"10.0.{each // 250}.{each % 250}", ready=each % 3 != 0 if ready is None else ready
        )
        for each in numbers
    }


def owner(of: Service) -> Owner:
    return Owner("web", "default", controller_reference(of), rules.labels_of(of))


def held(name: str, members: Iterable[Pod], type_: str = "IPv4") -> EndpointSlice:
    endpoints = [rules.endpoint_of(WEB, each, NODES["n1"], "IPv4") for each in members]
    made = new_slice(owner(WEB), type_, PORTS, endpoints)
    return structs.replace(made, metadata=structs.replace(made.metadata, name=name))


def changes_of(
    of: Service,
    members: Iterable[Pod],
    slices: Sequence[EndpointSlice],
    nodes: Mapping[str, Node] = NODES,
) -> Changes:
    """Return the changes of the IPv4 slices as they are written."""
    found = arrange(owner(of), "IPv4", slices, rules.desired(of, members, nodes, "IPv4"))
    return recycled(found, owner(of).reference)


def sizes(changes: Changes) -> list[int]:
    """Return the sizes of the slices after the changes, the largest first."""
    every = [*changes.create, *changes.update, *changes.unchanged]
    return sorted((len(each.endpoints) for each in every), reverse=True)


def numbers(changes: Changes) -> tuple[int, int, int]:
    return len(changes.create), len(changes.update), len(changes.delete)


@pytest.mark.parametrize(
    ("count", "wanted"), [(0, [0]), (1, [1]), (50, [50]), (100, [100]), (250, [100, 100, 50])]
)
def test_many_pods_and_no_slices(count: int, wanted: list[int]) -> None:
    changes = changes_of(WEB, pods(range(count)).values(), [])
    assert (sizes(changes), numbers(changes)) == (wanted, (len(wanted), 0, 0))
    assert (changes.added, changes.removed) == (count, 0)


@pytest.mark.parametrize(
    ("total", "wanted", "written"),
    [
        pytest.param(250, [100, 89, 61], (1, 1, 0), id="the rest fits into the fuller slice"),
        pytest.param(300, [100, 74, 74, 52], (2, 0, 0), id="the rest fits into none"),
    ],
)
def test_more_pods_than_two_slices_have(total: int, wanted: list[int], written: tuple[int, int, int]) -> None:
    every = pods(range(total))
    slices = [
        held("one", (every[each] for each in range(1, total - 4, 4))),
        held("two", (every[each] for each in range(3, total - 4, 4))),
    ]
    changes = changes_of(WEB, every.values(), slices)
    assert (sizes(changes), numbers(changes)) == (wanted, written)


def test_changed_port_repacks_and_reuses_slices() -> None:
    every = pods(range(300))
    slices = [
        held(f"s{first}", (every[each] for each in range(first, first + 30))) for first in range(0, 300, 30)
    ]
    same = changes_of(WEB, every.values(), slices)
    assert (numbers(same), len(same.unchanged)) == ((0, 0, 0), 10)
    moved = service(
        ServicePort(port=80, target_port=81, protocol="TCP"), cluster_ip="10.96.0.1", ip_families=("IPv4",)
    )
    changes = changes_of(moved, every.values(), slices)
    assert (sizes(changes), numbers(changes)) == ([100, 100, 100], (0, 3, 7))
    assert {each.ports[0].port for each in changes.update} == {81}
    assert (changes.added, changes.removed) == (300, 0)


def test_new_pods_fill_the_fuller_of_slices_that_change_anyway() -> None:
    first, second = pods(range(80), ready=True), pods(range(100, 120), ready=True)
    slices = [held("one", first.values()), held("two", second.values())]
    every = {**first, **second, **pods(range(200, 215), ready=True)}
    every |= pods((each for each in every if each % 10 == 0 and each < 200), ready=False)
    changes = changes_of(WEB, every.values(), slices)
    assert (sizes(changes), numbers(changes)) == ([95, 20], (0, 2, 0))
    assert (changes.added, changes.removed) == (15, 0)


@pytest.mark.parametrize(
    ("uid", "written"), [("s1", (0, 0, 0)), pytest.param("different", (1, 0, 1), id="of an earlier Service")]
)
def test_slices_are_kept_by_the_service_that_owns_them(uid: str, written: tuple[int, int, int]) -> None:
    members = pods([1]).values()
    mine = held("one", members)
    references = tuple(structs.replace(each, uid=uid) for each in mine.metadata.owner_references)
    mine = structs.replace(mine, metadata=structs.replace(mine.metadata, owner_references=references))
    changes = changes_of(WEB, members, [mine])
    assert (sizes(changes), numbers(changes)) == ([1], written)


def test_named_port_with_five_numbers_has_five_slices() -> None:
    named = service(
        ServicePort(target_port="http", protocol="TCP"), cluster_ip="10.96.0.1", ip_families=("IPv4",)
    )
    members = []
    for number, each in pods(range(300)).items():
        ports = (ContainerPort(name="http", container_port=8080 + number % 5, protocol="TCP"),)
        containers = (structs.replace(each.spec.containers[0], ports=ports),)
        members.append(structs.replace(each, spec=structs.replace(each.spec, containers=containers)))
    changes = changes_of(named, members, [])
    assert (sizes(changes), numbers(changes)) == ([60] * 5, (5, 0, 0))
    assert sorted(each.ports[0].port or 0 for each in changes.create) == list(range(8080, 8085))


@pytest.mark.parametrize(
    ("labels", "written"),
    [
        ({"team": "b"}, (0, 3, 0)),
        ({"team": "a"}, (0, 0, 0)),
        (
            {
                "team": "a",
                "kubernetes.io/service-name": "bad",
                "endpointslice.kubernetes.io/managed-by": "actor",
                "service.kubernetes.io/headless": "invalid",
            },
            (0, 0, 0),
        ),
    ],
)
def test_labels_of_the_service_are_written_unless_they_are_reserved(
    labels: dict[str, str], written: tuple[int, int, int]
) -> None:
    every = pods(range(250))
    slices = [
        held(f"s{first}", (every[each] for each in range(first, min(250, first + 100))))
        for first in (0, 100, 200)
    ]
    labelled = structs.replace(WEB, metadata=structs.replace(WEB.metadata, labels=labels))
    changes = changes_of(labelled, every.values(), slices)
    assert (sizes(changes), numbers(changes)) == ([100, 100, 50], written)
    for each in changes.update:
        assert each.metadata.labels == {
            **labels,
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }


@pytest.mark.parametrize(
    ("published", "nodes", "exists", "wanted", "written", "added", "removed"),
    [
        pytest.param(False, ["n0"], False, 1, (1, 0, 0), 1, 0, id="new, one node is known"),
        pytest.param(True, ["n0"], False, 2, (1, 0, 0), 2, 0, id="new, published all the same"),
        pytest.param(False, ["n0"], True, 1, (0, 1, 0), 0, 1, id="one node is known"),
        pytest.param(True, [], True, 2, (0, 0, 0), 0, 0, id="published, no node is known"),
        pytest.param(True, ["n0"], True, 2, (0, 0, 0), 0, 0, id="published, one node is known"),
        pytest.param(False, [], True, 0, (0, 1, 0), 0, 2, id="no node is known"),
    ],
)
def test_pods_whose_node_is_missing(
    published: bool,
    nodes: list[str],
    exists: bool,
    wanted: int,
    written: tuple[int, int, int],
    added: int,
    removed: int,
) -> None:
    """Cases of TestReconcilerPodMissingNode."""
    members = [
        structs.replace(each, spec=structs.replace(each.spec, node_name=f"n{number}"))
        for number, each in pods(range(2), ready=True).items()
    ]
    known = {
        name: structs.replace(
            NODES["n1"], metadata=structs.replace(NODES["n1"].metadata, name=name, labels={})
        )
        for name in nodes
    }
    of = service(cluster_ip="10.96.0.1", ip_families=("IPv4",), publish_not_ready_addresses=published)
    slices = [held("one", members)] if exists else []
    slices = [
        structs.replace(each, endpoints=tuple(structs.replace(one, zone=None) for one in each.endpoints))
        for each in slices
    ]
    changes = changes_of(of, members, slices, known)
    assert (sizes(changes), numbers(changes)) == ([wanted], written)
    assert (changes.added, changes.removed) == (added, removed)
    assert [each.metadata.name for each in rules.without_node(of, members, known)] == (
        [] if published else [f"p{number}" for number in range(2) if f"n{number}" not in nodes]
    )
