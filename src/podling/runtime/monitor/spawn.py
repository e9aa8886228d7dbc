"""Starting commands in a container's surroundings, and killing what they leave behind."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import signal
import sys
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone would cost a megabyte in every monitor
    from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
CANNOT_START = 128


def prctl(option: int, value: int = 1) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def spawn(
    launch: dict[str, Any], command: list[str], streams: tuple[int, int, int], *, terminal: bool
) -> tuple[int, list[Any]]:
    """Run ``command`` in the container's surroundings; closes ``streams``."""
    failed_read, failed_write = os.pipe()
    monitor = os.getpid()
    pid = os.fork()
    if pid == 0:
        become(launch, command, streams, failed_write, monitor, terminal=terminal)
    os.close(failed_write)
    for descriptor in set(streams):
        os.close(descriptor)
    failure = b""
    while part := os.read(failed_read, 4096):
        failure += part
    os.close(failed_read)
    if failure:
        os.waitpid(pid, 0)
        return pid, json.loads(failure)
    return pid, []


def open_streams(launch: dict[str, Any]) -> tuple[tuple[int, int, int], int, list[tuple[int, str]]]:
    """The command's three descriptors; ours to write its input to (-1: none); ours to read, by stream."""
    if launch["tty"]:
        master, slave = os.openpty()
        return (slave, slave, slave), master, [(master, "stdout")]
    feed = -1
    if launch["stdin"]:
        stdin, feed = os.pipe()
        os.set_blocking(feed, False)
    else:
        stdin = os.open(os.devnull, os.O_RDONLY)
    out_read, out_write = os.pipe()
    error_read, error_write = os.pipe()
    return (stdin, out_write, error_write), feed, [(out_read, "stdout"), (error_read, "stderr")]


def become(
    launch: dict[str, Any],
    command: list[str],
    streams: tuple[int, int, int],
    failed: int,
    monitor: int,
    *,
    terminal: bool,
) -> None:
    """In the child: take on the container's surroundings and become the command. Never returns."""
    stage = "prepare"
    try:
        os.setsid()
        if terminal:
            fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        signal.set_wakeup_fd(-1)
        for number in range(1, signal.NSIG):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        take_identity(launch)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # after the identity, whose change would clear it
        if os.getppid() != monitor:  # killed before: that signal will not come
            return
        os.umask(0o022)
        stage = "chdir"
        os.chdir(launch["working_dir"])
        stage = "exec"
        execute(command, launch["environment"])
    except OSError as error:
        os.write(failed, json.dumps([stage, error.errno, error.strerror]).encode())
    except Exception as error:  # any error: no other process can report it
        os.write(failed, json.dumps([stage, 0, repr(error)]).encode())
    finally:
        os._exit(CANNOT_START)


def execute(command: list[str], environment: dict[str, str]) -> None:
    """Become ``command``, found by ``PATH``. Returns never; raises ``OSError``.

    Not ``os.execvpe``, which imports modules that the command's user may not be able to read.
    """
    name, denied = command[0], None
    if "/" in name:
        os.execve(name, command, environment)
    for place in environment.get("PATH", os.defpath).split(":"):
        try:
            os.execve(f"{place or '.'}/{name}", command, environment)
        except PermissionError as error:
            denied = error
        except (FileNotFoundError, NotADirectoryError):
            continue
    raise denied or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def take_identity(launch: dict[str, Any]) -> None:
    if launch.get("open_files") is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, tuple(launch["open_files"]))
    if launch["user"] is not None:
        uid, gid, groups = launch["user"]
        os.setgroups(groups)
        os.setgid(gid)
        os.setuid(uid)
    if launch["no_new_privileges"]:
        prctl(PR_SET_NO_NEW_PRIVS)


def kill_strays(group: int) -> bool:
    """SIGKILL what the container left behind; True while there is something.

    As subreaper we inherit every stray process sooner or later, from any session. Where the kernel does not
    list our children, the command's process group has to do.
    """
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            strays = [int(pid) for pid in file.read().split()]
    except OSError:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        return False
    for pid in strays:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(strays)
