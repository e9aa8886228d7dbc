"""``persistentVolumeClaim`` and ``ephemeral``: volumes behind a claim, as far as this node holds them.

The claim must be bound. Its volume is a directory of a node (``hostPath`` or ``local``), a disk image in
such a directory, a block device (``local``), or a share of an NFS server. A volume that needs a driver is
refused.
"""

from __future__ import annotations

import logging
from pathlib import Path

from msgspec import structs

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod, Volume
from podling.client.base import Unreachable
from podling.files.disk_images import BLOCK, EXT4, attach_image, fill_image, mount_device, mount_image
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.failures import VolumeFailure, WaitingVolume, os_text
from podling.kubelet.volumes.base import Mounted, VolumeFacts, VolumeTools
from podling.kubelet.volumes.drivers import csi_failure
from podling.kubelet.volumes.fs_group import set_ownership
from podling.kubelet.volumes.host_path import check_host_path
from podling.kubelet.volumes.mounting import is_mount_point
from podling.kubelet.volumes.nfs import mount_share
from podling.machinery.errors import ApiError
from podling.machinery.quantity import parse
from podling.machinery.volume_images import IMAGE_FILE, image_kind

logger = logging.getLogger(__name__)

RESIZE_CONDITIONS = ("FileSystemResizePending", "Resizing")


def claim_name(pod: Pod, volume: Volume) -> str:
    """Return the claim of ``volume``: the one it names, or the one created for it."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}"


def wrong_mode(pod: Pod, volume: str, mode: str) -> str:
    """Return why the containers cannot use a volume of this mode; empty if they can."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    mounts = any(mount.name == volume for each in containers for mount in each.volume_mounts)
    devices = any(device.name == volume for each in containers for device in each.volume_devices)
    if mounts and mode != "Filesystem":
        return f"volume {volume} has volumeMode {mode}, but is specified in volumeMounts"
    if devices and mode != "Block":
        return f"volume {volume} has volumeMode {mode}, but is specified in volumeDevices"
    return ""


