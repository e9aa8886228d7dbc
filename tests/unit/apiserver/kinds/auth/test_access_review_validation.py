"""Tests of the validation of access reviews."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.authorization_v1 import (
    LocalSubjectAccessReview,
    SelfSubjectAccessReview,
    SubjectAccessReview,
)
from podling.apiserver.kinds.auth.access_review_validation import (
    access_errors,
    local_access_errors,
    self_access_errors,
)
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.causes import Cause, causes, forbidden, invalid, required
from tests.support.manifests import obj

PODS: dict[str, Any] = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
ONE_OF_TWO = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
FIELDS, LABELS = "spec.resourceAttributes.fieldSelector", "spec.resourceAttributes.labelSelector"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("spec: {resourceAttributes: null}", [invalid("spec", "null", ONE_OF_TWO)]),
        (
            "spec: {nonResourceAttributes: {path: /a}}",
            [invalid("spec", '{"path":"/a"}', ONE_OF_TWO)],
        ),
        ("metadata: {name: x}", [invalid("metadata", '{"name":"x"}', "must be empty")]),
        (
            "spec: {resourceAttributes: {fieldSelector: {}}}",
            [
                required(
                    f"{FIELDS}.requirements",
                    f"when {FIELDS} is specified, requirements or rawSelector is required",
                )
            ],
        ),
        (
            "spec: {resourceAttributes: {fieldSelector: {requirements: [{operator: In}, {operator: Like}]}}}",
            [
                required(f"{FIELDS}.requirements[0].key", "must be specified"),
                required(
                    f"{FIELDS}.requirements[0].values",
                    "must be specified when `operator` is 'In' or 'NotIn'",
                ),
                required(f"{FIELDS}.requirements[1].key", "must be specified"),
            ],
        ),
        (
            "spec: {resourceAttributes: {labelSelector: "
            "{rawSelector: a, requirements: [{key: a, operator: Exists, values: [b]}]}}}",
            [
                invalid(f"{LABELS}.rawSelector", '"a"', "may not specified at the same time as requirements"),
                forbidden(
                    f"{LABELS}.requirements[0].values",
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ),
            ],
        ),
    ],
)
def test_invalid_self_review_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert causes(self_access_errors(obj(SelfSubjectAccessReview, text, PODS))) == expected


BOBS: dict[str, Any] = {"spec": {"user": "bob", **PODS["spec"]}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("spec: {user: null, groups: [g]}", []),
        (
            "spec: {user: null}",
            [invalid("spec.user", '""', "at least one of user or group must be specified")],
        ),
    ],
)
def test_invalid_review_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert causes(access_errors(obj(SubjectAccessReview, text, BOBS))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec: {resourceAttributes: {namespace: here}}", []),
        (
            "",
            [invalid("spec.resourceAttributes.namespace", '""', "must match metadata.namespace")],
        ),
        (
            "metadata: {name: x, namespace: here}\n"
            "spec: {resourceAttributes: null, nonResourceAttributes: {path: /a}}",
            [
                invalid("metadata", '{"name":"x","namespace":"here"}', "must be empty except for namespace"),
                invalid("spec.nonResourceAttributes", '{"path":"/a"}', "disallowed on this kind of request"),
            ],
        ),
    ],
)
def test_invalid_local_review_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    review = obj(LocalSubjectAccessReview, text, BOBS)
    assert causes(local_access_errors(review, "here")) == expected


async def test_access_review_may_not_have_a_name(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError) as caught:
        await cluster.client.create(SubjectAccessReview())
    assert caught.value.code == 422
    assert str(caught.value).startswith('.authorization.k8s.io "" is invalid: [spec: Invalid value: null: ')
