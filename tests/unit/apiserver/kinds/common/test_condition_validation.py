"""Tests of the validation of conditions."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import Condition
from podling.apiserver.kinds.common.condition_validation import condition_errors
from podling.machinery.encoding import codec
from podling.machinery.fields import Path
from tests.support.causes import Cause, causes, duplicate, invalid, required, too_long, unsupported

READY = {"type": "Ready", "status": "True", "reason": "Fine", "lastTransitionTime": "2026-01-01T12:00:00Z"}


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ({}, []),
        ({"reason": "a,b:C_1"}, []),
        ({"status": "Maybe"}, [unsupported("c[0].status", "Maybe", "False", "True", "Unknown")]),
        (
            {"observedGeneration": -1},
            [invalid("c[0].observedGeneration", "-1", "must be greater than or equal to zero")],
        ),
        ({"lastTransitionTime": None}, [required("c[0].lastTransitionTime", "must be set")]),
        ({"reason": ""}, [required("c[0].reason", "must be set")]),
        ({"reason": "a" * 1025}, [too_long("c[0].reason", 1024)]),
        ({"message": "a" * (2**15 + 1)}, [too_long("c[0].message", 2**15)]),
    ],
)
def test_invalid_condition_is_refused_with_causes(fragment: dict[str, object], expected: list[Cause]) -> None:
    condition = codec.convert({**READY, **fragment}, Condition)[0]
    assert causes(condition_errors(Path("c"), [condition])) == expected


@pytest.mark.parametrize("reason", ["1a", "a-b", "a:"])
def test_malformed_reason_is_refused(reason: str) -> None:
    condition = codec.convert({**READY, "reason": reason}, Condition)[0]
    ((field, _, message),) = causes(condition_errors(Path("c"), [condition]))
    assert field == "c[0].reason"
    assert message.startswith(f'Invalid value: "{reason}": a condition reason must start with alphabetic ')


def test_condition_types_are_unique() -> None:
    ready = codec.convert(READY, Condition)[0]
    assert causes(condition_errors(Path("c"), [ready, ready])) == [duplicate("c[1].type", '"Ready"')]
