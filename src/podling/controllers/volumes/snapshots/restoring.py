"""Snapshots as the data sources of claims.

Upstream: ``getSnapshotSource`` of ``kubernetes-csi/external-provisioner``.
"""

from __future__ import annotations

from msgspec import Struct

from podling.api.core_v1 import PersistentVolumeClaim
from podling.client.base import Client
from podling.client.typed_kinds import TypedClient
from podling.controllers.volumes.snapshots.kinds import VolumeSnapshot, VolumeSnapshotContent
from podling.controllers.volumes.snapshots.snapshot_rules import DRIVER, is_handle, points_at
from podling.controllers.volumes.volume_rules import requested
from podling.controllers.volumes.volume_sources import NotReady, NoVolume
from podling.machinery.errors import ApiError
from podling.machinery.volume_images import ANNOTATION

ALLOW_MODE_CHANGE = "snapshot.storage.kubernetes.io/allow-volume-mode-change"


class Stored(Struct, frozen=True):
    """The directory of a snapshot, and the kind of the image in it; empty for files."""

    name: str
    image: str


async def stored_snapshot(client: Client, claim: PersistentVolumeClaim, name: str) -> Stored:
    """Return what is stored of the snapshot that the claim's volume begins with.

    Raises ``NotReady``, or ``NoVolume`` where the volume can never be made of it.
    """
    typed = TypedClient(client)
    try:
        snapshot = await typed.get(VolumeSnapshot, name, claim.metadata.namespace)
    except ApiError as error:
        raise NotReady(f"error getting snapshot {name} from api server: {error}") from error
    bound = snapshot.status.bound_volume_snapshot_content_name
    if not bound:
        raise NotReady(f"snapshot {name} not bound")
    try:
        content = await typed.get(VolumeSnapshotContent, bound)
    except ApiError as error:
        text = f"error getting snapshotcontent {bound} for snapshot {claim.metadata.namespace}/{name}"
        raise NotReady(f"{text} from api server: {error}") from error
    check(claim, snapshot, content)
    return Stored(content.status.snapshot_handle, content.metadata.annotations.get(ANNOTATION, ""))


def check(claim: PersistentVolumeClaim, snapshot: VolumeSnapshot, content: VolumeSnapshotContent) -> None:
    """Raise ``NotReady`` or ``NoVolume`` if the claim's volume cannot begin with the snapshot. Pure."""
    name = snapshot.metadata.name or ""
    bound = content.metadata.name
    if snapshot.metadata.deletion_timestamp is not None:
        raise NotReady(f"snapshot {name} is currently being deleted")
    if not points_at(content, snapshot):
        raise NoVolume(f"snapshotcontent {bound} for snapshot {name} is bound to a different snapshot")
    if content.spec.driver != DRIVER:
        raise NoVolume(f"the snapshot {name} is of driver {content.spec.driver}, and not of {DRIVER}")
    if not snapshot.status.ready_to_use or not is_handle(content.status.snapshot_handle):
        raise NotReady(f"snapshot {name} is not Ready")
    size, wanted = content.status.restore_size or 0, requested(claim).value
    if wanted < size:
        raise NoVolume(
            f"requested volume size {wanted} is less than the size {size} for the source snapshot {name}"
        )
    mode, held = claim.spec.volume_mode or "Filesystem", content.spec.source_volume_mode
    if held and mode != held and content.metadata.annotations.get(ALLOW_MODE_CHANGE) != "true":
        raise NoVolume(
            f"requested volume {claim.metadata.namespace}/{claim.metadata.name} modifies the mode of the "
            f"source volume but does not have permission to do so. {ALLOW_MODE_CHANGE} annotation is not "
            f"present on snapshotcontent {bound}"
        )
