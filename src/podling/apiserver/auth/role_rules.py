"""Rules of roles, written short: verbs that belong together, and what many roles allow."""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.rbac_v1 import PolicyRule

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
UPDATE = ("patch", "update")
EVENTS = ("create", "patch", "update")


def rule(verbs: Sequence[str], groups: str, resources: str, names: str = "") -> PolicyRule:
    """Return a rule; groups, resources and names are separated by spaces, ``core`` is the empty group."""
    return PolicyRule(
        verbs=tuple(verbs),
        api_groups=tuple("" if group == "core" else group for group in groups.split()),
        resources=tuple(resources.split()),
        resource_names=tuple(names.split()),
    )


def paths(*urls: str) -> PolicyRule:
    return PolicyRule(verbs=("get",), non_resource_urls=urls)


RECORD_EVENTS = rule(EVENTS, "core events.k8s.io", "events")
ASK_ABOUT_RIGHTS = (
    rule(("create",), "authentication.k8s.io", "tokenreviews"),
    rule(("create",), "authorization.k8s.io", "subjectaccessreviews"),
)
