"""Parts of a pod's containers that sidecars share: mounts, devices, variables. Pure.

Upstream: ``GetInjectedVolumeMountsAndEnvs``, ``GetSidecarTransferEnvs`` of ``pkg/control/sidecarcontrol``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from podling.api.core_v1 import Container, EnvVar, Pod, VolumeDevice, VolumeMount
from podling_kruise.sidecarset.annotations import IS_INJECTED
from podling_kruise.sidecarset.types import SidecarContainer, TransferEnv, plain_container

_EXPANSION = re.compile(r"\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


def is_injected(container: Container) -> bool:
    return any(each.name == IS_INJECTED and each.value == "true" for each in container.env)


def is_fixed(sidecar: SidecarContainer) -> bool:
    """Return whether the container is the same in all pods."""
    shares = sidecar.shares_mounts or sidecar.shares_devices or sidecar.transfer_env
    return not (shares or sidecar.resources_policy is not None)


def injected_container(sidecar: SidecarContainer, pod: Pod) -> Container:
    """Return the sidecar with what it shares with the containers of a pod."""
    mounts, expanded = _shared_mounts(sidecar, pod)
    env = with_missing_env((*sidecar.env, EnvVar(name=IS_INJECTED, value="true")), transferred(sidecar, pod))
    paths = {each.device_path for each in sidecar.volume_devices}
    all_mounts = _with_missing_mounts(sidecar.volume_mounts, mounts, paths)
    devices = sidecar.volume_devices
    if sidecar.shares_devices:
        taken = {each.mount_path for each in all_mounts}
        own = (each for container in _own(pod) for each in container.volume_devices)
        devices = _with_missing_devices(devices, own, taken)
    return plain_container(
        sidecar, env=with_missing_env(env, expanded), volume_mounts=all_mounts, volume_devices=devices
    )


def transferred(sidecar: SidecarContainer, pod: Pod) -> list[EnvVar]:
    """Return the variables that the sidecar takes over from containers of the pod."""
    known = {(container.name, each.name): each for container in pod.spec.containers for each in container.env}
    found = []
    for transfer in sidecar.transfer_env:
        source = _source(transfer, pod)
        names = sorted({*transfer.env_names, *([transfer.env_name] if transfer.env_name else [])})
        found += [known[source, name] for name in names if (source, name) in known]
    return found


def with_missing_env(env: tuple[EnvVar, ...], more: Iterable[EnvVar]) -> tuple[EnvVar, ...]:
    """Return the variables with those of ``more`` whose names are new."""
    found = {each.name: each for each in reversed(env)}
    added = []
    for each in more:
        if each.name not in found:
            found[each.name] = each
            added.append(each)
    return (*env, *added)


def _source(transfer: TransferEnv, pod: Pod) -> str:
    """Return the name of the container whose variables are taken over."""
    source = transfer.source_container_name_from
    if source is None or source.field_ref is None:
        return transfer.source_container_name
    match = _SUBSCRIPT.fullmatch(source.field_ref.field_path)
    if match is None:
        return ""
    metadata = pod.metadata
    return (metadata.labels if match[1] == "labels" else metadata.annotations).get(match[2], "")


def _own(pod: Pod) -> list[Container]:
    """Return the pod's containers that are no sidecars."""
    return [each for each in pod.spec.containers if not is_injected(each)]


def _shared_mounts(sidecar: SidecarContainer, pod: Pod) -> tuple[list[VolumeMount], list[EnvVar]]:
    """Return the mounts of all other containers, and the variables that their paths have."""
    if not sidecar.shares_mounts:
        return [], []
    mounts, variables = [], []
    for container in _own(pod):
        known = {each.name: each for each in reversed(container.env)}
        for mount in container.volume_mounts:
            mounts.append(mount)
            names = _EXPANSION.findall(mount.sub_path_expr or "")
            variables += [known[name] for name in names if name in known]
    return mounts, variables


def _with_missing_mounts(
    mounts: tuple[VolumeMount, ...], more: Iterable[VolumeMount], taken: set[str]
) -> tuple[VolumeMount, ...]:
    paths = {each.mount_path for each in mounts} | taken
    added = []
    for each in more:
        if each.mount_path not in paths:
            paths.add(each.mount_path)
            added.append(each)
    return (*mounts, *added)


def _with_missing_devices(
    devices: tuple[VolumeDevice, ...], more: Iterable[VolumeDevice], taken: set[str]
) -> tuple[VolumeDevice, ...]:
    paths = {each.device_path for each in devices} | taken
    added = []
    for each in more:
        if each.device_path not in paths:
            paths.add(each.device_path)
            added.append(each)
    return (*devices, *added)
