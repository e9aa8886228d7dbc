"""The fate of volumes without their claim. Pure.

Upstream: ``reclaimVolume`` and ``findDeletablePlugin`` in ``pkg/controller/volume/persistentvolume``.
"""

from __future__ import annotations

from podling.api.core_v1 import PersistentVolume
from podling.controllers.volumes.volume_migration import MIGRATED_TO, PROVISIONED_BY, missing_plugin

NO_DELETER = 'error getting deleter volume plugin for volume "{}": no deletable volume plugin matched'
NO_RECYCLER = "No recycler plugin found for the volume!"


def is_made_for_one(volume: PersistentVolume) -> bool:
    """Return whether a provisioner made the volume for one claim, without which it shall not be."""
    made = PROVISIONED_BY in volume.metadata.annotations
    return made and volume.spec.persistent_volume_reclaim_policy == "Delete"


def failure_to_reclaim(volume: PersistentVolume) -> tuple[str, str] | None:
    """Return why a released volume cannot be reclaimed here: reason and message.

    None for one that is kept, and for one that the program that made it deletes.
    """
    annotations = volume.metadata.annotations
    policy = volume.spec.persistent_volume_reclaim_policy
    if annotations.get(MIGRATED_TO):
        return None
    if policy == "Recycle":
        return "VolumeFailedRecycle", NO_RECYCLER
    if policy != "Delete":
        return None
    provisioner = annotations.get(PROVISIONED_BY, "")
    if provisioner:
        missing = missing_plugin(provisioner)
        return ("VolumeFailedDelete", missing) if missing else None
    return "VolumeFailedDelete", NO_DELETER.format(volume.metadata.name)
