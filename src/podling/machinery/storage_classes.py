"""The storage class of a claim or volume: binding, quotas and tables must agree on it.

Upstream: ``component-helpers/storage/volume/helpers.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
"""The annotation from before there was a field; it still wins, even if it is empty."""


def class_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    """Return the storage class; empty for none."""
    return obj.metadata.annotations.get(BETA_CLASS, obj.spec.storage_class_name or "")


def attributes_classes_of(claim: PersistentVolumeClaim) -> set[str]:
    """Return the VolumeAttributesClasses that a claim has, wants or is on its way to."""
    status = claim.status
    target = (
        status.modify_volume_status.target_volume_attributes_class_name
        if status.modify_volume_status
        else None
    )
    names = (claim.spec.volume_attributes_class_name, status.current_volume_attributes_class_name, target)
    return {name for name in names if name}
