"""Attributes of requests for authorisation, and the messages of refusals."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Namespace, Node, Pod
from podling.apiserver.auth.authz import SELECTOR_MAX, attributes_of, refusal
from podling.apiserver.auth.rbac import Attributes
from podling.client.requests import Target, User
from podling.machinery.scheme import resource_of

PODS, NODES = resource_of(Pod), resource_of(Node)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target(PODS, "ns", "p", "log"), Attributes("get", "", "pods", "log", "ns", "p")),
        (Target(resource_of(Deployment), "ns"), Attributes("get", "apps", "deployments", "", "ns", "")),
        (Target(resource_of(Namespace), "", "ns"), Attributes("get", "", "namespaces", "", "ns", "ns")),
        (Target(NODES, "", "n1"), Attributes("get", "", "nodes", "", "", "n1")),
    ],
)
def test_attributes_name_the_resource_and_namespace(target: Target, expected: Attributes) -> None:
    assert attributes_of("get", target) == expected


@pytest.mark.parametrize(
    ("selector", "name", "on_node"),
    [
        ("", "", ""),
        ("metadata.name=a", "a", ""),
        ("metadata.name!=a", "", ""),
        ("spec.nodeName=n1", "", "n1"),
        ("metadata.name=a,spec.nodeName==n1", "a", "n1"),
        ("metadata.name", "", ""),
        ("metadata.name=" + "a" * SELECTOR_MAX, "", ""),
    ],
)
def test_field_selector_of_one_name_or_node_is_an_attribute(selector: str, name: str, on_node: str) -> None:
    found = attributes_of("list", Target(PODS, "ns"), selector)
    assert (found.name, found.on_node) == (name, on_node)


def test_name_in_the_path_wins_over_the_field_selector() -> None:
    assert attributes_of("list", Target(PODS, "ns", "p"), "metadata.name=a").name == "p"


def test_node_name_selects_the_node_of_pods_alone() -> None:
    assert attributes_of("list", Target(NODES), "spec.nodeName=n1").on_node == ""


@pytest.mark.parametrize(
    ("user", "asked", "reason", "message"),
    [
        (
            "ann",
            Attributes("get", "", "pods", "", "ns", "p"),
            "",
            'pods "p" is forbidden: User "ann" cannot get resource "pods" in API group "" '
            'in the namespace "ns"',
        ),
        (
            "ann",
            Attributes("update", "apps", "deployments", "scale", "ns", "d"),
            "",
            'deployments.apps "d" is forbidden: User "ann" cannot update resource "deployments/scale" '
            'in API group "apps" in the namespace "ns"',
        ),
        (
            "ann",
            Attributes("list", "", "nodes", "", "", ""),
            "RBAC: broken",
            'nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster '
            "scope: RBAC: broken",
        ),
        (
            "<b>",
            Attributes("get", path="/<script>"),
            "",
            'forbidden: User "&lt;b&gt;" cannot get path "/&lt;script&gt;"',
        ),
    ],
)
def test_refusal_names_user_verb_and_resource(
    user: str, asked: Attributes, reason: str, message: str
) -> None:
    error = refusal(User(user, ()), asked, reason)
    assert (error.code, error.reason, str(error)) == (403, "Forbidden", message)
