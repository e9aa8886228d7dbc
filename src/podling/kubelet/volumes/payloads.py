"""The files of ConfigMap, Secret and downward API volumes, as plain values.

Without ``items`` every key is a file of its name; with ``items`` only the listed keys, under their paths. A
listed key that is missing is an error unless the source is optional.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from podling.api.core_v1 import ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, Secret
from podling.kubelet.downward import UnsupportedField, field_value, resource_value
from podling.kubelet.failures import MissingReference
from podling.kubelet.pod_spec import find_container
from podling.kubelet.volumes.atomic_writer import FileProjection
from podling.kubelet.volumes.base import VolumeFacts

DEFAULT_MODE = 0o644


def config_map_data(config_map: ConfigMap) -> dict[str, bytes]:
    data = {key: text.encode() for key, text in config_map.data.items()}
    return data | {key: base64.b64decode(text) for key, text in config_map.binary_data.items()}


def secret_data(secret: Secret) -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in secret.data.items()}


def select(
    data: Mapping[str, bytes], items: Sequence[KeyToPath], mode: int | None, *, optional: bool, missing: str
) -> dict[str, FileProjection]:
    """Return the files that ``items`` select from ``data``. ``missing`` is the error's text before the key.

    Raises ``MissingReference``.
    """
    default = DEFAULT_MODE if mode is None else mode
    if not items:
        return {key: FileProjection(data[key], default) for key in sorted(data)}
    chosen = {}
    for item in items:
        if item.key not in data:
            if optional:
                continue
            raise MissingReference(f"{missing}: {item.key}")
        chosen[item.path] = FileProjection(data[item.key], default if item.mode is None else item.mode)
    return chosen


def downward_files(
    pod: Pod, files: Sequence[DownwardAPIVolumeFile], mode: int | None, facts: VolumeFacts
) -> dict[str, FileProjection]:
    """Return the files of a downward API source. Raises ``MissingReference``."""
    default = DEFAULT_MODE if mode is None else mode
    result = {}
    for file in files:
        try:
            text = _downward_text(pod, file, facts)
        except UnsupportedField as error:
            raise MissingReference(str(error)) from error
        own = default if file.mode is None else file.mode
        result[file.path] = FileProjection(text.encode(), own)
    return result


def _downward_text(pod: Pod, file: DownwardAPIVolumeFile, facts: VolumeFacts) -> str:
    if file.field_ref is not None:
        pod_ips = tuple(found.ip for found in pod.status.pod_ips)
        return field_value(pod, file.field_ref.field_path, host_ips=facts.host_ips, pod_ips=pod_ips)
    if file.resource_field_ref is not None:
        name = file.resource_field_ref.container_name or ""
        container = find_container(pod.spec, name)
        if container is None:
            raise UnsupportedField(f'container "{name}" not found')
        return resource_value(pod, container, file.resource_field_ref, facts.allocatable)
    return ""
