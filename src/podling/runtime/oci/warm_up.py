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
    """Begins the wait on request; requests while it goes on join it."""

    def __init__(self, *, unified: bool) -> None:
        own = own_cgroup(Path("/proc/self/cgroup").read_text(), CGROUP_ROOT, unified=unified)
        self._file = own / "cgroup.procs"
        self._going_on = threading.Lock()

    def begin(self) -> None:
        """Return at once; the thread started here ends with the kernel's wait."""
        if self._going_on.acquire(blocking=False):
            _thread.start_new_thread(self._wait, ())

    def _wait(self) -> None:
        try:
            # A cgroup that refuses only means that nothing is won.
            with suppress(OSError):
                descriptor = os.open(self._file, os.O_WRONLY | os.O_CLOEXEC)
                try:
                    os.write(descriptor, str(os.getpid()).encode())
                finally:
                    os.close(descriptor)
        finally:
            self._going_on.release()
