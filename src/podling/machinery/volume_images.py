"""Disk images as volumes: what the provisioner and the kubelets agree on. Pure."""

from __future__ import annotations

from podling.api.core_v1 import PersistentVolume

ANNOTATION = "podling.dev/volume-image"
"""On a PersistentVolume: its directory has a disk image, whose kind is the value (``files.disk_images``)."""
IMAGE_FILE = "image"
"""The image's name in the directory of the volume."""


def image_kind(volume: PersistentVolume) -> str:
    """Return the kind of the volume's image; empty for a volume that is a directory itself."""
    return volume.metadata.annotations.get(ANNOTATION, "") if volume.spec.host_path is not None else ""
