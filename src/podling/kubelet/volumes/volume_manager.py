"""Sets up a pod's volumes before its containers start, refreshes them, and tears them down at the end.

Only volumes that some container mounts are set up. Images are not handled here: the code that starts a
container passes the ones it mounts. A volume that cannot be set up (yet) is reported in a ``FailedMount``
event and tried again after a back-off of its own (``mount_backoff``), however often the pod is synced. The
pod waits meanwhile (``pkg/volume/util/operationexecutor``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from podling import clock, ids
from podling.api.core_v1 import Container, Pod, PodSpec, Volume
from podling.files.disk_images import release_image
from podling.files.trees import remove_tree
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.kubelet.failures import StaleVolume, VolumeFailure, WaitingVolume, os_text
from podling.kubelet.pod_spec import containers_with_kind
from podling.kubelet.reference_watches import VOLUMES, ReferenceWatches
from podling.kubelet.references import References
from podling.kubelet.rounds import reporting_runtime
from podling.kubelet.volumes.base import Mounted, VolumeFacts, VolumePlugin, VolumeTools
from podling.kubelet.volumes.claims import ClaimVolume
from podling.kubelet.volumes.drivers import csi_failure, no_plugin
from podling.kubelet.volumes.empty_dir import EmptyDir
from podling.kubelet.volumes.files import ConfigMapVolume, DownwardAPIVolume, SecretVolume
from podling.kubelet.volumes.host_path import HostPath, make_missing_directory
from podling.kubelet.volumes.mount_backoff import MountBackoffs
from podling.kubelet.volumes.mounting import unmount
from podling.kubelet.volumes.mounts import container_devices, container_mounts
from podling.kubelet.volumes.nfs import NfsVolume
from podling.kubelet.volumes.projected import ProjectedVolume
from podling.kubelet.volumes.sub_paths import sub_path
from podling.kubelet.volumes.tokens import Tokens
from podling.machinery.pod_references import Reference, named_by_volumes
from podling.runtime.base import Mount, VolumeDevice
from podling.runtime.image_service import Image

logger = logging.getLogger(__name__)

CLAIM_SECONDS = 1.0
"""The longest wait before a claim is read again: a kubelet may not watch claims."""
REPORT_SECONDS = 10.0, 15.0
"""The shortest and the longest interval between events about a claim that a pod waits for: Kubernetes tries
again after these (``workerBackOffPeriodJitterFactor``), and reports each try."""


def shows_metadata(spec: PodSpec) -> bool:
    """Return whether a volume has the pod's labels or annotations, which change while it runs."""
    return any(
        volume.downward_api is not None
        or (volume.projected is not None and any(each.downward_api for each in volume.projected.sources))
        for volume in spec.volumes
    )


def mounted_volumes(pod: Pod) -> frozenset[str]:
    """Return the volumes that any container of the pod uses as mount, device or source of variables."""
    names = set()
    for _, container in containers_with_kind(pod.spec):
        names |= {mount.name for mount in container.volume_mounts}
        names |= {device.name for device in container.volume_devices}
        names |= _variable_volumes(container)
    return frozenset(names)


def _variable_volumes(container: Container) -> set[str]:
    sources = (variable.value_from for variable in container.env)
    return {s.file_key_ref.volume_name for s in sources if s is not None and s.file_key_ref is not None}


