"""Snapshots with which the volume of a claim can begin; with a cluster: ``test_controller``."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling import clock
from podling.api.core_v1 import PersistentVolumeClaim
from podling.controllers.volumes.snapshots.kinds import VolumeSnapshot, VolumeSnapshotContent
from podling.controllers.volumes.snapshots.restoring import ALLOW_MODE_CHANGE, check
from podling.controllers.volumes.volume_sources import NotReady, NoVolume
from podling.machinery.moments import shifted

CLAIM = {
    "metadata": {"name": "copy", "namespace": "default"},
    "spec": {"resources": {"requests": {"storage": "1Gi"}}},
}
REFERENCE = {"name": "snap", "namespace": "default", "uid": "u-1"}


def pair(
    snapshot: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **status: Any
) -> tuple[VolumeSnapshot, VolumeSnapshotContent]:
    metadata = {"name": "snap", "namespace": "default", "uid": "u-1", **(snapshot or {})}
    ready = {"readyToUse": True, "boundVolumeSnapshotContentName": "content"}
    stored = {"readyToUse": True, "snapshotHandle": "snapshot-1", "restoreSize": 1 << 20, **status}
    given = {"driver": "podling.local/directory", "sourceVolumeMode": "Filesystem", **(spec or {})}
    content = {"spec": {"volumeSnapshotRef": REFERENCE, **given}, "metadata": {"name": "content"}}
    return (
        msgspec.convert({"metadata": metadata, "status": ready}, VolumeSnapshot),
        msgspec.convert({**content, "status": stored}, VolumeSnapshotContent),
    )


def test_snapshot_that_fits_is_a_source() -> None:
    claim = msgspec.convert(CLAIM, PersistentVolumeClaim)
    check(claim, *pair())
    check(claim, *pair(restoreSize=1 << 30))
    snapshot, content = pair(spec={"sourceVolumeMode": "Block"})
    allowed = msgspec.structs.replace(content.metadata, annotations={ALLOW_MODE_CHANGE: "true"})
    check(claim, snapshot, msgspec.structs.replace(content, metadata=allowed))


@pytest.mark.parametrize(
    ("found", "error", "message"),
    [
        (pair(restoreSize=(1 << 30) + 1), NoVolume, "1073741824 is less than the size 1073741825"),
        (pair(spec={"driver": "other"}), NoVolume, "is of driver other"),
        (pair(spec={"sourceVolumeMode": "Block"}), NoVolume, "modifies the mode of the source volume"),
        (pair({"uid": "u-2"}), NoVolume, "is bound to a different snapshot"),
        (pair(snapshotHandle=""), NotReady, "snapshot snap is not Ready"),
        (pair(snapshotHandle="pvc-1"), NotReady, "snapshot snap is not Ready"),
    ],
)
def test_snapshot_that_does_not_fit_is_refused(
    found: tuple[VolumeSnapshot, VolumeSnapshotContent], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        check(msgspec.convert(CLAIM, PersistentVolumeClaim), *found)


def test_deleted_snapshot_is_no_source() -> None:
    snapshot, content = pair()
    deleted = msgspec.structs.replace(snapshot.metadata, deletion_timestamp=shifted(clock.now(), 0))
    with pytest.raises(NotReady, match="snapshot snap is currently being deleted"):
        check(
            msgspec.convert(CLAIM, PersistentVolumeClaim),
            msgspec.structs.replace(snapshot, metadata=deleted),
            content,
        )
