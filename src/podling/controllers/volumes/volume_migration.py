"""Volumes of plugins that left Kubernetes: their CSI drivers, marks and finalizers. Pure.

Upstream: ``updateMigrationAnnotations`` and ``modifyDeletionFinalizers`` in ``pv_controller_base.go``, and
``csi-translation-lib``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import structs

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim

IN_TREE_PREFIX = "kubernetes.io/"
MIGRATED_TO = "pv.kubernetes.io/migrated-to"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
IN_TREE_FINALIZER = "kubernetes.io/pv-controller"
EXTERNAL_FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"
DRIVERS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""The drivers that serve the volumes of former plugins."""

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


def driver_of(provisioner: str) -> str:
    """Return the name of the program that provisions for a class with this provisioner."""
    return DRIVERS.get(provisioner, provisioner)


def plugin_of(volume: PersistentVolume) -> str:
    """Return the former plugin that the volume's source belongs to; empty if it is no such source."""
    spec = volume.spec
    sources = {
        "kubernetes.io/aws-ebs": spec.aws_elastic_block_store,
        "kubernetes.io/azure-disk": spec.azure_disk,
        "kubernetes.io/azure-file": spec.azure_file,
        "kubernetes.io/cinder": spec.cinder,
        "kubernetes.io/gce-pd": spec.gce_persistent_disk,
        "kubernetes.io/portworx-volume": spec.portworx_volume,
        "kubernetes.io/vsphere-volume": spec.vsphere_volume,
    }
    return next((plugin for plugin, source in sources.items() if source is not None), "")


def missing_plugin(provisioner: str) -> str:
    """Return the error about a plugin that no component has; empty for a program outside of Kubernetes."""
    external = provisioner in DRIVERS or not provisioner.startswith(IN_TREE_PREFIX)
    return "" if external else f"no volume plugin matched name: {provisioner}"


def migration_marks(annotations: Mapping[str, str], provisioner: str | None) -> Mapping[str, str]:
    """Return the annotations with ``migrated-to`` or without, as the provisioner requires.

    The very same if they are right.
    """
    if provisioner is None:
        return annotations
    driver = DRIVERS.get(provisioner, "")
    if annotations.get(MIGRATED_TO, "") == driver:
        return annotations
    if driver:
        return {**annotations, MIGRATED_TO: driver}
    return {name: value for name, value in annotations.items() if name != MIGRATED_TO}


def claim_marks(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """Return the ``migration_marks`` of a claim with these annotations."""
    return migration_marks(annotations, annotations.get(PROVISIONER, annotations.get(BETA_PROVISIONER)))


def deletion_finalizers(volume: PersistentVolume) -> Sequence[str]:
    """Return the volume's finalizers with or without those that keep it until its storage is deleted."""
    held: Sequence[str] = volume.metadata.finalizers
    provisioner = volume.metadata.annotations.get(PROVISIONED_BY)
    if provisioner is None:
        return held
    if provisioner in DRIVERS:
        return _without(held, IN_TREE_FINALIZER)
    if not provisioner.startswith(IN_TREE_PREFIX):
        return held
    held = _without(held, EXTERNAL_FINALIZER)
    if volume.spec.persistent_volume_reclaim_policy != "Delete":
        return _without(held, IN_TREE_FINALIZER)
    return held if IN_TREE_FINALIZER in held else (*held, IN_TREE_FINALIZER)


def with_claim_marks(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """Return ``claim`` with the marks of migration; the very same if they are right."""
    return _with(claim, claim_marks(claim.metadata.annotations), claim.metadata.finalizers)


def with_volume_marks(volume: PersistentVolume) -> PersistentVolume:
    """Return ``volume`` with the marks of migration and its finalizers; the very same if they are right."""
    annotations = volume.metadata.annotations
    marks = migration_marks(annotations, annotations.get(PROVISIONED_BY))
    return _with(volume, marks, deletion_finalizers(volume))


def _with(obj: T, annotations: Mapping[str, str], finalizers: Sequence[str]) -> T:
    metadata = obj.metadata
    if annotations == metadata.annotations and tuple(finalizers) == tuple(metadata.finalizers):
        return obj
    changed = structs.replace(metadata, annotations=dict(annotations), finalizers=tuple(finalizers))
    return structs.replace(obj, metadata=changed)


def _without(finalizers: Sequence[str], unwanted: str) -> Sequence[str]:
    return tuple(each for each in finalizers if each != unwanted)
