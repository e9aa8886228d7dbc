"""Decisions about snapshots, as tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from podling.api.core_v1 import ObjectReference
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.volumes.snapshots.kinds import (
    ContentSource,
    ContentSpec,
    ContentStatus,
    SnapshotSource,
    SnapshotSpec,
    VolumeSnapshot,
    VolumeSnapshotContent,
)
from podling.controllers.volumes.snapshots.snapshot_rules import (
    content_name,
    handle_for,
    is_handle,
    points_at,
    status_for,
)

SNAPSHOT = VolumeSnapshot(metadata=ObjectMeta(name="snap", namespace="default", uid="u-1"))


def content(uid: str = "u-1", namespace: str = "default", name: str = "snap") -> VolumeSnapshotContent:
    reference = ObjectReference(name=name, namespace=namespace, uid=uid)
    return VolumeSnapshotContent(
        metadata=ObjectMeta(name="content", uid="c-1"), spec=ContentSpec(volume_snapshot_ref=reference)
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (content(), True),
        (content(uid=""), True),
        (content(uid="u-2"), False),
        (content(namespace="other"), False),
        (content(name="other"), False),
    ],
)
def test_content_and_snapshot_point_at_each_other(found: VolumeSnapshotContent, expected: bool) -> None:
    assert points_at(found, SNAPSHOT) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("snapshot-0b9c8c6e-3f3c-4d0e-9c7a-111111111111", True),
        ("snapshot-", False),
        ("snapshot-x", False),
        ("snapshot-1/../pvc-1", False),
        ("snapshot-1\n", False),
        ("pvc-0b9c8c6e", False),
        ("", False),
    ],
)
def test_directories_of_snapshots_have_their_own_names(name: str, expected: bool) -> None:
    assert is_handle(name) == expected


def test_names_follow_the_objects() -> None:
    assert content_name(SNAPSHOT) == "snapcontent-u-1"
    source = SnapshotSource(volume_snapshot_content_name="by-hand")
    assert content_name(replace(SNAPSHOT, spec=SnapshotSpec(source=source))) == "by-hand"
    assert handle_for(content()) == "snapshot-c-1"
    existing = ContentSpec(source=ContentSource(snapshot_handle="snapshot-7"))
    assert handle_for(replace(content(), spec=existing)) == "snapshot-7"


def test_status_of_the_snapshot_follows_its_content() -> None:
    stored = ContentStatus(creation_time=1_700_000_000_123_456_789, ready_to_use=True, restore_size=4096)
    status = status_for(SNAPSHOT, replace(content(), status=stored))
    assert status.creation_time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (status.ready_to_use, status.restore_size) == (True, "4096")
    assert status_for(SNAPSHOT, content()).ready_to_use is False
