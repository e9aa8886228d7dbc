"""Selectors in access reviews, and those that cannot be parsed."""

from __future__ import annotations

import pytest

from podling.api.authorization_v1 import (
    FieldSelectorAttributes,
    LabelSelectorAttributes,
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from podling.api.meta_v1 import FieldSelectorRequirement as Field
from podling.api.meta_v1 import LabelSelectorRequirement as Label
from podling.apiserver.auth.review_selectors import unread_labels, wanted_fields
from podling.testing import ControlPlane

IGNORED = "spec.resourceAttributes.%s ignored due to parse error"
PARTLY = "spec.resourceAttributes.%s partially ignored due to parse error"
ONE, OTHER = Field(key="a", operator="In", values=("b",)), Field(key="c", operator="NotIn", values=("d",))


@pytest.mark.parametrize(
    ("selector", "found", "told"),
    [
        (None, {}, ""),
        (FieldSelectorAttributes(raw_selector="a=b,c!=d"), {"a": "b"}, ""),
        (FieldSelectorAttributes(raw_selector="a"), {}, IGNORED),
        (FieldSelectorAttributes(requirements=(ONE, OTHER)), {"a": "b"}, ""),
        (FieldSelectorAttributes(requirements=(Field(key="a", operator="Exists"),)), {}, IGNORED),
        (
            FieldSelectorAttributes(requirements=(ONE, Field(key="e", operator="In", values=("f", "g")))),
            {"a": "b"},
            PARTLY,
        ),
    ],
)
def test_field_selector_becomes_requirements_or_an_error(
    selector: FieldSelectorAttributes | None, found: dict[str, str], told: str
) -> None:
    assert wanted_fields(selector) == (found, told and told % "fieldSelector")


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        (None, ""),
        (LabelSelectorAttributes(raw_selector="a in (b),!c"), ""),
        (LabelSelectorAttributes(raw_selector="a in b"), IGNORED),
        (LabelSelectorAttributes(requirements=(Label(key="a", operator="Exists"),)), ""),
        (LabelSelectorAttributes(requirements=(Label(key="a", operator="Like"),)), IGNORED),
        (
            LabelSelectorAttributes(
                requirements=(Label(key="a", operator="Exists"), Label(key="b", operator="In"))
            ),
            PARTLY,
        ),
    ],
)
def test_unreadable_label_selector_is_reported(selector: LabelSelectorAttributes | None, told: str) -> None:
    assert unread_labels(selector) == (told and told % "labelSelector")


async def test_access_review_reports_unreadable_selectors(cluster: ControlPlane) -> None:
    asked = ResourceAttributes(
        verb="list",
        resource="pods",
        field_selector=FieldSelectorAttributes(raw_selector="a"),
        label_selector=LabelSelectorAttributes(raw_selector="a in b"),
    )
    review = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=asked))
    status = (await cluster.client.create(review)).status
    assert status.allowed
    assert status.evaluation_error == f"[{IGNORED % 'fieldSelector'}, {IGNORED % 'labelSelector'}]"


@pytest.mark.parametrize(("node", "is_own"), [("n1", True), ("n2", False)])
async def test_node_lists_its_own_pods_as_a_node(cluster: ControlPlane, node: str, is_own: bool) -> None:
    """It lists others by the role of its network, which has to know the pods of every node."""
    asked = ResourceAttributes(
        verb="list",
        resource="pods",
        field_selector=FieldSelectorAttributes(raw_selector=f"spec.nodeName={node}"),
    )
    spec = SubjectAccessReviewSpec(user="system:node:n1", groups=("system:nodes",), resource_attributes=asked)
    status = (await cluster.client.create(SubjectAccessReview(spec=spec))).status
    assert status.allowed
    assert ("podling:node-network" in status.reason) is not is_own
