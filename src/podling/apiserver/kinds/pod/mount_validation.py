"""Validation of a container's volume mounts and raw block devices.

Some paths name the list and not the element (``volumeMounts.subPath``), as in Kubernetes.

Upstream: ``ValidateVolumeMounts`` and ``ValidateVolumeDevices`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import VolumeMount
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.pod_scope import AnyContainer, PodScope
from podling.machinery import fields
from podling.machinery.fields import Path

PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(path: Path, container: AnyContainer, scope: PodScope) -> Errors:
    devices = {device.name: device.device_path for device in container.volume_devices}
    errors: Errors = []
    taken: set[str] = set()
    for position, mount in enumerate(container.volume_mounts):
        here = path.index(position)
        if not mount.name:
            errors.append(fields.required(here.child("name")))
        if mount.name not in scope.volumes:
            errors.append(fields.not_found(here.child("name"), mount.name))
        if not mount.mount_path:
            errors.append(fields.required(here.child("mountPath")))
        if mount.mount_path in taken:
            errors.append(fields.invalid(here.child("mountPath"), mount.mount_path, "must be unique"))
        taken.add(mount.mount_path)
        if mount.name in devices:
            text = "must not already exist in volumeDevices"
            errors.append(fields.invalid(here.child("name"), mount.name, text))
        if mount.mount_path in devices.values():
            text = "must not already exist as a path in volumeDevices"
            errors.append(fields.invalid(here.child("mountPath"), mount.mount_path, text))
        errors += _sub_path_errors(path, here, mount, scope)
        errors += _propagation_errors(path.child("mountPropagation"), mount, container)
        errors += _recursive_read_only_errors(path.child("recursiveReadOnly"), mount)
    return errors


def _sub_path_errors(path: Path, here: Path, mount: VolumeMount, scope: PodScope) -> Errors:
    errors: Errors = []
    if mount.sub_path:
        errors += checks.local_descending_path(path.child("subPath"), mount.sub_path)
    if mount.sub_path_expr:
        if mount.sub_path:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(fields.invalid(here.child("subPathExpr"), mount.sub_path_expr, text))
        errors += checks.local_descending_path(path.child("subPathExpr"), mount.sub_path_expr)
    return errors


def _propagation_errors(path: Path, mount: VolumeMount, container: AnyContainer) -> Errors:
    errors = checks.one_of_if_set(path, mount.mount_propagation, PROPAGATIONS)
    context = container.security_context
    if mount.mount_propagation == "Bidirectional" and not (context is not None and context.privileged):
        text = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(fields.forbidden(path, text))
    return errors


def _recursive_read_only_errors(path: Path, mount: VolumeMount) -> Errors:
    value = mount.recursive_read_only
    if value not in ("Enabled", "IfPossible"):
        return checks.one_of_if_set(path, value, RECURSIVE_READ_ONLY)
    errors: Errors = []
    if not mount.read_only:
        errors.append(fields.forbidden(path, "may only be specified when readOnly is true"))
    if mount.mount_propagation not in (None, "None"):
        text = "may only be specified when mountPropagation is None or not specified"
        errors.append(fields.forbidden(path, text))
    return errors


def validate_devices(path: Path, container: AnyContainer, scope: PodScope) -> Errors:
    if not container.volume_devices:
        return []
    mounts = {mount.name: mount.mount_path for mount in container.volume_mounts}
    errors: Errors = []
    names_seen: set[str] = set()
    paths_seen: set[str] = set()
    for position, device in enumerate(container.volume_devices):
        name_path, device_path = path.index(position).child("name"), path.index(position).child("devicePath")
        if not device.name:
            errors.append(fields.required(name_path))
        elif device.name in names_seen:
            errors.append(fields.invalid(name_path, device.name, "must be unique"))
        errors += _device_volume_errors(name_path, device.name, scope)
        if not device.device_path:
            errors.append(fields.required(device_path))
        if device.device_path in paths_seen:
            errors.append(fields.invalid(device_path, device.device_path, "must be unique"))
        if ".." in device.device_path.split("/"):
            text = "can not contain backsteps ('..')"
            errors.append(fields.invalid(device_path, device.device_path, text))
        else:
            paths_seen.add(device.device_path)
        if device.name in mounts:
            text = "must not already exist in volumeMounts"
            errors.append(fields.invalid(name_path, device.name, text))
        if device.device_path in mounts.values():
            text = "must not already exist as a path in volumeMounts"
            errors.append(fields.invalid(device_path, device.device_path, text))
        names_seen.add(device.name)
    return errors


def _device_volume_errors(path: Path, name: str, scope: PodScope) -> Errors:
    """Return an error unless a block device comes from a claim."""
    volume = scope.volumes.get(name)
    if volume is None:
        return [fields.not_found(path, name)]
    if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
        return []
    text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
    return [fields.invalid(path, name, text)]
