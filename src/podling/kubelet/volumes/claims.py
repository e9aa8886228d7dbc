"""``persistentVolumeClaim`` and ``ephemeral``: volumes behind a claim, as far as this node holds them.

The claim must be bound; its volume must be a directory of a node (``hostPath`` or ``local``). A volume
that needs a driver is refused.
"""

from __future__ import annotations

from pathlib import Path

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod, Volume
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.failures import VolumeFailure
from podling.kubelet.volumes.base import Mounted, VolumeFacts, VolumeTools
from podling.kubelet.volumes.fs_group import set_ownership
from podling.kubelet.volumes.host_path import check_host_path
from podling.machinery.errors import ApiError


def claim_name(pod: Pod, volume: Volume) -> str:
    """Return the claim of ``volume``: the one it names, or the one created for it."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}"


class ClaimVolume:
    """The plugin for volumes behind a claim."""

    plugin_name = "kubernetes.io~local-volume"
    changes = False

    def __init__(self, tools: VolumeTools) -> None:
        self._tools = tools
        self._owned: set[tuple[str, str]] = set()
        """The volumes whose files were given to their pod's group, perhaps by a call that took too long."""

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted:
        claim = await self._claim(pod, volume)
        if claim.status.phase != "Bound" or not claim.spec.volume_name:
            raise VolumeFailure(volume.name, "PVC is not bound")
        client = self._tools.deps.client
        try:
            found = await client.get(PersistentVolume, claim.spec.volume_name)
        except ApiError as error:
            raise VolumeFailure(volume.name, str(error)) from error
        source = volume.persistent_volume_claim
        read_only = bool(source.read_only) if source is not None else False
        uid = pod.metadata.uid or ""
        try:
            path = await blocking_for_pod(uid, self._path, pod, volume, found)
        except OSError as error:
            raise VolumeFailure(volume.name, str(error)) from error
        self._owned.discard((uid, volume.name))
        return Mounted(path, read_only)

    async def _claim(self, pod: Pod, volume: Volume) -> PersistentVolumeClaim:
        name = claim_name(pod, volume)
        try:
            claim = await self._tools.deps.client.get(PersistentVolumeClaim, name, pod.metadata.namespace)
        except ApiError as error:
            raise VolumeFailure(volume.name, str(error)) from error
        if volume.ephemeral is not None and not any(
            owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references
        ):
            text = f"PVC {pod.metadata.namespace}/{name} was not created for pod {pod.metadata.namespace}"
            raise VolumeFailure(volume.name, f"{text}/{pod.metadata.name} (pod is not owner)")
        return claim

    def _path(self, pod: Pod, volume: Volume, found: PersistentVolume) -> Path:
        """Return the volume's directory, checked. Its file system may be slow, or hold very many files."""
        if found.spec.host_path is not None:
            if self._tools.write:
                check_host_path(found.spec.host_path)
            return Path(found.spec.host_path.path)
        if found.spec.local is not None:
            path = Path(found.spec.local.path)
            if self._tools.write:
                self._check_local(pod, volume, path)
            return path
        raise VolumeFailure(volume.name, "no volume plugin matched")

    def _check_local(self, pod: Pod, volume: Volume, path: Path) -> None:
        done = (pod.metadata.uid or "", volume.name)
        if not path.exists():
            raise OSError(f'path "{path}" does not exist')
        context = pod.spec.security_context
        if done in self._owned:
            return
        if context is not None and context.fs_group is not None and path.is_dir():
            only = context.fs_group_change_policy == "OnRootMismatch"
            set_ownership(path, context.fs_group, only_on_mismatch=only)
            self._owned.add(done)
