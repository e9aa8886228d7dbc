"""Images that stay in a node's record, and those that fail as the node is silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.api.core_v1 import ObjectReference
from podling.machinery.encoding import codec
from podling_kruise.imagepull.node_rules import remaining_spec, silences
from podling_kruise.imagepull.types import NodeImage

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
START = "2026-01-01T00:00:00Z"


def node_image(
    policy: dict[str, Any], status: dict[str, Any] | None, owners: tuple[str, ...] = ()
) -> NodeImage:
    """Return a record with version 2 of one tag, created at the start."""
    references = [{"uid": each} for each in owners]
    tag = {"tag": "1", "version": 2, "createdAt": START, "pullPolicy": policy, "ownerReferences": references}
    shown = [{"tag": "1", **status}] if status is not None else []
    plain = {
        "metadata": {"name": "n1"},
        "spec": {"images": {"web": {"tags": [tag]}}},
        "status": {"imageStatuses": {"web": {"tags": shown}}},
    }
    return codec.from_plain(plain, NodeImage)


def has_job(owner: ObjectReference) -> bool:
    return owner.uid == "there"


TTL = {"ttlSecondsAfterFinished": 60}
DONE = {"version": 2, "completionTime": START}


@pytest.mark.parametrize(
    ("policy", "status", "owners", "seconds", "stays", "left"),
    [
        (TTL, DONE, (), 59, True, 1),
        (TTL, DONE, (), 60, False, None),
        (TTL, {**DONE, "version": 1}, (), 60, True, None),
        (TTL, {"version": 2}, (), 60, True, None),
        (TTL, None, (), 60, True, None),
        ({}, DONE, (), 60, True, None),
        ({}, DONE, ("gone",), 1, False, None),
        ({}, DONE, ("gone", "there"), 1, True, None),
    ],
)
def test_tag_stays_while_a_job_wants_it_and_its_time_is_not_over(
    policy: dict[str, Any],
    status: dict[str, Any] | None,
    owners: tuple[str, ...],
    seconds: int,
    stays: bool,
    left: float | None,
) -> None:
    found = node_image(policy, status, owners)
    spec, wait = remaining_spec(found, has_job, BEGIN + timedelta(seconds=seconds))
    assert (bool(spec.images), wait) == (stays, left)
    if stays:
        assert [each.uid for each in spec.images["web"].tags[0].owner_references] == [
            each for each in owners if each == "there"
        ]


NO_RESPONSE = "node has not responded for a long time"
DEADLINE = {"activeDeadlineSeconds": 60}


@pytest.mark.parametrize(
    ("policy", "status", "seconds", "message", "left"),
    [
        ({}, None, 599, "", 1),
        ({}, None, 600, NO_RESPONSE, None),
        ({}, {"version": 1}, 600, NO_RESPONSE, None),
        ({}, {"version": 2}, 600, "", None),
        (DEADLINE, {"version": 2}, 659, "", 1),
        (DEADLINE, {"version": 2}, 660, "pulling exceeds the activeDeadlineSeconds", None),
        (DEADLINE, DONE, 660, "", None),
    ],
)
def test_tag_fails_when_the_node_is_silent_for_too_long(
    policy: dict[str, Any], status: dict[str, Any] | None, seconds: int, message: str, left: float | None
) -> None:
    found, wait = silences(node_image(policy, status), BEGIN + timedelta(seconds=seconds))
    assert [each.status.message for each in found] == ([message] if message else [])
    assert wait == left
    assert all((each.name, each.status.phase, each.status.version) == ("web", "Failed", 2) for each in found)
