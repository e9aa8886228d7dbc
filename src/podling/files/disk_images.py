"""Disk images: files with a file system, or with the bytes of a block device, used through loop devices.

Programs of util-linux and e2fsprogs do the work. ``mount`` attaches an image and detaches it with the last
unmount; all mounts of an image share one device, so several pods may mount it. An image that is a block
device stays attached while a file in ``users`` beside it names a user. A lock keeps one process from
attaching an image while another one changes it.

All functions block, and raise ``OSError`` with the output of the program that failed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

EXT4 = "ext4"
BLOCK = "block"

PROGRAMS = ("mkfs.ext4", "debugfs", "e2fsck", "resize2fs", "losetup", "mount")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SECONDS = 600.0
_CORRECTED = 1
"""Exit code of ``e2fsck`` that has changed something and left no error."""
_EMPTY = 2
"""Exit code of ``blkid`` that has found nothing."""
_OPEN_ROOT = b"rmdir lost+found\nset_inode_field <2> mode 040777\n"
"""Makes an empty directory that every user may write to, as applications expect one."""


def missing_for_images() -> str:
    """Return the reason why this process cannot use disk images; empty if it can."""
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists("/dev/loop-control"):
        return "needs /dev/loop-control"
    missing = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"needs {', '.join(missing)}" if missing else ""


def make_image(image: Path, size_bytes: int, kind: str) -> None:
    """Make an image of ``kind`` (``EXT4`` or ``BLOCK``), complete or not at all.."""
    fresh = image.with_name(f"{image.name}.new")
    _allocate(fresh, size_bytes)
    if kind == EXT4:
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", str(fresh))
        _run("debugfs", "-w", "-f", "-", str(fresh), stdin=_OPEN_ROOT)
    fresh.replace(image)


def _allocate(path: Path, size_bytes: int) -> None:
    with path.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.truncate(size_bytes)


def enlarge_image(image: Path, size_bytes: int) -> None:
    """Enlarge the file and the devices that show it; ``fill_image`` enlarges the file system."""
    with _locked(image):
        if image.stat().st_size < size_bytes:
            os.truncate(image, size_bytes)
        for device in devices_of(image):
            _run("losetup", "--set-capacity", device)


def fill_image(image: Path) -> None:
    """Enlarge the file system of an ext4 image to the size of the file.

    While it is mounted, the kernel requires CAP_SYS_RESOURCE.
    """
    with _locked(image):
        _fill(image)


def _fill(image: Path) -> None:
    for device in devices_of(image):
        _run("resize2fs", device)
        return
    _run("e2fsck", "-f", "-p", str(image), accepted=(0, _CORRECTED))
    _run("resize2fs", str(image))
    _run("debugfs", "-w", "-R", "rmdir lost+found", str(image))


def mount_image(image: Path, target: Path, *, fill: bool = False) -> None:
    """Mount an ext4 image at ``target``; ``fill``: enlarge its file system to the file before."""
    with _locked(image):
        if fill and not devices_of(image):
            _fill(image)
        _run("mount", "-t", EXT4, "-o", "loop,nodev", str(image), str(target))


def attach_image(image: Path, user: str) -> str:
    """Return the block device that shows the image, for one user of it."""
    with _locked(image):
        (image.parent / "users").mkdir(exist_ok=True)
        (image.parent / "users" / user).touch()
        return _run("losetup", "--nooverlap", "--find", "--show", str(image)).strip()


def release_image(image: Path, user: str) -> None:
    """Detach the image if this was the last user of its block device. An image that is gone is no error."""
    try:
        with _locked(image):
            users = image.parent / "users"
            (users / user).unlink(missing_ok=True)
            if not users.exists() or not os.listdir(users):
                _detach(image)
    except FileNotFoundError:
        return


def detach_image(image: Path) -> None:
    """Detach the image from all of its users; one that is mounted stays attached until it is unmounted."""
    if image.exists():
        with _locked(image):
            _detach(image)


def _detach(image: Path) -> None:
    for device in devices_of(image):
        _run("losetup", "--detach", device)


def devices_of(image: Path) -> tuple[str, ...]:
    """Return the loop devices that show the image."""
    return tuple(_run("losetup", "--associated", str(image), "--noheadings", "--output", "NAME").split())


def mount_device(device: Path, target: Path, kind: str, options: Sequence[str] = ()) -> None:
    """Mount the file system of a block device; make one of ``kind`` if the device is empty."""
    found = _run(
        "blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", str(device), accepted=(0, _EMPTY)
    )
    if not found:
        arguments = ("-F", "-m0") if kind in ("ext3", "ext4") else ()
        _run(f"mkfs.{kind}", *arguments, str(device))
    mount(kind, str(device), target, options)


def mount(kind: str, source: str, target: Path, options: Sequence[str] = ()) -> None:
    """Mount what ``source`` names; the failure has the form of Kubernetes'."""
    arguments = ["-t", kind, *(("-o", ",".join(options)) if options else ()), source, str(target)]
    code, _, output = _execute("mount", *arguments)
    if code:
        text = f"mount failed: exit status {code}\nMounting command: mount\n"
        raise OSError(errno.EIO, f"{text}Mounting arguments: {' '.join(arguments)}\nOutput: {output}\n")


@contextmanager
def mounted_image(image: Path, place: Path) -> Iterator[Path]:
    """Mount an ext4 image at ``place``, a directory that is made for it, as long as the block lasts."""
    if os.path.ismount(place):  # an earlier process ended in the middle
        _run("umount", str(place))
    place.mkdir(mode=0o700, exist_ok=True)
    try:
        mount_image(image, place)
        try:
            yield place
        finally:
            _run("umount", str(place))
    finally:
        place.rmdir()


def copy_bytes(source: Path, target: Path) -> None:
    """Copy the bytes of a file over the beginning of another, which stays as long as it is."""
    _run("dd", f"if={source}", f"of={target}", "bs=1M", "conv=sparse,notrunc", "status=none")


@contextmanager
def _locked(image: Path) -> Iterator[None]:
    descriptor = os.open(image, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _run(program: str, *arguments: str, stdin: bytes = b"", accepted: tuple[int, ...] = (0,)) -> str:
    code, output, errors = _execute(program, *arguments, stdin=stdin)
    if code not in accepted:
        raise OSError(errno.EIO, f"{program} failed with exit status {code}: {errors or output}")
    return output


def _execute(program: str, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    command = [shutil.which(program, path=_PATH) or program, *arguments]
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            env={"PATH": _PATH, "LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSError(errno.ETIMEDOUT, f"{program} did not end") from None
    except FileNotFoundError:
        raise OSError(errno.ENOENT, f"{program} is not installed") from None
    output, errors = (each.decode(errors="replace").strip() for each in (done.stdout, done.stderr))
    return done.returncode, output, errors
