"""The kernel's longest wait of a starting container, begun earlier.

Moving a process into a cgroup takes a lock that is tuned for readers: the first writer after a quiet moment
waits for an RCU grace period (8 to 20 ms), those shortly after it do not. The start of a sandbox therefore
first moves this very process into the cgroup in which it is, which changes nothing but makes the kernel wait
now, in a thread of ours, while namespaces, network and files are made. Cgroups cannot be made or removed
during the wait, so it begins right after the pod's own was made.
"""

from __future__ import annotations

import _thread
import os
import threading
from contextlib import suppress
from pathlib import Path

from podling.runtime.oci.detect import CGROUP_ROOT


def own_cgroup(text: str, root: Path, *, unified: bool) -> Path:
    """Return the directory of one cgroup this process is in, from the text of /proc/self/cgroup."""
    for line in text.splitlines():
        number, names, path = line.split(":", 2)
        if unified and number == "0":
            return root / path.lstrip("/")
        if not unified and names and not names.startswith("name="):
            return root / names / path.lstrip("/")
    return root


class WarmUp:
    """Makes the kernel wait; calls while it does join it."""

    def __init__(self, *, unified: bool) -> None:
        own = own_cgroup(Path("/proc/self/cgroup").read_text(), CGROUP_ROOT, unified=unified)
        self._file = own / "cgroup.procs"
        self._descriptor = -1
        self._going_on = threading.Lock()

    def begin(self) -> None:
        """Return at once; a thread started here waits."""
        _thread.start_new_thread(self.wait, ())

    def wait(self) -> None:
        """Return when the kernel has waited; at once if another thread waits already."""
        if not self._going_on.acquire(blocking=False):
            return
        try:
            # A cgroup that refuses only means that nothing is won.
            with suppress(OSError):
                if self._descriptor < 0:
                    self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CLOEXEC)
                # One system call and no other: after each, the thread may have to wait for the interpreter.
                os.write(self._descriptor, b"%d" % os.getpid())
        finally:
            self._going_on.release()

    def close(self) -> None:
        """Let the cgroup's file go, after the wait that goes on."""
        with self._going_on:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
