"""Rights of each default ClusterRole, compared with Kubernetes' own roles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest

from podling.api.rbac_v1 import PolicyRule
from podling.apiserver.auth.default_roles import bootstrap_roles
from podling.apiserver.auth.role_rules import READ, WRITE

TABLE = Path(__file__).parents[3] / "support" / "upstream_roles.txt"
Right = tuple[str, str, str, str]
"""Verb, group (``paths`` for paths), resource or path, and name."""

BEYOND_KUBERNETES = {
    # Kubernetes' node authoriser allows these to a node by itself, for its own slices; here admission holds a
    # node to its own.
    "system:node": {
        (verb, "resource.k8s.io", "resourceslices", "")
        for verb in ("create", "delete", *READ, "patch", "update")
    },
}
AGGREGATED = {
    "view": ("view",),
    "edit": ("view", "edit"),
    "admin": ("view", "edit", "admin"),
}


def expected() -> dict[str, set[Right]]:
    """Return the rights of Kubernetes' roles, by role."""
    found: dict[str, set[Right]] = {}
    name = ""
    for line in TABLE.read_text().splitlines():
        parts = [part.split() for part in line.split(" | ")]
        if line.startswith("#"):
            continue
        if len(parts) == 1:
            name = line
            found[name] = set()
            continue
        verbs = [verb for each in parts[0] for verb in {"READ": READ, "WRITE": WRITE}.get(each, (each,))]
        groups = ["" if group == "core" else group for group in parts[1]]
        names = parts[3] if len(parts) > 3 else [""]
        found[name].update(product(verbs, groups, parts[2], names))
    return found


def rights(rules: Iterable[PolicyRule]) -> Iterator[Right]:
    for rule in rules:
        yield from product(rule.verbs, rule.api_groups, rule.resources, rule.resource_names or ("",))
        yield from product(rule.verbs, ("paths",), rule.non_resource_urls, ("",))


METRICS_READER = "system:aggregated-metrics-reader"
KUBERNETES = expected()
ROLES = {role.metadata.name or "": role for role in bootstrap_roles()}


def test_default_roles_have_the_names_of_kubernetes() -> None:
    assert set(ROLES) == {*KUBERNETES, *AGGREGATED, "podling:node-network", METRICS_READER}


def test_everyone_who_may_view_may_read_use() -> None:
    """With the rights and the labels of metrics-server's manifest."""
    role = ROLES[METRICS_READER]
    assert set(rights(role.rules)) == {*product(READ, ("metrics.k8s.io",), ("nodes", "pods"), ("",))}
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    labels = {name for name in role.metadata.labels if name.startswith(prefix)}
    assert labels == {f"{prefix}{name}" for name in ("admin", "edit", "view")}


def test_networks_of_nodes_only_read() -> None:
    assert {verb for verb, *_ in rights(ROLES["podling:node-network"].rules)} == {"list", "watch"}


@pytest.mark.parametrize("name", KUBERNETES)
def test_role_grants_the_same_rights_as_in_kubernetes(name: str) -> None:
    found = set(rights(ROLES[name].rules))
    assert found - KUBERNETES[name] == BEYOND_KUBERNETES.get(name, set())
    assert KUBERNETES[name] - found == set()


@pytest.mark.parametrize("name", AGGREGATED)
def test_aggregated_role_grants_the_rights_of_its_parts(name: str) -> None:
    wanted = set[Right]().union(*(KUBERNETES[f"system:aggregate-to-{part}"] for part in AGGREGATED[name]))
    assert set(rights(ROLES[name].rules)) == wanted
    rule = ROLES[name].aggregation_rule
    assert rule is not None
    (selector,) = rule.cluster_role_selectors
    assert selector.match_labels == {f"rbac.authorization.k8s.io/aggregate-to-{name}": "true"}


def test_aggregated_roles_may_not_write_endpoints_or_status() -> None:
    for name in AGGREGATED:
        for _, group, resource, _ in (right for right in rights(ROLES[name].rules) if right[0] in WRITE):
            assert (group, resource) not in {("", "endpoints"), ("discovery.k8s.io", "endpointslices")}
            assert not resource.endswith("/status")
