"""The sources of a container's mounts: made on the node, in places that no container can change.

Images' files and parts of volumes are mounted there, and for a pod with a user namespace every volume once
more, with its owners mapped. The OCI runtime binds them from there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from podling.runtime.base import Mount, MountPropagation, RuntimeFailure
from podling.runtime.images.records import ImageContent
from podling.runtime.oci import linux
from podling.runtime.oci.mounting.id_maps import bind_mapped
from podling.runtime.oci.mounts import check_propagation, parse_mountinfo
from podling.runtime.oci.rootfs import Owners, mapped_places, mount_beneath, mount_image, sub_path_places

logger = logging.getLogger(__name__)

_RESTRICTIONS = (
    (os.ST_RDONLY, "ro"),
    (os.ST_NOSUID, "nosuid"),
    (os.ST_NODEV, "nodev"),
    (os.ST_NOEXEC, "noexec"),
)


class Sources(Struct, frozen=True):
    """Makes the sources of one container's mounts in its ``bundle``.

    ``images`` are those that the container sees as volumes, by id; ``owners`` the users of its pod.
    """

    bundle: Path
    images: Mapping[str, ImageContent]
    owners: Owners | None

    def made(self, mounts: Sequence[Mount]) -> tuple[Mount, ...]:
        """Return the mounts as the OCI runtime gets them. Raises ``RuntimeFailure``."""
        _check_propagation(mounts)
        return tuple(self._made(number, mount) for number, mount in enumerate(mounts))

    def _made(self, number: int, mount: Mount) -> Mount:
        if mount.image:
            return replace(mount, host_path=self._image(number, mount), image="", sub_path="", read_only=True)
        source = self._part(number, mount) if mount.sub_path else Path(mount.host_path)
        source = self.mapped(source, str(number), mount.propagation)
        return replace(mount, host_path=str(source), sub_path="")

    def mapped(self, source: Path, name: str, propagation: MountPropagation = MountPropagation.NONE) -> Path:
        """Return ``source`` as the pod's users own it. Raises ``RuntimeFailure``."""
        if self.owners is None:
            return source
        place = mapped_places(self.bundle) / name
        try:
            bind_mapped(source, place, self.owners.namespace, propagation)
        except OSError as error:
            raise RuntimeFailure(f"{source} cannot be mounted: {error.strerror or error}") from error
        return place

    def kept_options(self, mounts: Sequence[Mount]) -> dict[str, tuple[str, ...]]:
        """Return the options of the file systems of ``mounts`` that must stay, by path on the node.

        A mount in a user namespace may have no fewer restrictions than its source.
        """
        if self.owners is None:
            return {}
        return {mount.host_path: _restrictions(mount.host_path) for mount in mounts}

    def _image(self, number: int, mount: Mount) -> str:
        place = self.bundle / "images" / str(number)
        try:
            layers = self.images[mount.image].layers
            mount_image(layers, self.bundle / "images" / "empty", place, self.owners)
        except OSError as error:
            raise RuntimeFailure(f"image {mount.image} cannot be mounted: {error}") from error
        return _inside(place, mount.sub_path)

    def _part(self, number: int, mount: Mount) -> Path:
        place = sub_path_places(self.bundle) / str(number)
        try:
            mount_beneath(Path(mount.host_path), mount.sub_path, place)
        except OSError as error:
            logger.warning("subPath %s of %s: %s", mount.sub_path, mount.host_path, error)
            text = f'failed to prepare subPath for volumeMount at "{mount.container_path}"'
            raise RuntimeFailure(text) from error
        return place


def _restrictions(path: str) -> tuple[str, ...]:
    flags = os.statvfs(path).f_flag
    return tuple(name for flag, name in _RESTRICTIONS if flags & flag)


def _inside(place: Path, sub_path: str) -> str:
    """Return the real path of ``sub_path`` in a mounted image; no link leads out of it."""
    if not sub_path:
        return str(place)
    try:
        descriptor = linux.open_in_root(place, sub_path, os.O_PATH)
    except OSError as error:
        raise RuntimeFailure(f'subPath "{sub_path}" does not exist in the image') from error
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _check_propagation(mounts: Sequence[Mount]) -> None:
    asking = [mount for mount in mounts if mount.propagation is not MountPropagation.NONE]
    if asking:
        points = parse_mountinfo(Path("/proc/self/mountinfo").read_text())
        for mount in asking:
            check_propagation(mount, os.path.realpath(mount.host_path), points)
