"""Volumes of files that the kubelet writes: ``configMap``, ``secret`` and ``downwardAPI``.

Secrets and downward API files lie in a memory file system where the kubelet may mount one, because secrets
must not reach a disk. All three publish their files with the atomic writer, and follow their source while
the pod runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from podling.api.core_v1 import (
    ConfigMapProjection,
    ConfigMapVolumeSource,
    Pod,
    SecretProjection,
    SecretVolumeSource,
    Volume,
)
from podling.kubelet.failures import MissingReference, VolumeFailure
from podling.kubelet.volumes.atomic_writer import InvalidPath, Payload, write_payload
from podling.kubelet.volumes.base import Mounted, VolumeFacts, VolumeTools
from podling.kubelet.volumes.mounting import (
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    is_mount_point,
    mount_tmpfs,
)
from podling.kubelet.volumes.payloads import config_map_data, downward_files, secret_data, select

CONFIG_KEY_MISSING = "configmap references non-existent config key"
SECRET_KEY_MISSING = "references non-existent secret key"


class FileVolume(ABC):
    """The base of these three plugins and of ``projected``. Subclasses provide the files."""

    plugin_name = ""
    changes = True
    in_memory = True

    def __init__(self, tools: VolumeTools) -> None:
        self._tools = tools

    @abstractmethod
    async def payload(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Payload:
        """Return the files. Raises ``MissingReference``."""

    async def set_up(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Mounted:
        try:
            payload = await self.payload(pod, volume, facts)
        except MissingReference as error:
            raise VolumeFailure(volume.name, str(error)) from error
        path = self._tools.directories.volume(pod.metadata.uid or "", self.plugin_name, volume.name)
        if self._tools.write:
            context = pod.spec.security_context
            group = context.fs_group if context is not None else None
            try:
                self._publish(path, payload, group)
            except (OSError, InvalidPath) as error:
                raise VolumeFailure(volume.name, str(error)) from error
        return Mounted(path, read_only=True)

    def _publish(self, path: Path, payload: Payload, group: int | None) -> None:
        if not path.exists():
            path.mkdir(mode=0o755, parents=True)
            path.chmod(0o755)
        if self.in_memory and not is_mount_point(path) and not any(path.iterdir()):
            # Without the right to mount, the files lie on disk, in a directory that only its owner may enter.
            mount_tmpfs(path, flags=MS_NOSUID | MS_NODEV | MS_NOEXEC, mode="0755")
        write_payload(path, payload, group)

    async def config_map_files(
        self, pod: Pod, source: ConfigMapVolumeSource | ConfigMapProjection, mode: int | None
    ) -> Payload:
        namespace, optional = pod.metadata.namespace or "", bool(source.optional)
        found = await self._tools.references.config_map(namespace, source.name or "", optional=optional)
        data = config_map_data(found) if found is not None else {}
        return select(data, source.items, mode, optional=optional, missing=CONFIG_KEY_MISSING)

    async def secret_files(
        self, pod: Pod, source: SecretVolumeSource | SecretProjection, name: str | None, mode: int | None
    ) -> Payload:
        namespace, optional = pod.metadata.namespace or "", bool(source.optional)
        found = await self._tools.references.secret(namespace, name or "", optional=optional)
        data = secret_data(found) if found is not None else {}
        return select(data, source.items, mode, optional=optional, missing=SECRET_KEY_MISSING)


class ConfigMapVolume(FileVolume):
    plugin_name = "kubernetes.io~configmap"
    in_memory = False

    async def payload(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Payload:
        source = volume.config_map
        if source is None:
            return {}
        return await self.config_map_files(pod, source, source.default_mode)


class SecretVolume(FileVolume):
    plugin_name = "kubernetes.io~secret"

    async def payload(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Payload:
        source = volume.secret
        if source is None:
            return {}
        return await self.secret_files(pod, source, source.secret_name, source.default_mode)


class DownwardAPIVolume(FileVolume):
    plugin_name = "kubernetes.io~downward-api"

    async def payload(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Payload:
        source = volume.downward_api
        return {} if source is None else downward_files(pod, source.items, source.default_mode, facts)
