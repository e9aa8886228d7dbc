"""Claims, volumes and their classes for the tests of volume plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from podling.api.core_v1 import (
    CSIPersistentVolumeSource,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    PersistentVolumeSpec,
    Pod,
    Volume,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import (
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    StorageClass,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeResources,
)
from podling.scheduler.cache import Cache
from tests.unit.scheduler.scheduling import cache_of, pod

DRIVER = "csi.example.com"


def claim(name: str, volume: str = "", *modes: str, of_class: str = "") -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        metadata=ObjectMeta(namespace="default", name=name, uid=f"claim-{name}"),
        spec=PersistentVolumeClaimSpec(
            volume_name=volume, access_modes=tuple(modes), storage_class_name=of_class or None
        ),
    )


def volume(name: str, *, labels: Mapping[str, str] | None = None, driver: str = "") -> PersistentVolume:
    csi = CSIPersistentVolumeSource(driver=driver, volume_handle=f"handle-{name}") if driver else None
    return PersistentVolume(
        metadata=ObjectMeta(name=name, labels=dict(labels or {})), spec=PersistentVolumeSpec(csi=csi)
    )


def storage_class(name: str, mode: str | None = "Immediate", provisioner: str = DRIVER) -> StorageClass:
    return StorageClass(metadata=ObjectMeta(name=name), provisioner=provisioner, volume_binding_mode=mode)


def csi_node(name: str, limit: int | None, driver: str = DRIVER) -> CSINode:
    allocatable = None if limit is None else VolumeNodeResources(count=limit)
    drivers = (CSINodeDriver(name=driver, node_id=name, allocatable=allocatable),)
    return CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=drivers))


def attachment(name: str, node: str) -> VolumeAttachment:
    source = VolumeAttachmentSource(persistent_volume_name=name)
    spec = VolumeAttachmentSpec(attacher=DRIVER, node_name=node, source=source)
    return VolumeAttachment(metadata=ObjectMeta(name=f"{name}-{node}"), spec=spec)


def user(*claims: str, **options: Any) -> Pod:
    """Return a pod that uses these claims."""
    named = (
        Volume(name=f"v{number}", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=name))
        for number, name in enumerate(claims)
    )
    return pod(volumes=tuple(named), **options)


def cache_with(
    nodes: Iterable[Node], *objects: Any, pods: Mapping[str, Iterable[Pod]] | None = None
) -> Cache:
    cache = cache_of(*nodes, pods=pods)
    for each in objects:
        name = each.metadata.name
        match each:
            case PersistentVolumeClaim():
                cache.claims["default", name] = each
            case PersistentVolume():
                cache.volumes[name] = each
            case StorageClass():
                cache.storage_classes[name] = each
            case CSINode():
                cache.csi_nodes[name] = each
            case VolumeAttachment():
                cache.attachments[name] = each
    return cache
