"""The limit of open files: raised for this process, and left as it was for the programs that it starts.

An API server has a descriptor for each connection, and the soft limit that shells give (1,024) is made for
programs that call ``select``. Go's runtime raises it in the same way when a program starts.
"""

from __future__ import annotations

import resource

OPEN_FILES_MAX = 1 << 20
"""The highest limit to set; a hard limit may be infinite, and programs iterate over all numbers below it."""

_inherited: tuple[int, int] | None = None


def raise_open_files() -> None:
    """Raise the soft limit of open files to the hard one."""
    global _inherited
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_MAX)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    _inherited = (soft, hard)


def open_files() -> int:
    """Return how many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES_MAX if soft == resource.RLIM_INFINITY else soft


def inherited_open_files() -> tuple[int, int] | None:
    """Return the soft and the hard limit before the soft one was raised; None if it was not."""
    return _inherited
