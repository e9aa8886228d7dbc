"""Selectors of lists, watches and deletions of collections."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap, Pod
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.kinds.registry import rules_for
from podling.apiserver.registry.selection import selection
from podling.client.requests import ListOptions
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from tests.support.manifests import obj

POD = obj(
    Pod,
    """
    metadata: {name: p, namespace: ns, labels: {app: web}}
    spec: {nodeName: n1, containers: [{name: c, image: i}]}
    status: {phase: Running}
    """,
)


@pytest.mark.parametrize(
    ("labels", "fields", "matches"),
    [
        ("", "", True),
        ("app=web", "", True),
        ("app=db", "", False),
        ("", "metadata.name=p", True),
        ("", "metadata.namespace!=ns", False),
        ("", "spec.nodeName=n1,status.phase=Running", True),
        ("", "spec.nodeName=n1,status.phase=Failed", False),
        ("app=web", "spec.nodeName=n2", False),
        ("app=db", "spec.nodeName=n1", False),
    ],
)
def test_object_must_match_labels_and_fields(labels: str, fields: str, matches: bool) -> None:
    found = selection(
        ListOptions(label_selector=labels, field_selector=fields), partial(rules_for, resource_of(Pod))
    )
    assert found.matches(POD) == matches
    assert found.everything == (not labels and not fields)


@pytest.mark.parametrize(
    ("fields", "name"),
    [("", ""), ("metadata.name=a", "a"), ("metadata.name!=a", ""), ("metadata.namespace=b", "")],
)
def test_required_field_value_is_found(fields: str, name: str) -> None:
    assert (
        selection(ListOptions(field_selector=fields), partial(rules_for, resource_of(Pod))).exactly(
            "metadata.name"
        )
        == name
    )


@pytest.mark.parametrize(
    ("kind", "labels", "fields", "message"),
    [
        (Pod, "", "spec.priority=1", "field label not supported: spec.priority"),
        (
            ConfigMap,
            "",
            "data.k=v",
            '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (Pod, "a in", "", ""),
        (Pod, "", "metadata.name", ""),
    ],
)
def test_unknown_field_or_malformed_selector_is_a_bad_request(
    kind: type, labels: str, fields: str, message: str
) -> None:
    with pytest.raises(ApiError) as error:
        selection(
            ListOptions(label_selector=labels, field_selector=fields), partial(rules_for, resource_of(kind))
        )
    assert (error.value.code, error.value.reason) == (400, "BadRequest")
    assert message in str(error.value)


@pytest.mark.parametrize("fields", ["", "metadata.name=x", "metadata.namespace=y,metadata.name!=x"])
def test_only_a_selector_of_its_own_fields_loads_the_rules_of_a_kind(fields: str) -> None:
    def rules() -> KindRules[Any]:
        raise AssertionError("loaded without need")

    assert selection(ListOptions(label_selector="a=b", field_selector=fields), rules).labels.empty is False
    with pytest.raises(AssertionError, match="without need"):
        selection(ListOptions(field_selector="spec.nodeName=n"), rules)
