"""Tests of the default rules of kinds."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node
from podling.apiserver.kinds.common.base import Context, KindRules
from tests.support.manifests import NOW, obj

OLD = "{metadata: {name: n, labels: {a: old}}, spec: {providerID: old}, status: {phase: old}}"
NEW = "{metadata: {name: n, labels: {a: new}}, spec: {providerID: new}, status: {phase: new}}"


class StatusRules(KindRules[Node]):
    """Rules of a kind with a status subresource."""

    status_subresource = True


class StatusOnlyRules(StatusRules):
    """Rules of a kind whose status writers change no metadata."""

    status_keeps_metadata = True


@pytest.mark.parametrize(
    ("rules", "subresource", "expected"),
    [
        (KindRules[Node](), "", ("new", "new", "new")),
        (StatusRules(), "", ("new", "new", "old")),
        (StatusRules(), "status", ("new", "old", "new")),
        (StatusOnlyRules(), "status", ("old", "old", "new")),
    ],
)
def test_subresource_decides_which_fields_an_update_changes(
    rules: KindRules[Node], subresource: str, expected: tuple[str, str, str]
) -> None:
    context = Context(NOW, subresource=subresource)
    made = rules.prepare_update(obj(Node, NEW), obj(Node, OLD), context)
    assert (made.metadata.labels["a"], made.spec.provider_id, made.status.phase) == expected


def test_creation_resets_status_of_kinds_with_the_subresource() -> None:
    assert StatusRules().prepare_create(obj(Node, NEW), Context(NOW)).status.phase == ""
    assert KindRules[Node]().prepare_create(obj(Node, NEW), Context(NOW)).status.phase == "new"
