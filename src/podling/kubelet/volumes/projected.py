"""``projected``: files from several sources in one volume, such as the service account's token."""

from __future__ import annotations

from podling.api.core_v1 import Pod, ServiceAccountTokenProjection, Volume, VolumeProjection
from podling.kubelet.failures import MissingReference
from podling.kubelet.volumes.atomic_writer import FileProjection, Payload
from podling.kubelet.volumes.base import VolumeFacts, VolumeTools
from podling.kubelet.volumes.files import FileVolume
from podling.kubelet.volumes.payloads import (
    DEFAULT_MODE,
    downward_files,
)
from podling.kubelet.volumes.tokens import DEFAULT_SECONDS, Tokens
from podling.kubelet.volumes.trust_bundles import GATE, trust_anchors
from podling.machinery.feature_gates import is_enabled

MODE_PRIVATE = 0o600


def single_user(pod: Pod) -> int | None:
    """Return the user that all the pod's containers run as, or None if they differ or it is not stated."""
    context = pod.spec.security_context
    outer = context.run_as_user if context is not None else None
    users = {
        c.security_context.run_as_user
        if c.security_context is not None and c.security_context.run_as_user is not None
        else outer
        for c in (*pod.spec.init_containers, *pod.spec.containers)
    }
    return users.pop() if len(users) == 1 else None


class ProjectedVolume(FileVolume):
    """The plugin for ``projected``."""

    plugin_name = "kubernetes.io~projected"

    def __init__(self, tools: VolumeTools, tokens: Tokens) -> None:
        super().__init__(tools)
        self._tokens = tokens

    async def payload(self, pod: Pod, volume: Volume, facts: VolumeFacts) -> Payload:
        source = volume.projected
        if source is None:
            return {}
        files: dict[str, FileProjection] = {}
        for projection in source.sources:
            files.update(await self._files(pod, projection, source.default_mode, facts))
        return files

    async def _files(
        self, pod: Pod, projection: VolumeProjection, mode: int | None, facts: VolumeFacts
    ) -> Payload:
        deps = self._tools.deps
        if projection.config_map is not None:
            return await self.config_map_files(pod, projection.config_map, mode)
        if projection.secret is not None:
            return await self.secret_files(pod, projection.secret, projection.secret.name, mode)
        if projection.downward_api is not None:
            return downward_files(pod, projection.downward_api.items, mode, facts)
        if projection.service_account_token is not None:
            return await self._token(pod, projection.service_account_token, mode)
        if projection.cluster_trust_bundle is not None and is_enabled(GATE, deps.config.feature_gates):
            anchors = await trust_anchors(deps.client, projection.cluster_trust_bundle)
            return {projection.cluster_trust_bundle.path: self._owned(pod, anchors, mode)}
        raise MissingReference("this kind of projection is not supported by the kubelet")

    async def _token(self, pod: Pod, source: ServiceAccountTokenProjection, mode: int | None) -> Payload:
        seconds = source.expiration_seconds or DEFAULT_SECONDS
        token = await self._tokens.token(pod, source.audience or "", seconds)
        return {source.path: self._owned(pod, token.encode(), mode)}

    def _owned(self, pod: Pod, data: bytes, mode: int | None) -> FileProjection:
        """Return a file that only the pod's group or its single user may read, where it has either."""
        context = pod.spec.security_context
        user = single_user(pod)
        if context is not None and context.fs_group is not None:
            return FileProjection(data, MODE_PRIVATE)
        if user is not None and self._tools.write:
            return FileProjection(data, MODE_PRIVATE, user)
        return FileProjection(data, DEFAULT_MODE if mode is None else mode)