class VolumeManager:
    """The volumes of all pods of one node."""

    def __init__(self, deps: KubeletDeps, directories: Directories, watches: ReferenceWatches) -> None:
        self._deps = deps
        self._directories = directories
        self._watches = watches
        tools = VolumeTools(deps, directories, References(watches))
        self._tokens = Tokens(deps.client)
        self._claims = ClaimVolume(tools)
        self._plugins: dict[str, VolumePlugin] = {
            "empty_dir": EmptyDir(tools),
            "host_path": HostPath(tools),
            "config_map": ConfigMapVolume(tools),
            "secret": SecretVolume(tools),
            "downward_api": DownwardAPIVolume(tools),
            "projected": ProjectedVolume(tools, self._tokens),
            "persistent_volume_claim": self._claims,
            "ephemeral": self._claims,
            "nfs": NfsVolume(tools),
        }
        self._reporting = reporting_runtime(deps)
        self._follows = deps.config.write_files or self._reporting is not None
        """True if sources are watched as long as the pod lives, false if only missing ones are."""
        self._mounted: dict[str, dict[str, Mounted]] = {}
        self._backoffs: dict[str, MountBackoffs] = {}
        """By pod."""
        self._reported: dict[tuple[str, str], tuple[str, float]] = {}
        """By pod and volume: the last event about a claim that the pod waits for, and the next one's time."""

    async def set_up(self, pod: Pod, facts: VolumeFacts, *, refresh: bool = False) -> None:
        """Set up every mounted volume that is missing; ``refresh`` compares all with their sources.

        A volume in its back-off is not tried. Raises the failure of the first volume that has one,
        ``StaleVolume`` if none is missing; ``retry_at`` says when to try again.
        """
        uid = pod.metadata.uid or ""
        held = self._mounted.setdefault(uid, {})
        backoffs = self._backoffs.setdefault(uid, MountBackoffs())
        names = mounted_volumes(pod)
        if self._follows:
            self._watches.follow(uid, VOLUMES, named_by_volumes(pod, names))
        todo = [
            volume
            for volume in pod.spec.volumes
            if volume.name in names
            and volume.image is None
            and (
                volume.name not in held
                or backoffs.get(volume.name) is not None
                or (refresh and self._changes(volume))
            )
        ]
        if not todo:
            return
        outcomes = await asyncio.gather(
            *(self._try(pod, volume, facts) for volume in todo), return_exceptions=True
        )
        failures = [failure for failure in outcomes if failure is not None]
        if not self._follows:  # nothing to keep up to date, only to wait for
            missing = named_by_volumes(pod, names) if failures else ()
            self._watches.follow(uid, VOLUMES, missing, late=True)
        if not failures:
            return
        if all(volume.name in held for volume in todo):
            raise StaleVolume("", str(failures[0])) from failures[0]
        raise failures[0]

    async def _try(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Exception | None:
        """Set up one volume unless it is in its back-off; return its failure, or None."""
        uid, name = pod.metadata.uid or "", volume.name
        backoffs = self._backoffs[uid]
        last = backoffs.get(name)
        if last is not None and backoffs.is_held_back(name, clock.steady_now()):
            return VolumeFailure(name, last.message)
        backoffs.note_try(name)
        try:
            mounted = await self._set_up_one(pod, volume, facts)
        except Exception as failure:
            self._note_failure(pod, volume, failure)
            return failure
        backoffs.note_success(name)
        self._mounted[uid][name] = mounted
        return None

    def _note_failure(self, pod: Pod, volume: Volume, failure: Exception) -> None:
        """Begin the volume's back-off, and report the failure."""
        backoffs, now = self._backoffs[pod.metadata.uid or ""], clock.steady_now()
        if isinstance(failure, WaitingVolume):
            backoffs.note_failure(volume.name, now, failure.message, CLAIM_SECONDS)
            self._report_waiting(pod, failure)
            return
        counts = backoffs.note_failure(volume.name, now, str(failure))
        if counts and isinstance(failure, VolumeFailure):
            text = f'MountVolume.SetUp failed for volume "{volume.name}" : {failure.message}'
            self._deps.recorder.event(pod, "Warning", "FailedMount", text)

    def retry_at(self, uid: str) -> datetime | None:
        """Return when the first of the pod's failing volumes may be tried again, on the steady clock."""
        backoffs = self._backoffs.get(uid)
        return backoffs.retry_at() if backoffs is not None else None

    def note_change(self, pod: Pod, reference: Reference) -> None:
        """Let the pod's volumes that hold this object be tried at once: it has come, changed or gone."""
        backoffs = self._backoffs.get(pod.metadata.uid or "")
        if backoffs is None:
            return
        for volume in pod.spec.volumes:
            if reference in named_by_volumes(pod, {volume.name}):
                backoffs.note_change(volume.name)

    def _report_waiting(self, pod: Pod, failure: WaitingVolume) -> None:
        """Report what the pod waits for when that begins or changes, and then again and again."""
        key, now = (pod.metadata.uid or "", failure.volume), clock.monotonic()
        text, next_at = self._reported.get(key, ("", now))
        if text == failure.message and now < next_at:
            return
        self._reported[key] = failure.message, now + ids.uniform(*REPORT_SECONDS)
        name = failure.volume
        text = (
            f"Unable to attach or mount volumes: unmounted volumes=[{name}], unattached volumes=[], "
            f"failed to process volumes=[{name}]: {failure.message}"
        )
        self._deps.recorder.event(pod, "Warning", "FailedMount", text)

    def _plugin(self, volume: Volume) -> VolumePlugin:
        for field, plugin in self._plugins.items():
            if getattr(volume, field) is not None:
                return plugin
        if volume.csi is not None:
            raise VolumeFailure(volume.name, csi_failure(volume.csi.driver))
        raise WaitingVolume(volume.name, no_plugin(volume.name))

    def _changes(self, volume: Volume) -> bool:
        return self._plugin(volume).changes

    async def _set_up_one(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted:
        try:
            return await self._plugin(volume).set_up(pod, volume, facts)
        except OSError as error:
            raise VolumeFailure(volume.name, os_text(error)) from error

    def refresh_at(self, uid: str, now: datetime, seconds: float) -> datetime | None:
        """Return when the pod's volumes are to be compared with their sources though no source has changed.

        That is after ``seconds``, in case a change was missed; and with a runtime that reports its changes
        only while something may grow: its containers read no files, so tokens there are not renewed. None:
        never. ``now`` and the result are on the steady clock.
        """
        if self._reporting is None or self._claims.may_grow(uid):
            return now + timedelta(seconds=seconds)
        return None

    def paths(self, pod: Pod) -> Mapping[str, Path]:
        """Return the directories of the pod's volumes, by name."""
        held = self._mounted.get(pod.metadata.uid or "", {})
        return {name: mounted.path for name, mounted in held.items()}

    async def mounts(
        self,
        pod: Pod,
        container: Container,
        environment: Mapping[str, str],
        images: Mapping[str, Image],
    ) -> tuple[Mount, ...]:
        """Return the container's volume mounts for the runtime. Raises ``StartFailure``, ``OSError``.

        ``images`` holds the images that are volumes, by volume.
        """
        uid = pod.metadata.uid or ""
        held = self._mounted.get(uid, {})
        if self._deps.config.write_files:
            for mount in container.volume_mounts:
                mounted = held.get(mount.name)
                if mounted is not None and mounted.made_for_container and not sub_path(mount, environment):
                    await blocking_for_pod(uid, make_missing_directory, mounted.path)
        find = partial(
            container_mounts, container, held, images, environment, write=self._deps.config.write_files
        )
        if any(mount.sub_path or mount.sub_path_expr for mount in container.volume_mounts):
            return await blocking_for_pod(uid, find)  # makes directories in what the pod shapes
        return find()

    def devices(self, pod: Pod, container: Container) -> tuple[VolumeDevice, ...]:
        """Return the container's block volumes for the runtime. Raises ``StartFailure``."""
        return container_devices(container, self._mounted.get(pod.metadata.uid or "", {}))

    async def tear_down(self, uid: str) -> None:
        """Tear down the pod's volumes and remove its directory. Raises ``OSError``."""
        self._mounted.pop(uid, None)
        self._backoffs.pop(uid, None)
        self._watches.forget(uid)
        self._tokens.forget(uid)
        self._claims.forget(uid)
        self._reported = {key: told for key, told in self._reported.items() if key[0] != uid}
        if not self._deps.config.write_files:
            return
        await blocking_for_pod(uid, _remove_pod_directory, self._directories.pod(uid))


def release_devices(path: Path) -> None:
    """Detach the disk images that are block devices of the pod with this directory, and of no other."""
    for link in path.glob("volumeDevices/*/*"):
        if link.is_symlink():
            release_image(link.readlink(), path.name)


def _remove_pod_directory(path: Path) -> None:
    """Unmount and detach the pod's volumes, then remove the directory; other mounts inside it stay."""
    release_devices(path)
    volumes = path / "volumes"
    if volumes.exists():
        for plugin in volumes.iterdir():
            for volume in plugin.iterdir():
                unmount(volume)
    remove_tree(path)
