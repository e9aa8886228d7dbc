"""The storage class of a claim or volume: binding, quotas and tables must agree on it.

Upstream: ``component-helpers/storage/volume/helpers.go``, ``pkg/volume/util/storageclass.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.api.storage_v1 import StorageClass

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
_NEVER = datetime.min.replace(tzinfo=UTC)
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
"""The annotation from before there was a field; it still wins, even if it is empty."""


def class_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    """Return the storage class; empty for none."""
    return obj.metadata.annotations.get(BETA_CLASS, obj.spec.storage_class_name or "")


def has_class(claim: PersistentVolumeClaim) -> bool:
    """Return whether a claim says which class it wants, be it none: the default one is not for it."""
    return BETA_CLASS in claim.metadata.annotations or claim.spec.storage_class_name is not None


def is_default(found: StorageClass) -> bool:
    annotations = found.metadata.annotations
    return "true" in (annotations.get(DEFAULT_CLASS), annotations.get(_BETA_DEFAULT_CLASS))


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """Return the newest class marked as default; of several as new, the first by name."""
    marked = sorted(filter(is_default, classes), key=lambda each: each.metadata.name or "")
    return max(marked, key=lambda each: each.metadata.creation_timestamp or _NEVER, default=None)


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
