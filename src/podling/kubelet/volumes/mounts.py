"""Conversion of a container's volume mounts to the runtime's mounts."""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.core_v1 import Container, VolumeMount
from podling.kubelet.failures import StartFailure
from podling.kubelet.volumes.base import Mounted
from podling.kubelet.volumes.sub_paths import CONFIG_ERROR, prepare_sub_path, sub_path
from podling.runtime.base import Mount, MountPropagation, VolumeDevice
from podling.runtime.image_service import Image


def container_mounts(
    container: Container,
    volumes: Mapping[str, Mounted],
    images: Mapping[str, Image],
    environment: Mapping[str, str],
    *,
    write: bool,
) -> tuple[Mount, ...]:
    """Return the mounts of ``container``, parents before children. Raises ``StartFailure``."""
    found = [
        _image_mount(mount, images[mount.name], environment)
        if mount.name in images
        else _mount(container.name, mount, volumes, environment, write=write)
        for mount in container.volume_mounts
    ]
    return tuple(sorted(found, key=lambda mount: mount.container_path.count("/")))


def _image_mount(mount: VolumeMount, image: Image, environment: Mapping[str, str]) -> Mount:
    """Return the mount of an image's files; the runtime knows where they lie."""
    return Mount(
        container_path=_target(mount),
        image=image.id,
        sub_path=sub_path(mount, environment),
        read_only=True,
        recursive_read_only=_is_recursive(mount),
        propagation=MountPropagation(mount.mount_propagation or "None"),
    )


def container_devices(container: Container, volumes: Mapping[str, Mounted]) -> tuple[VolumeDevice, ...]:
    """Return the block volumes of ``container``. Raises ``StartFailure``."""
    found = []
    for device in container.volume_devices:
        mounted = volumes.get(device.name)
        if mounted is None:
            text = f'cannot find volume "{device.name}" to pass into container "{container.name}"'
            raise StartFailure(CONFIG_ERROR, text)
        found.append(
            VolumeDevice(
                container_path=device.device_path, host_path=str(mounted.path), read_only=mounted.read_only
            )
        )
    return tuple(found)


def _target(mount: VolumeMount) -> str:
    return mount.mount_path if mount.mount_path.startswith("/") else f"/{mount.mount_path}"


def _is_recursive(mount: VolumeMount) -> bool:
    return mount.recursive_read_only in ("Enabled", "IfPossible")


def _mount(
    container: str,
    mount: VolumeMount,
    volumes: Mapping[str, Mounted],
    environment: Mapping[str, str],
    *,
    write: bool,
) -> Mount:
    mounted = volumes.get(mount.name)
    if mounted is None:
        text = f'cannot find volume "{mount.name}" to mount into container "{container}"'
        raise StartFailure(CONFIG_ERROR, text)
    part = sub_path(mount, environment)
    if part and write:
        prepare_sub_path(mounted.path, part, mount.name, container)
    read_only = bool(mount.read_only) or mounted.read_only
    return Mount(
        container_path=_target(mount),
        host_path=str(mounted.path),
        sub_path=part,
        read_only=read_only,
        recursive_read_only=read_only and _is_recursive(mount),
        propagation=MountPropagation(mount.mount_propagation or "None"),
    )
