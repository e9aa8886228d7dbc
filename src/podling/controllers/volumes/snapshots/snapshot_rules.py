"""Decisions about snapshots: class, source, content, status. Pure.

Upstream: ``pkg/common-controller`` and ``pkg/sidecar-controller`` of ``kubernetes-csi/external-snapshotter``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from podling.api.core_v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.volumes.snapshots.definitions import GROUP
from podling.controllers.volumes.snapshots.kinds import (
    ContentSource,
    ContentSpec,
    SnapshotStatus,
    VolumeSnapshot,
    VolumeSnapshotClass,
    VolumeSnapshotContent,
)
from podling.controllers.volumes.volume_migration import PROVISIONED_BY
from podling.machinery.volume_images import ANNOTATION, image_kind

DRIVER = "podling.local/directory"
DEFAULT_CLASS = "snapshot.storage.kubernetes.io/is-default-class"
BOUND_FINALIZER = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
SOURCE_FINALIZER = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
CONTENT_FINALIZER = "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
_HANDLE = re.compile(r"snapshot-[0-9a-f][0-9a-f-]*")


class Refused(Exception):
    """A snapshot that cannot be taken now; ``reason`` is the event's."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def content_name(snapshot: VolumeSnapshot) -> str:
    """Return the name of the content of a snapshot: the one that it names, or the one that is made for it."""
    return snapshot.spec.source.volume_snapshot_content_name or f"snapcontent-{snapshot.metadata.uid}"


def class_for(snapshot: VolumeSnapshot, classes: Iterable[VolumeSnapshotClass]) -> VolumeSnapshotClass:
    """Return the class that the snapshot names, or the default one of the driver. Raises ``Refused``."""
    name = snapshot.spec.volume_snapshot_class_name
    if name is not None:
        for each in classes:
            if each.metadata.name == name:
                return each
        text = f'volumesnapshotclass.{GROUP} "{name}" not found'
        raise Refused("GetSnapshotClassFailed", f"Failed to get snapshot class with error {text}")
    defaults = [
        each
        for each in classes
        if each.driver == DRIVER and each.metadata.annotations.get(DEFAULT_CLASS) == "true"
    ]
    if len(defaults) == 1:
        return defaults[0]
    problem = f"{len(defaults)} default snapshot classes were found"
    if not defaults:
        problem = "cannot find default snapshot class"
    raise Refused(
        "SetDefaultSnapshotClassFailed", f"Failed to set default snapshot class with error {problem}"
    )


def check_source(claim: PersistentVolumeClaim | None, volume: PersistentVolume | None, name: str) -> None:
    """Raise ``Refused`` if no snapshot can be taken of the claim ``name`` with this volume."""
    problem = ""
    if claim is None:
        problem = f'failed to retrieve PVC {name} from the lister: persistentvolumeclaim "{name}" not found'
    elif claim.status.phase != "Bound":
        problem = f"the PVC {name} is not yet bound to a PV, will not attempt to take a snapshot"
    elif volume is None:
        problem = f"failed to retrieve PV {claim.spec.volume_name} from the API server"
    elif volume.metadata.annotations.get(PROVISIONED_BY) != DRIVER:
        problem = f"the volume {volume.metadata.name} was not provisioned by {DRIVER}"
    if problem:
        text = f"Failed to create snapshot content with error {problem}"
        raise Refused("SnapshotContentCreationFailed", text)


def content_for(
    snapshot: VolumeSnapshot, kind: VolumeSnapshotClass, volume: PersistentVolume
) -> VolumeSnapshotContent:
    """Return the content that is made for a snapshot of a volume."""
    image = image_kind(volume)
    metadata = ObjectMeta(
        name=content_name(snapshot),
        finalizers=(CONTENT_FINALIZER,),
        annotations={ANNOTATION: image} if image else {},
    )
    reference = ObjectReference(
        api_version=f"{GROUP}/v1",
        kind="VolumeSnapshot",
        name=snapshot.metadata.name or "",
        namespace=snapshot.metadata.namespace or "",
        uid=snapshot.metadata.uid or "",
    )
    spec = ContentSpec(
        deletion_policy=kind.deletion_policy,
        driver=kind.driver,
        source=ContentSource(volume_handle=volume.metadata.name or ""),
        source_volume_mode=volume.spec.volume_mode or "Filesystem",
        volume_snapshot_class_name=kind.metadata.name,
        volume_snapshot_ref=reference,
    )
    return VolumeSnapshotContent(metadata=metadata, spec=spec)


def handle_for(content: VolumeSnapshotContent) -> str:
    """Return the name of the directory in which the content is, or will be, stored."""
    return content.spec.source.snapshot_handle or f"snapshot-{content.metadata.uid}"


def is_handle(name: str) -> bool:
    """Return whether a name is that of a snapshot's directory, and so not that of a volume's."""
    return _HANDLE.fullmatch(name) is not None


def points_at(content: VolumeSnapshotContent, snapshot: VolumeSnapshot) -> bool:
    """Return whether the content is that of this snapshot; one made by hand need not know its UID."""
    reference = content.spec.volume_snapshot_ref
    names = (reference.namespace, reference.name)
    same = names == (snapshot.metadata.namespace, snapshot.metadata.name)
    return same and reference.uid in ("", None, snapshot.metadata.uid)


def status_for(snapshot: VolumeSnapshot, content: VolumeSnapshotContent) -> SnapshotStatus:
    """Return the status of a snapshot with its content."""
    found = content.status
    size = found.restore_size
    return SnapshotStatus(
        bound_volume_snapshot_content_name=content.metadata.name or "",
        creation_time=_moment(found.creation_time),
        error=found.error,
        ready_to_use=bool(found.ready_to_use),
        restore_size=None if size is None else str(size),
    )


def _moment(nanoseconds: int | None) -> datetime | None:
    return None if nanoseconds is None else datetime.fromtimestamp(nanoseconds // 10**9, UTC)
