"""A view of the mounts in which the OCI runtime joins containers fast: it holds only the mounts it needs.

crun reads the whole mount table each time it is called, and every pod adds some lines to the machine's: on a
node full of pods that is most of what an ``exec`` costs. A thread that is about to call it for a container
that runs enters this view instead, which is made once and holds no pod's mounts (nor, where the runtime must
not see it, the version 2 hierarchy; see ``detect``). The container's own mounts are joined by its process.

The view keeps no mount of a pod alive: mounts that are no part of the system itself are detached from it, and
later mounts never appear in it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from podling.runtime.oci import commands, linux

SYSTEM = ("/proc", "/sys", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/nix")
"""Directories that programs need; kept with all that is mounted below."""


def unneeded(mountinfo: str, needed: Sequence[PurePath]) -> tuple[PurePath, ...]:
    """Return the mount points that the view can do without, the innermost first, from /proc/self/mountinfo.

    A mount stays if it is the system's, or if one of the ``needed`` paths lies on it.
    """
    points = [PurePath(_unescaped(line.split(" ", 5)[4])) for line in mountinfo.splitlines()]
    system = [PurePath(path) for path in SYSTEM]
    found = {
        point
        for point in points
        if not any(point.is_relative_to(path) for path in system)
        and not any(path.is_relative_to(point) for path in (*needed, *system))
    }
    return tuple(sorted(found, key=lambda point: len(point.parts), reverse=True))


def _unescaped(text: str) -> str:
    for code in ("040", "011", "012", "134"):
        text = text.replace(f"\\{code}", chr(int(code, 8)))
    return text


class LeanView:
    """One such view, made when it is first entered.

    Args:
        needed: directories that must be seen, beside the system's own.
        hide_unified: cover the version 2 cgroup hierarchy.
    """

    def __init__(self, needed: Sequence[Path], *, hide_unified: bool) -> None:
        self._needed = tuple(needed)
        self._hide_unified = hide_unified
        self._descriptor = -1
        self._making = threading.Lock()

    def enter(self) -> None:
        """Put the calling thread into the view; it must be a thread of its own. Raises ``OSError``."""
        with self._making:
            if self._descriptor < 0:
                self._descriptor = self._make()
                return
        # Threads share one idea of where the root is, and none that shares it may change its mounts.
        linux.unshare(linux.CLONE_FS)
        linux.setns(self._descriptor, linux.CLONE_NEWNS)

    def _make(self) -> int:
        linux.unshare(linux.CLONE_NEWNS)
        linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
        for point in unneeded(Path("/proc/thread-self/mountinfo").read_text(), self._needed):
            # One that lay on another which has just gone is gone with it.
            with suppress(OSError):
                linux.unmount(Path(point))
        if self._hide_unified:
            commands.cover_unified()
        return os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Let the view go."""
        with self._making:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
