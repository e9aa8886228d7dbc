"""Tests of the rules of IngressClasses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.networking_v1 import IngressClass
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, forbidden, invalid, required, too_long, unsupported
from tests.support.manifests import change_causes, created, creation_causes, obj

VALID: dict[type[Any], dict[str, Any]] = {
    IngressClass: {"metadata": {"name": "x"}, "spec": {"controller": "example.com/nginx"}},
}


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_valid_ingress_class_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


INVALID: list[KindRow] = [
    (IngressClass, "spec: {controller: ''}", [required("spec.controller")]),
    (
        IngressClass,
        "spec: {controller: nginx}",
        [invalid("spec.controller", '"nginx"', 'must be a domain-prefixed path (such as "acme.io/foo")')],
    ),
    (
        IngressClass,
        f"spec: {{controller: example.com/{'a' * 250}}}",
        [too_long("spec.controller", 250)],
    ),
    (
        IngressClass,
        "spec: {parameters: {kind: K, name: n, namespace: default}}",
        [forbidden("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'")],
    ),
    (
        IngressClass,
        "spec: {parameters: {kind: K, name: n, scope: Namespace}}",
        [required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'")],
    ),
    (
        IngressClass,
        "spec: {parameters: {kind: K, name: n, scope: Galaxy}}",
        [unsupported("spec.parameters.scope", "Galaxy", "Cluster", "Namespace")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_ingress_class_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            IngressClass,
            "spec: {controller: example.com/haproxy}",
            [invalid("spec.controller", '"example.com/haproxy"', "field is immutable")],
        ),
    ],
)
def test_change_of_ingress_class_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


def test_parameters_of_ingress_class_default_to_cluster_scope() -> None:
    made = created(obj(IngressClass, "spec: {parameters: {kind: K, name: n}}", VALID[IngressClass]))
    assert codec.to_plain(made.spec.parameters) == {"kind": "K", "name": "n", "scope": "Cluster"}
