"""From a container's specification to what its monitor is to start, and the directory where it starts."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from podling.files.beneath import make_directory_beneath, opened_beneath, path_of
from podling.rlimits import inherited_open_files
from podling.runtime.base import ContainerSpec, Mount, RuntimeFailure
from podling.runtime.process import plan
from podling.runtime.process.records import Launch


def launch_of(
    spec: ContainerSpec, image: plan.Defaults, ours: plan.Identity, rootfs: Path, hostname: str
) -> Launch:
    users = {entry.pw_name: (entry.pw_uid, entry.pw_gid) for entry in pwd.getpwall()}
    user = plan.identity(spec, image, ours, users)
    own = dict(os.environ)
    if user is not None:
        own["HOME"] = _home(user[0])
    asked = spec.working_dir or image.working_dir
    on_host = bool(asked) and Path(asked).is_dir()
    return Launch(
        command=plan.command_line(spec, image),
        environment=plan.environment(spec, image, own, hostname, rootfs),
        working_dir=str(plan.working_directory(spec, image, rootfs, on_host=on_host)),
        log_path=str(spec.log_path),
        tty=spec.tty,
        stdin=spec.stdin,
        stdin_once=spec.stdin_once,
        user=user,
        no_new_privileges=spec.security.no_new_privileges,
        open_files=inherited_open_files(),
    )


def _home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:  # an id without a name
        return "/"


def user_of(launch: Launch, ours: plan.Identity) -> tuple[int, int, tuple[int, ...]]:
    if launch.user is None:
        return ours.uid, ours.gid, ()
    uid, gid, groups = launch.user
    return uid, gid, tuple(groups)


def with_real_path(mount: Mount) -> Mount:
    """Return the mount with its ``sub_path`` resolved to a path, which is all that a process can get.

    Raises ``RuntimeFailure``.
    """
    if not mount.sub_path or mount.image:
        return mount
    try:
        with opened_beneath(Path(mount.host_path), mount.sub_path) as found:
            return replace(mount, host_path=path_of(found), sub_path="")
    except OSError as error:
        text = f'failed to prepare subPath for volumeMount at "{mount.container_path}"'
        raise RuntimeFailure(text) from error


def build(directory: Path, links: Sequence[tuple[object, str]], working_dir: Path) -> None:
    """Make the container's directory: its root with links to the volumes, and where it starts.

    A working directory inside of a volume is created there, safe against links that containers have put into
    it. Raises ``OSError``.
    """
    rootfs = directory / "rootfs"
    directory.mkdir(mode=0o711)
    rootfs.mkdir()
    for place, target in links:
        link = rootfs / str(place)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    if not working_dir.is_relative_to(rootfs):
        return
    for place, target in links:
        if working_dir.is_relative_to(rootfs / str(place)) and Path(target).is_dir():
            make_directory_beneath(Path(target), str(working_dir.relative_to(rootfs / str(place))))
            return
    make_directory_beneath(rootfs, str(working_dir.relative_to(rootfs)))