def has_grown(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return whether the volume's file system has to grow to the volume's capacity."""
    return parse(volume.spec.capacity.get("storage", "0")) > parse(claim.status.capacity.get("storage", "0"))


class ClaimVolume:
    """The plugin for volumes behind a claim."""

    plugin_name = "kubernetes.io~local-volume"
    changes = True
    """Volumes in images may grow."""

    def __init__(self, tools: VolumeTools) -> None:
        self._tools = tools
        self._ready: dict[tuple[str, str], tuple[Mounted, str]] = {}
        """The volumes that are set up, with the kinds of their images."""
        self._owned: set[tuple[str, str]] = set()
        """The volumes whose files were given to their pod's group, perhaps by a call that took too long."""

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted:
        uid = pod.metadata.uid or ""
        ready, kind = self._ready.get((uid, volume.name), (None, ""))
        if ready is not None and kind != EXT4:
            return ready
        claim = await self._claim(pod, volume)
        found = await self._volume(pod, volume, claim)
        if ready is None:
            ready = await self._mount(pod, volume, claim, found)
            self._ready[uid, volume.name] = ready, image_kind(found)
        elif has_grown(claim, found):
            await blocking_for_pod(uid, fill_image, _image_of(found))
        if self._tools.write and image_kind(found) == EXT4 and has_grown(claim, found):
            await self._report_size(pod, claim, found)
        return ready

    def may_grow(self, pod_uid: str) -> bool:
        """Return whether a volume of the pod has a file system that grows with its claim."""
        return any(key[0] == pod_uid and kind == EXT4 for key, (_, kind) in self._ready.items())

    def forget(self, pod_uid: str) -> None:
        for key in [key for key in self._ready if key[0] == pod_uid]:
            del self._ready[key]

    async def _claim(self, pod: Pod, volume: Volume) -> PersistentVolumeClaim:
        name, namespace = claim_name(pod, volume), pod.metadata.namespace
        what = f"error processing PVC {namespace}/{name}"
        try:
            claim = await self._tools.deps.client.get(PersistentVolumeClaim, name, namespace)
        except ApiError as error:
            text = f"{what}: failed to fetch PVC from API server: {error}"
            raise WaitingVolume(volume.name, text) from error
        if volume.ephemeral is not None and not any(
            owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references
        ):
            text = f"PVC {namespace}/{name} was not created for pod {namespace}"
            raise VolumeFailure(volume.name, f"{text}/{pod.metadata.name} (pod is not owner)")
        if (
            claim.metadata.deletion_timestamp is not None
            and (pod.metadata.uid, volume.name) not in self._ready
        ):
            raise WaitingVolume(volume.name, f"{what}: PVC is being deleted")
        if claim.status.phase != "Bound":
            raise WaitingVolume(volume.name, f"{what}: PVC is not bound")
        if not claim.spec.volume_name:
            raise WaitingVolume(volume.name, f"{what}: PVC has empty pvc.Spec.VolumeName")
        return claim

    async def _volume(self, pod: Pod, volume: Volume, claim: PersistentVolumeClaim) -> PersistentVolume:
        try:
            found = await self._tools.deps.client.get(PersistentVolume, claim.spec.volume_name or "")
        except ApiError as error:
            raise VolumeFailure(volume.name, str(error)) from error
        wrong = wrong_mode(pod, volume.name, found.spec.volume_mode or "Filesystem")
        if wrong:
            raise WaitingVolume(volume.name, wrong)
        if found.spec.csi is not None:
            raise VolumeFailure(volume.name, csi_failure(found.spec.csi.driver))
        return found

    async def _mount(
        self, pod: Pod, volume: Volume, claim: PersistentVolumeClaim, found: PersistentVolume
    ) -> Mounted:
        source = volume.persistent_volume_claim
        read_only = bool(source.read_only) if source is not None else False
        uid = pod.metadata.uid or ""
        try:
            path = await blocking_for_pod(uid, self._path, pod, volume, claim, found)
        except OSError as error:
            text = os_text(error) if error.errno and not error.strerror else error.strerror or str(error)
            raise VolumeFailure(volume.name, text) from error
        self._owned.discard((uid, volume.name))
        return Mounted(path, read_only)

    def _path(self, pod: Pod, volume: Volume, claim: PersistentVolumeClaim, found: PersistentVolume) -> Path:
        """Return the volume's directory or device, checked. Its file system may be slow, or hold a lot."""
        uid, spec = pod.metadata.uid or "", found.spec
        here = self._tools.directories.volume(uid, self.plugin_name, volume.name)
        if spec.host_path is not None:
            if not self._tools.write:
                return Path(spec.host_path.path)
            check_host_path(spec.host_path)
            kind = image_kind(found)
            if kind == BLOCK:
                return self._device_of_image(uid, volume.name, _image_of(found))
            if kind == EXT4:
                _make(here)
                if not is_mount_point(here):
                    mount_image(_image_of(found), here, fill=has_grown(claim, found))
                self._give_to_group(pod, volume, here)
                return here
            return Path(spec.host_path.path)
        if spec.local is not None:
            path = Path(spec.local.path)
            return self._local(pod, volume, found, path, here) if self._tools.write else path
        if spec.nfs is not None:
            if self._tools.write and not is_mount_point(here):
                _make(here)
                mount_share(spec.nfs, here, spec.mount_options)
            return here
        raise VolumeFailure(volume.name, "no volume plugin matched")

    def _local(self, pod: Pod, volume: Volume, found: PersistentVolume, path: Path, here: Path) -> Path:
        """Return a local volume: a directory, a block device, or the file system on a block device."""
        if not path.exists():
            raise OSError(f'path "{path}" does not exist')
        if found.spec.volume_mode == "Block":
            if not path.is_block_device():
                raise OSError(f'path "{path}" is not a block device')
            return path
        if path.is_block_device():
            _make(here)
            if not is_mount_point(here):
                kind = found.spec.local.fs_type if found.spec.local is not None else None
                mount_device(path, here, kind or EXT4, found.spec.mount_options)
            path = here
        self._give_to_group(pod, volume, path)
        return path

    def _device_of_image(self, uid: str, volume: str, image: Path) -> Path:
        """Attach the image for the pod. At the pod's end the image behind the link is released."""
        link = self._tools.directories.device(uid, self.plugin_name, volume)
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(image)
        return Path(attach_image(image, uid))

    def _give_to_group(self, pod: Pod, volume: Volume, path: Path) -> None:
        done = (pod.metadata.uid or "", volume.name)
        context = pod.spec.security_context
        if done in self._owned or context is None or context.fs_group is None or not path.is_dir():
            return
        only = context.fs_group_change_policy == "OnRootMismatch"
        set_ownership(path, context.fs_group, only_on_mismatch=only)
        self._owned.add(done)

    async def _report_size(self, pod: Pod, claim: PersistentVolumeClaim, found: PersistentVolume) -> None:
        """Show in the claim that its file system has grown, and record an event."""
        others = tuple(each for each in claim.status.conditions if each.type not in RESIZE_CONDITIONS)
        status = structs.replace(claim.status, capacity=dict(found.spec.capacity), conditions=others)
        try:
            await self._tools.deps.client.update(structs.replace(claim, status=status), subresource="status")
        except (ApiError, Unreachable) as error:
            logger.info("the size of claim %s is reported later: %s", claim.metadata.name, error)
            return
        text = (
            f'MountVolume.NodeExpandVolume succeeded for volume "{found.metadata.name}" '
            f"{self._tools.deps.node_name}"
        )
        self._tools.deps.recorder.event(pod, "Normal", "FileSystemResizeSuccessful", text)


def _image_of(found: PersistentVolume) -> Path:
    return Path(found.spec.host_path.path if found.spec.host_path is not None else "") / IMAGE_FILE


def _make(path: Path) -> None:
    path.mkdir(mode=0o755, parents=True, exist_ok=True)
