"""Tests of completion index lists."""

from __future__ import annotations

import pytest

from podling.api.batch_v1 import Job
from tests.support.causes import invalid
from tests.support.manifests import INDEXED, PLAIN_JOB, created, creation_causes, obj

SUCCESS = "spec.successPolicy.rules[0]"


def success_rule(text: str) -> str:
    return f"spec: {{{INDEXED}, successPolicy: {{rules: [{{{text}}}]}}}}"


@pytest.mark.parametrize(
    ("indexes", "problem"),
    [
        ("0-2", None),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("1-0", "non-increasing order, previous: 1, current: 0"),
        ("3", 'too large index: "3"'),
        ("a", 'cannot convert string to integer for index: "a"'),
        (
            "0-1-2",
            'the fragment "0-1-2" violates the requirement that an index interval can have at most two parts '
            "separated by '-'",
        ),
    ],
)
def test_list_of_indexes_is_parsed(indexes: str, problem: str | None) -> None:
    found = creation_causes(created(obj(Job, success_rule(f"succeededIndexes: '{indexes}'"), PLAIN_JOB)))
    where, text = f"{SUCCESS}.succeededIndexes", f"error parsing succeededIndexes: {problem}"
    assert found == ([invalid(where, f'"{indexes}"', text)] if problem else [])
