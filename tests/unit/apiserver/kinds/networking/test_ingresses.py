"""Tests of the rules of Ingresses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.networking_v1 import Ingress
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import SUBDOMAIN_TEXT, Cause, KindRow, invalid, required, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    Ingress: {
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
    },
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_ingress_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


BACKEND = "backend: {service: {name: web, port: {number: 80}}}"


def with_path(path: str) -> str:
    return f"spec: {{rules: [{{http: {{paths: [{{{path}, {BACKEND}}}]}}}}]}}"


B, P0 = "spec.defaultBackend", "spec.rules[0].http.paths[0]"
NO_IP = "must be a DNS name, not an IP address"
INVALID: list[KindRow] = [
    (
        Ingress,
        "spec: {defaultBackend: null}",
        [invalid("spec", "[]", "either `defaultBackend` or `rules` must be specified")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: null}}",
        [invalid(B, '""', "resource or service backend is required")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {resource: {kind: Bucket, name: b}}}",
        [invalid(B, '""', "cannot set both resource and service backends")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: null, resource: {kind: '', name: a/b}}}",
        [
            required(f"{B}.resource.kind", "kind is required"),
            invalid(f"{B}.resource.name", '"a/b"', "may not contain '/'"),
        ],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: {name: '', port: {number: 0}}}}",
        [required(f"{B}.service.name"), required(B, "port name or number is required")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: {port: {name: http}}}}",
        [invalid(B, '""', "cannot set both port name & port number")],
    ),
    (
        Ingress,
        "spec: {defaultBackend: {service: {port: {number: 70000}}}}",
        [invalid(f"{B}.service.port.number", "70000", "must be between 1 and 65535, inclusive")],
    ),
    (
        Ingress,
        "spec: {rules: [{host: 10.0.0.1}]}",
        [invalid("spec.rules[0].host", '"10.0.0.1"', NO_IP)],
    ),
    (
        Ingress,
        "spec: {rules: [{http: {paths: []}}]}",
        [required("spec.rules[0].http.paths")],
    ),
    (Ingress, with_path("path: /"), [required(f"{P0}.pathType", "pathType must be specified")]),
    (
        Ingress,
        with_path("path: a, pathType: Regex"),
        [unsupported(f"{P0}.pathType", "Regex", "Exact", "ImplementationSpecific", "Prefix")],
    ),
    (
        Ingress,
        with_path("path: a//b/.., pathType: Prefix"),
        [
            invalid(f"{P0}.path", '"a//b/.."', "must be an absolute path"),
            invalid(f"{P0}.path", '"a//b/.."', "must not contain '//'"),
            invalid(f"{P0}.path", '"a//b/.."', "cannot end with '/..'"),
        ],
    ),
    (Ingress, with_path("pathType: ImplementationSpecific"), []),
    (
        Ingress,
        "spec: {tls: [{hosts: [a_b], secretName: S}]}",
        [
            invalid("spec.tls[0].hosts[0]", '"a_b"', SUBDOMAIN_TEXT),
            invalid("spec.tls[0].secretName", '"S"', SUBDOMAIN_TEXT),
        ],
    ),
    (
        Ingress,
        "{metadata: {annotations: {kubernetes.io/ingress.class: a}}, spec: {ingressClassName: a}}",
        [],
    ),
    (
        Ingress,
        "{metadata: {annotations: {kubernetes.io/ingress.class: a}}, spec: {ingressClassName: b}}",
        [
            invalid(
                "annotations.kubernetes.io/ingress.class",
                '"a"',
                "must match `ingressClassName` when both are specified",
            )
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_ingress_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


RULE = "spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: "
NEW_OBJECTS: list[KindRow] = [
    (Ingress, f"{RULE}{{service: {{name: web, port: {{number: 80}}}}}}}}]}}}}]}}", []),
    (
        Ingress,
        f"{RULE}{{service: {{name: web}}}}}}]}}}}]}}",
        [required("spec.rules[0].http.paths[0].backend", "port name or number is required")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_ingress_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Ingress,
        "spec: {ingressClassName: nginx, rules: [{host: a.example.com}], tls: [{}]}\n"
        "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}",
        ["x", "nginx", "a.example.com", "1.2.3.4", "80, 443", "5m"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_ingress_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


def test_invalid_secret_name_of_stored_ingress_stays_valid() -> None:
    old = obj(Ingress, "spec: {tls: [{secretName: Old_Name}]}", VALID[Ingress])
    new = obj(Ingress, "spec: {tls: [{secretName: Other_Name}], ingressClassName: a}", VALID[Ingress])
    assert change_causes(new, old) == []


def test_load_balancer_status_of_ingress_is_validated() -> None:
    old = created(obj(Ingress, "", VALID[Ingress]))
    status = "status: {loadBalancer: {ingress: [{ip: nowhere, hostname: 10.0.0.1}]}}"
    point = "status.loadBalancer.ingress[0]"
    assert change_causes(obj(Ingress, status, VALID[Ingress]), old, "status") == [
        invalid(f"{point}.ip", '"nowhere"', "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        invalid(f"{point}.hostname", '"10.0.0.1"', NO_IP),
    ]


ROW = tuple[type[Any], str, list[str]]
WARNINGS: list[ROW] = [
    (
        Ingress,
        "metadata: {annotations: {kubernetes.io/ingress.class: nginx}}",
        [
            'annotation "kubernetes.io/ingress.class" is deprecated, please use '
            "'spec.ingressClassName' instead"
        ],
    ),
    (
        Ingress,
        "{metadata: {annotations: {kubernetes.io/ingress.class: nginx}}, spec: {ingressClassName: nginx}}",
        [],
    ),
]


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


@pytest.mark.parametrize(("kind", "text", "expected"), WARNINGS)
def test_warnings_about_ingress_are_returned(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected


CELLS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Ingress,
        "spec: {rules: [{host: a}, {}, {host: b}, {host: c}, {}]}\n"
        "status: {loadBalancer: {ingress: [{ip: 1.2.3.9}, {hostname: h}, {ip: 1.2.3.4}, {ip: 1.2.3.4}]}}",
        ["x", "<none>", "a,b,c + 2 more...", "1.2.3.4,1.2.3.9,h", "80", "5m"],
    ),
    (Ingress, "spec: {rules: [{host: a}, {host: b}, {host: c}]}", ["x", "<none>", "a,b,c", "", "80", "5m"]),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_cells_of_ingress_follow_kubernetes(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected
