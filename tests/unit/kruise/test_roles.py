"""Rights of users on OpenKruise's kinds."""

from __future__ import annotations

import pytest

from podling.api.rbac_v1 import ClusterRole
from podling_kruise.extension import KruiseExtension
from podling_kruise.roles import roles


@pytest.mark.parametrize(
    ("role", "verb", "allowed"),
    [("view", "get", True), ("view", "update", False), ("edit", "update", True), ("admin", "delete", True)],
)
def test_roles_of_namespaces_include_every_kind(role: str, verb: str, allowed: bool) -> None:
    label = f"rbac.authorization.k8s.io/aggregate-to-{role}"
    found = [each for each in roles() if isinstance(each, ClusterRole) and each.metadata.labels.get(label)]
    rules = [rule for each in found for rule in each.rules]
    granted = {name for rule in rules if verb in rule.verbs for name in rule.resources}
    kinds = {
        each.spec.names.plural for each in KruiseExtension().definitions() if each.spec.scope == "Namespaced"
    }
    assert (kinds <= granted) is allowed
