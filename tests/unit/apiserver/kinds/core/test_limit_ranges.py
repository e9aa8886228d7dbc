"""Tests of the rules of LimitRanges."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import LimitRange
from podling.machinery import names
from tests.support.causes import Cause, KindRow, forbidden, invalid, required
from tests.support.manifests import created, creation_causes, obj

(BAD_KEY,) = names.qualified_name_errors("a b")
NEW_OBJECTS: list[KindRow] = [
    (
        LimitRange,
        "spec: {limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]}",
        [
            invalid("spec.limits[0].min[cpu]", '"2"', "min value 2 is greater than max value 1"),
            invalid(
                "spec.limits[0].defaultRequest[cpu]",
                '"1"',
                "min value 2 is greater than default request value 1",
            ),
            invalid("spec.limits[0].default[cpu]", '"2"', "min value 2 is greater than default value 1"),
        ],
    ),
    (
        LimitRange,
        "spec: {limits: [{type: 'a b', max: {cpu: 1}}, {type: Volume, max: {cpu: 1}}]}",
        [
            invalid("spec.limits[0].type", '"a b"', BAD_KEY),
            invalid("spec.limits[1].type", '"Volume"', "must be a standard limit type or fully qualified"),
        ],
    ),
    (
        LimitRange,
        "spec: {limits: [{type: PersistentVolumeClaim, maxLimitRequestRatio: {bytes: 1}}]}",
        [
            required(
                "spec.limits[0].limits",
                "either minimum or maximum storage value is required, but neither was provided",
            ),
            invalid(
                "spec.limits[0].maxLimitRequestRatio[bytes]",
                '"bytes"',
                "must be a standard resource type or fully qualified",
            ),
        ],
    ),
    (
        LimitRange,
        "spec: {limits: [{type: Pod, max: {cpu: 1}, default: {cpu: 2}}]}",
        [forbidden("spec.limits[0].default", "may not be specified when `type` is 'Pod'")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_limit_range_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


def test_default_request_of_limit_range_is_the_limit() -> None:
    text = "spec: {limits: [{type: Container, max: {cpu: 2}, default: {memory: 1Gi}, min: {memory: 1Mi}}]}"
    (item,) = created(obj(LimitRange, text)).spec.limits
    assert item.default == {"cpu": "2", "memory": "1Gi"}
    assert item.default_request == {"cpu": "2", "memory": "1Gi"}
