"""Leftovers of a killed or rebooted node without a record: found and removed at start."""

from __future__ import annotations

import errno
import logging
from collections.abc import Collection, Mapping
from pathlib import Path

from podling.files.trees import remove_tree
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci.host import Host
from podling.runtime.oci.mounting import id_maps
from podling.runtime.oci.rootfs import mount_rootfs, unmount_all, unmount_everything_under
from podling.runtime.oci.sandbox import Place, remove_place

logger = logging.getLogger(__name__)

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def prepare_directories(host: Host) -> None:
    """Make the directories; after a reboot, drop a state that survived it on a disk."""
    host.state.mkdir(parents=True, exist_ok=True, mode=0o711)
    boot = host.state / "boot"
    current = _BOOT_ID.read_text()
    if boot.exists() and boot.read_text() != current:
        unmount_everything_under(host.state)
        for entry in host.state.iterdir():
            if entry.is_dir():
                remove_tree(entry)
    boot.write_text(current)
    for directory in (host.exits, host.engine_root, host.state / "containers", host.state / "sandboxes"):
        directory.mkdir(exist_ok=True, mode=0o711)
    for name in ("containers", "sandboxes"):
        (host.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)


def check_overlay(host: Host) -> None:
    """Mount an empty root file system once, so that a machine that cannot says so at start and not with
    the first pod. Raises ``RuntimeFailure``."""
    trial = host.root / "trial"
    target = host.state / "trial"
    unmount_everything_under(trial)  # a start that was killed
    (trial / "lower").mkdir(parents=True, exist_ok=True)
    try:
        mount_rootfs([trial / "lower"], trial, target)
        unmount_all(target)
    except OSError as error:
        why = f"an overlay file system cannot be mounted under {host.root}: {error.strerror}"
        if error.errno == errno.EPERM:
            raise RuntimeFailure(f"{why} (is this a container without privileges?)") from error
        raise RuntimeFailure(
            f"{why} (is it on an overlay itself? put the data directory elsewhere)"
        ) from error
    finally:
        remove_tree(trial)
        remove_tree(target)


def check_users(host: Host) -> str:
    """Return why pods cannot have users of their own on this machine; empty if they can."""
    trial = host.root / "trial"
    try:
        return id_maps.lack(trial)
    finally:
        unmount_everything_under(trial)
        remove_tree(trial)


def clean(
    host: Host, containers: Mapping[str, str], sandboxes: Collection[str], strays: Collection[str]
) -> None:
    """Remove every mount, namespace, directory and exit file that belongs to no record."""
    for directory in (host.state / "containers").iterdir():
        if directory.name not in containers and directory.name not in sandboxes:
            unmount_everything_under(directory)
            _remove(directory)
            _remove(host.engine_root / directory.name)
    for directory in (host.state / "sandboxes").iterdir():
        if directory.name not in sandboxes:
            remove_place(Place(directory))
    for file in host.exits.iterdir():
        if file.name not in containers:
            file.unlink(missing_ok=True)
    for name in strays:
        _remove(host.root / "containers" / name)
        _remove(host.root / "sandboxes" / name)


def _remove(path: Path) -> None:
    """Remove a tree. What cannot be removed is left: it must not keep the node from starting."""
    try:
        remove_tree(path)
    except OSError as error:
        logger.warning("%s was not removed: %s", path, error)


def remove_directories(host: Host) -> None:
    """Delete the directories of ``prepare_directories``, with all mounts inside."""
    unmount_everything_under(host.state)
    remove_tree(host.state)
    for name in ("containers", "sandboxes"):
        remove_tree(host.root / name)
    host.cgroups.remove(host.cgroup_parent)
