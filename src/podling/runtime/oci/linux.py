"""The system calls that Python's standard library does not offer: mounts, namespaces, inotify, openat2.

Thin and exact: each function is one call, raises ``OSError`` with the path it was about, and decides
nothing. Calling the kernel directly keeps helper processes (``mount``, ``unshare``, ``nsenter``) off
the path of a starting pod; each of them would cost about as much as everything done here together.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MS_SLAVE = 0x80000
MNT_DETACH = 0x2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_IDMAP = 1, 2, 4, 0x100000

CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

IN_CLOSE_WRITE = 0x8
IN_MOVED_TO = 0x80
IN_Q_OVERFLOW = 0x4000
IN_NONBLOCK = os.O_NONBLOCK
IN_CLOEXEC = os.O_CLOEXEC

_RESOLVE_IN_ROOT = 0x10
_SYS_OPEN_TREE = 428
_SYS_MOVE_MOUNT = 429
_SYS_OPENAT2 = 437
_SYS_MOUNT_SETATTR = 442
_SYS_SETRESUID = 147 if platform.machine() == "aarch64" else 117
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000

_STACK = 64 << 10
_HOLDER_SECONDS = 10

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)
_libc.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)
_libc.unshare.argtypes = (ctypes.c_int,)
_libc.setns.argtypes = (ctypes.c_int, ctypes.c_int)
_libc.sethostname.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
_libc.setdomainname.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
_libc.inotify_init1.argtypes = (ctypes.c_int,)
_libc.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
_libc.clone.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_libc.syscall.restype = ctypes.c_long


def _check(result: int, about: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about)
    return result


def mount(source: str, target: str | Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2). ``options`` may not exceed one page (4095 bytes)."""
    encoded = os.fsencode(options)
    if len(encoded) > 4095:
        raise OSError(7, "mount options are longer than one page", os.fspath(target))
    _check(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            os.fsencode(kind) if kind else None,
            flags,
            encoded or None,
        ),
        os.fspath(target),
    )


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def open_tree(source: str | Path, about: str) -> int:
    """Return a descriptor of a copy of the mount at ``source`` with all mounts below it.

    open_tree(2) with OPEN_TREE_CLONE (Linux 5.2). The copy is nowhere until it is moved to a place.
    """
    return _check(
        _libc.syscall(
            ctypes.c_long(_SYS_OPEN_TREE),
            ctypes.c_int(_AT_FDCWD),
            ctypes.c_char_p(os.fsencode(source)),
            ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE),
        ),
        about,
    )


def set_mount_attributes(
    tree: int,
    attributes: int,
    about: str,
    *,
    propagation: int = 0,
    user_namespace: int = 0,
    below: bool = False,
) -> None:
    """mount_setattr(2) on an open mount (Linux 5.12), ``below``: and on all mounts below it.

    ``MOUNT_ATTR_IDMAP`` maps owners by ``user_namespace``; ``EINVAL`` for a file system that cannot.
    """
    wanted = _MountAttributes(attributes, 0, propagation, user_namespace)
    _check(
        _libc.syscall(
            ctypes.c_long(_SYS_MOUNT_SETATTR),
            ctypes.c_int(tree),
            ctypes.c_char_p(b""),
            ctypes.c_uint(_AT_EMPTY_PATH | (_AT_RECURSIVE if below else 0)),
            ctypes.byref(wanted),
            ctypes.c_size_t(ctypes.sizeof(wanted)),
        ),
        about,
    )


def move_mount(tree: int, target: str | Path) -> None:
    """move_mount(2): attach an open copy of a mount at ``target``."""
    _check(
        _libc.syscall(
            ctypes.c_long(_SYS_MOVE_MOUNT),
            ctypes.c_int(tree),
            ctypes.c_char_p(b""),
            ctypes.c_int(_AT_FDCWD),
            ctypes.c_char_p(os.fsencode(target)),
            ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH),
        ),
        os.fspath(target),
    )


def unmount(target: str | Path, *, detach: bool = True) -> None:
    """umount2(2); lazily by default."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH if detach else 0), os.fspath(target))


def unshare(flags: int) -> None:
    """unshare(2) for the calling thread alone."""
    _check(_libc.unshare(flags), "unshare")


def setns(descriptor: int, flags: int = 0) -> None:
    """setns(2) for the calling thread alone."""
    _check(_libc.setns(descriptor, flags), "setns")


def cloned_sleeper(flags: int) -> int:
    """Return the PID of a new process in new namespaces; the caller kills and reaps it.

    clone(2): the kernel gives a new user namespace to a new process only, for the caller has threads. That
    process executes nothing but ``sleep`` of the C library, in a copy of our memory, and ends by itself: even
    if we are killed meanwhile it soon lets go of what it inherited.
    """
    stack = ctypes.create_string_buffer(_STACK)
    top = (ctypes.addressof(stack) + _STACK) & ~15
    sleep = ctypes.cast(_libc.sleep, ctypes.c_void_p)
    return _check(_libc.clone(sleep, top, flags | signal.SIGCHLD, _HOLDER_SECONDS), "clone")


@contextmanager
def effective_user(number: int) -> Iterator[None]:
    """Run the calling thread, and no other, as the user ``number``.

    setresuid(2) by its number: the C library's changes all threads.
    """
    keep, root = ctypes.c_int(-1), ctypes.c_int(os.geteuid())
    _check(_libc.syscall(ctypes.c_long(_SYS_SETRESUID), keep, ctypes.c_int(number), keep), "setresuid")
    try:
        yield
    finally:
        _check(_libc.syscall(ctypes.c_long(_SYS_SETRESUID), keep, root, keep), "setresuid")


def set_hostname(name: str) -> None:
    encoded = name.encode()
    _check(_libc.sethostname(encoded, len(encoded)), "sethostname")


def set_domainname(name: str) -> None:
    encoded = name.encode()
    _check(_libc.setdomainname(encoded, len(encoded)), "setdomainname")


def inotify(directory: str | Path, mask: int) -> int:
    """Return a non-blocking inotify descriptor that watches one directory."""
    descriptor = _check(_libc.inotify_init1(IN_NONBLOCK | IN_CLOEXEC), "inotify_init1")
    try:
        _check(_libc.inotify_add_watch(descriptor, os.fsencode(directory), mask), os.fspath(directory))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_in_root(root: str | Path, path: str, flags: int = os.O_RDONLY, mode: int = 0) -> int:
    """Open ``path`` as if ``root`` were the file system's root: links inside cannot lead out of it.

    openat2(2) with RESOLVE_IN_ROOT (Linux 5.6). The caller closes the descriptor.
    """
    if "\0" in path:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    directory = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        how = _OpenHow(flags | os.O_CLOEXEC, mode, _RESOLVE_IN_ROOT)
        return _check(
            _libc.syscall(
                ctypes.c_long(_SYS_OPENAT2),
                ctypes.c_int(directory),
                ctypes.c_char_p(os.fsencode(path.lstrip("/") or ".")),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            ),
            path,
        )
    finally:
        os.close(directory)


def open_file_in_root(root: str | Path, path: str) -> int:
    """Open the regular file ``path`` for reading, with ``root`` as in ``open_in_root``.

    Raises ``OSError`` for anything else: opening a FIFO may last for ever, and a device may act.
    """
    found = open_in_root(root, path, os.O_PATH)
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(found)


def read_in_root(root: str | Path, path: str, limit: int = 1 << 20) -> str:
    """Return a small text file inside ``root``, or ``""`` where there is none."""
    try:
        descriptor = open_file_in_root(root, path)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit).decode(errors="replace")
