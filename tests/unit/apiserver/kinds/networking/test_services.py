"""Tests of the rules of Services."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Service
from tests.support.manifests import NOW, obj, rules

ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Service,
        "spec: {type: NodePort, clusterIPs: [10.96.0.9], ports: [{port: 80, nodePort: 30080, protocol: TCP}, "
        "{port: 53, protocol: UDP}], selector: {b: c, a: b}}",
        ["x", "NodePort", "10.96.0.9", "<none>", "80:30080/TCP,53/UDP", "5m", "a=b,b=c"],
    ),
    (
        Service,
        "spec: {type: LoadBalancer, ports: [{port: 80, protocol: TCP}]}",
        ["x", "LoadBalancer", "<none>", "<pending>", "80/TCP", "5m", "<none>"],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_service_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW))[: len(expected)] == expected


SERVICE = "metadata: {name: x, namespace: default}\nspec: {clusterIP: 10.96.0.9, ports: [{port: 80}]"


def test_defaults_of_service_depend_on_type_and_affinity() -> None:
    config = "sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}"
    sticky = obj(Service, f"{SERVICE}, sessionAffinity: ClientIP, {config}}}")
    assert rules(Service).default(sticky).spec.session_affinity_config == sticky.spec.session_affinity_config
    loose = obj(Service, f"{SERVICE}, {config}}}")
    assert rules(Service).default(loose).spec.session_affinity_config is None
    status = "status: {loadBalancer: {ingress: [{ip: 10.0.0.1}, {hostname: a.b}]}}"
    balanced = rules(Service).default(obj(Service, f"{SERVICE}, type: LoadBalancer}}\n{status}"))
    assert [each.ip_mode for each in balanced.status.load_balancer.ingress] == ["VIP", None]


CELLS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Service,
        "spec: {type: LoadBalancer, externalIPs: [1.1.1.1]}\n"
        "status: {loadBalancer: {ingress: [{ip: 1.2.3.9}, {ip: 1.2.3.4}]}}",
        ["x", "LoadBalancer", "<none>", "1.2.3.4,1.2.3.9,1.1.1.1", "<none>", "5m", "<none>"],
    ),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_cells_of_service_follow_kubernetes(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected
