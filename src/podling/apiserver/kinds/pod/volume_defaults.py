"""Defaults of a pod's volumes.

A volume without a source is an ``emptyDir``, as in Kubernetes; old manifests rely on it.

Upstream: ``SetDefaults_Volume`` and the per-source functions of ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from podling.api.core_v1 import (
    AzureDiskVolumeSource,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    ImageVolumeSource,
    ProjectedVolumeSource,
    ScaleIOVolumeSource,
    Volume,
    VolumeProjection,
)
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty, map_items
from podling.apiserver.kinds.pod.image_defaults import image_pull_policy

DEFAULT_MODE = 0o644
TOKEN_SECONDS = 3600
"""The default lifetime in seconds of a projected service account token."""

SOURCES = tuple(name for name in Volume.__struct_fields__ if name != "name")
"""The Python names of every volume source."""

D = TypeVar("D", DownwardAPIVolumeSource, DownwardAPIProjection)


def default_volume(volume: Volume) -> Volume:
    present = [name for name in SOURCES if getattr(volume, name) is not None]
    if not present:
        return change(volume, empty_dir=EmptyDirVolumeSource())
    for name in present:
        filler = _FILLERS.get(name)
        if filler is not None:
            volume = change(volume, **{name: filler(getattr(volume, name))})
    return volume


def _downward_items(source: D) -> D:
    return change(source, items=map_items(source.items, _downward_file))


def _downward_file(file: DownwardAPIVolumeFile) -> DownwardAPIVolumeFile:
    return (
        file
        if file.field_ref is None
        else change(file, field_ref=fill_empty(file.field_ref, api_version="v1"))
    )


def _downward_api(source: DownwardAPIVolumeSource) -> DownwardAPIVolumeSource:
    return fill_absent(_downward_items(source), default_mode=DEFAULT_MODE)


def _projected(source: ProjectedVolumeSource) -> ProjectedVolumeSource:
    return fill_absent(
        change(source, sources=map_items(source.sources, _projection)), default_mode=DEFAULT_MODE
    )


def _projection(source: VolumeProjection) -> VolumeProjection:
    if source.service_account_token is not None:
        token = fill_absent(source.service_account_token, expiration_seconds=TOKEN_SECONDS)
        source = change(source, service_account_token=token)
    if source.downward_api is not None:
        source = change(source, downward_api=_downward_items(source.downward_api))
    return source


def _ephemeral(source: EphemeralVolumeSource) -> EphemeralVolumeSource:
    template = source.volume_claim_template
    if template is None:
        return source
    spec = fill_absent(template.spec, volume_mode="Filesystem")
    return change(source, volume_claim_template=change(template, spec=spec))


def _image(source: ImageVolumeSource) -> ImageVolumeSource:
    return fill_empty(source, pull_policy=image_pull_policy(source.reference or ""))


def _azure_disk(source: AzureDiskVolumeSource) -> AzureDiskVolumeSource:
    return fill_absent(source, caching_mode="ReadWrite", kind="Shared", fs_type="ext4", read_only=False)


def _scale_io(source: ScaleIOVolumeSource) -> ScaleIOVolumeSource:
    return fill_empty(source, storage_mode="ThinProvisioned", fs_type="xfs")


_FILLERS: dict[str, Callable[[Any], Any]] = {
    "azure_disk": _azure_disk,
    "config_map": lambda source: fill_absent(source, default_mode=DEFAULT_MODE),
    "downward_api": _downward_api,
    "ephemeral": _ephemeral,
    "host_path": lambda source: fill_absent(source, type=""),
    "image": _image,
    "iscsi": lambda source: fill_empty(source, iscsi_interface="default"),
    "projected": _projected,
    "rbd": lambda source: fill_empty(source, pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "scale_io": _scale_io,
    "secret": lambda source: fill_absent(source, default_mode=DEFAULT_MODE),
}
