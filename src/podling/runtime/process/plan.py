"""The plan from a container to a host process. Pure: it has no effects.

A process sees the machine as it is. Volumes cannot appear at their paths, so they are gathered under
one directory, which the process finds in ``PODLING_ROOTFS``: a volume for ``/data`` is
``$PODLING_ROOTFS/data``, and the process starts in that directory by default. Fields of a
specification that a plain process cannot honour are either refused (another user, volumes inside of volumes)
or named in the container's warnings; none is ignored silently.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from podling.runtime.base import (
    ContainerSpec,
    Mount,
    MountPropagation,
    RuntimeFailure,
    SandboxSpec,
)
from podling.runtime.user_ids import id_number, is_number

ROOTFS_VARIABLE = "PODLING_ROOTFS"
OWN_MOUNTS = "/var/run/secrets/kubernetes.io"
"""Mounts that the user did not request, so no warning explains them."""
INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR")
"""The variables that a process gets from Podling's own environment; all others stay hidden."""


class Identity(Struct, frozen=True):
    """The user that Podling runs as, and the users that it can run processes as."""

    uid: int
    gid: int

    @property
    def may_change(self) -> bool:
        return self.uid == 0


class Defaults(Struct, frozen=True):
    """The image's defaults, if its configuration is known."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    working_dir: str = ""
    user: str = ""


def command_line(spec: ContainerSpec, image: Defaults) -> tuple[str, ...]:
    """Kubernetes' rule: ``command`` replaces entrypoint and cmd, ``args`` replaces cmd."""
    if spec.command:
        whole = spec.command + spec.args
    else:
        whole = image.entrypoint + (spec.args or image.command)
    if not whole:
        shown = spec.image_name or spec.image
        raise RuntimeFailure(
            f'container "{spec.name}" has no command: the process runtime does not run images, so '
            f'"{shown}" gives it none; set command'
        )
    return whole


def environment(
    spec: ContainerSpec, image: Defaults, own: Mapping[str, str], hostname: str, rootfs: Path
) -> dict[str, str]:
    """Return the process' whole environment; ``own`` is Podling's."""
    inherited = {name: own[name] for name in INHERITED_VARIABLES if name in own}
    terminal = {"TERM": "xterm"} if spec.tty else {}
    result = inherited | terminal | {"HOSTNAME": hostname} | dict(image.environment) | dict(spec.env)
    result[ROOTFS_VARIABLE] = str(rootfs)
    return result


def links(mounts: Sequence[Mount]) -> tuple[tuple[PurePosixPath, str], ...]:
    """Return the path of each volume, relative to the root directory, and its target."""
    for mount in mounts:
        if mount.image:
            raise RuntimeFailure(
                f'volume mount "{mount.container_path}" is an image: the process runtime has no files of it'
            )
    places = {_below_root(mount.container_path): mount.host_path for mount in mounts}
    for place in places:
        outer = next((other for other in place.parents if other in places), None)
        if outer is not None:
            raise RuntimeFailure(
                f'volume mount "/{place}" lies inside volume mount "/{outer}": '
                "the process runtime cannot put volumes into each other"
            )
    return tuple(places.items())


def check_devices(spec: ContainerSpec) -> None:
    """Raise ``RuntimeFailure`` for block volumes, which would need a device node of their own."""
    if spec.devices:
        path = spec.devices[0].container_path
        raise RuntimeFailure(f'volume device "{path}": the process runtime has no block volumes')


def working_directory(spec: ContainerSpec, image: Defaults, rootfs: Path, *, on_host: bool) -> Path:
    """Return the working directory. ``on_host``: the requested directory is the machine's own."""
    asked = spec.working_dir or image.working_dir
    if not asked:
        return rootfs
    relative = _below_root(asked)
    mounted = any(_inside(PurePosixPath("/") / relative, mount.container_path) for mount in spec.mounts)
    return Path(asked) if on_host and not mounted and asked.startswith("/") else rootfs / relative


def _below_root(path: str) -> PurePosixPath:
    """Return a path of a container relative to its root, above which ``..`` leads nowhere."""
    return PurePosixPath(posixpath.normpath("/" + path.lstrip("/"))).relative_to("/")


def _inside(path: PurePosixPath, mount: str) -> bool:
    return path == PurePosixPath(mount) or PurePosixPath(mount) in path.parents


def identity(
    spec: ContainerSpec, image: Defaults, ours: Identity, lookup: Mapping[str, tuple[int, int]]
) -> tuple[int, int, list[int]] | None:
    """User, group and further groups to run as; None for our own.

    ``lookup`` knows the machine's users by name. Raises ``RuntimeFailure`` for other users.
    """
    asked = spec.security.user or image.user
    group = spec.security.group
    if not asked and group is None and not spec.security.supplemental_groups:
        return None
    name, _, group_name = asked.partition(":")
    number = id_number(name)
    uid, gid = (ours.uid, ours.gid)
    if number is not None:
        uid = number
    elif name:
        uid, gid = (-1, -1) if is_number(name) else lookup.get(name, (-1, -1))
    if group is None:
        group = id_number(group_name)
    if uid < 0:
        raise RuntimeFailure(
            f'container "{spec.name}" runs as user "{name}", whom this machine does not know'
        )
    if not ours.may_change:
        if uid != ours.uid:
            raise RuntimeFailure(
                f'container "{spec.name}" runs as user {name}, but the process runtime runs as user '
                f"{ours.uid} and cannot change to another"
            )
        return None
    return uid, gid if group is None else group, list(spec.security.supplemental_groups)


def container_warnings(spec: ContainerSpec, ours: Identity) -> tuple[str, ...]:
    """Return the fields of the specification that the process does not get, one sentence each."""
    security = spec.security
    groups = security.group is not None or bool(security.supplemental_groups)
    read_only = ", ".join(
        mount.container_path
        for mount in spec.mounts
        if mount.read_only and not _inside(PurePosixPath(mount.container_path), OWN_MOUNTS)
    )
    limits = spec.resources
    limited = limits.cpu_quota or limits.memory_limit or limits.cpuset_cpus or limits.cpuset_mems
    unheard = {
        "resource limits are not applied": bool(limited),
        f"read-only mounts are writable: {read_only}": bool(read_only),
        "mount propagation has no meaning": any(
            mount.propagation is not MountPropagation.NONE for mount in spec.mounts
        ),
        "the root filesystem is the machine's own, not read-only": security.read_only_rootfs,
        "privileged mode is not given": security.privileged,
        "capabilities are not changed": bool(security.add_capabilities or security.drop_capabilities),
        "groups are not changed without root": groups and not ours.may_change,
        "the seccomp profile is not applied": security.seccomp.startswith("localhost/"),
        "the AppArmor profile is not applied": bool(security.app_armor),
        "the SELinux label is not set": security.selinux is not None,
        "process namespaces are not shared: all processes of the machine are visible": bool(
            spec.process_target
        ),
    }
    return tuple(text for text, holds in unheard.items() if holds)


def sandbox_warnings(spec: SandboxSpec) -> tuple[str, ...]:
    """Return the fields of a pod's sandbox that it does not get."""
    moved = ", ".join(
        f"{mapping.host_port} to {mapping.container_port}"
        for mapping in spec.port_mappings
        if mapping.host_port != mapping.container_port
    )
    unheard = {
        f"host ports are not forwarded: {moved}": bool(moved),
        f"sysctls are not set: {', '.join(spec.sysctls)}": bool(spec.sysctls),
    }
    return tuple(text for text, holds in unheard.items() if holds)
