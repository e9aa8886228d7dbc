"""Equality, order and surplus of revisions.

The orders are cases of controller_history_test.go.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PodTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.revisions import by_number, equal, surplus, template_data, template_of
from podling.sim.loop import EPOCH
from tests.support.workloads import template

PLAIN = template("web:1", app="web")


def revision(data: Any) -> ControllerRevision:
    return ControllerRevision(data=data, revision=1)


def spelt(**spec: Any) -> dict[str, Any]:
    data = template_data(PLAIN)
    data["spec"]["template"]["spec"] |= spec
    return data


@pytest.mark.parametrize(
    ("data", "same"),
    [
        (spelt(), True),
        (spelt(hostNetwork=False, hostname="", nodeSelector={}), True),
        (spelt(nodeName=None, volumes=None), True),
        (spelt(enableServiceLinks=False), False),
        (spelt(hostNetwork=True), False),
        ({**spelt(hostNetwork=False), "more": 1}, False),
        (spelt(containers="none"), False),
        ({"spec": {"template": []}}, False),
        ("text", False),
    ],
)
def test_zeros_and_nulls_make_no_other_revision(data: Any, same: bool) -> None:
    assert equal(revision(template_data(PLAIN)), revision(data)) is same
    assert equal(revision(data), revision(template_data(PLAIN))) is same


def test_template_is_read_with_explicit_defaults() -> None:
    found: PodTemplateSpec = template_of(revision(spelt(nodeName=None, hostNetwork=False)))
    assert found == PLAIN


# names, numbers and seconds of creation of revisions, in the order that they get
ORDERS: list[list[tuple[str, int, int]]] = [
    [],
    [("a", 1, 0), ("b", 2, 0), ("c", 3, 0)],
    [("c", 1, 0), ("b", 2, 0), ("a", 3, 0)],
    [("c", 1, 9), ("b", 3, 0), ("a", 3, 1)],
    [("a", 3, 0), ("b", 3, 1), ("c", 3, 1)],
]


def numbered(name: str, number: int, seconds: int) -> ControllerRevision:
    metadata = ObjectMeta(name=name, creation_timestamp=EPOCH + timedelta(seconds=seconds))
    return ControllerRevision(metadata=metadata, revision=number)


@pytest.mark.parametrize("order", ORDERS, ids=["empty", "by number", "not by name", "by age", "by name"])
def test_revisions_are_ordered_by_number_then_age_then_name(order: list[tuple[str, int, int]]) -> None:
    revisions = [numbered(*each) for each in order]
    names = [name for name, _, _ in order]
    assert [each.metadata.name for each in by_number(revisions)] == names
    assert [each.metadata.name for each in by_number(revisions[::-1])] == names


def test_older_of_two_revisions_with_one_number_is_surplus() -> None:
    old, young = numbered("z", 1, 0), numbered("a", 1, 1)
    assert surplus([young, old], (), 1) == [old]
