"""The volumes of pods, as the volume plugins see them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from podling.api.core_v1 import Pod, Volume


def claims_of(pod: Pod) -> list[tuple[str, bool]]:
    """Return the names of the pod's claims, and whether each is made for the pod."""
    found = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append((volume.persistent_volume_claim.claim_name, False))
        elif volume.ephemeral is not None:
            found.append((f"{pod.metadata.name}-{volume.name}", True))
    return found


def uses_claim(pod: Pod, namespace: str, name: str) -> bool:
    """Return whether a pod uses this claim."""
    if pod.metadata.namespace != namespace:
        return False
    return any(each == name for each, _ in claims_of(pod))


def disks_of(pod: Pod) -> Iterator[Volume]:
    """Yield the volumes of a pod that name a disk which not every pod may share."""
    for volume in pod.spec.volumes:
        if volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.rbd or volume.iscsi:
            yield volume


def disks_conflict(one: Volume, other: Volume) -> bool:
    """Return whether two pods with these volumes cannot be on one node (``isVolumeConflict``)."""
    if one.gce_persistent_disk is not None and other.gce_persistent_disk is not None:
        disk, second = one.gce_persistent_disk, other.gce_persistent_disk
        if disk.pd_name == second.pd_name and not (disk.read_only and second.read_only):
            return True
    if one.aws_elastic_block_store is not None and other.aws_elastic_block_store is not None:
        return one.aws_elastic_block_store.volume_id == other.aws_elastic_block_store.volume_id
    if one.iscsi is not None and other.iscsi is not None:
        return one.iscsi.iqn == other.iscsi.iqn and not (one.iscsi.read_only and other.iscsi.read_only)
    if one.rbd is not None and other.rbd is not None:
        image, another = one.rbd, other.rbd
        same = (image.pool, image.image) == (another.pool, another.image)
        shared = bool(set(image.monitors) & set(another.monitors))
        return same and shared and not (image.read_only and another.read_only)
    return False
