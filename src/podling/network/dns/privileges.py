"""The rights and the priority of the DNS process.

It starts as the node's user, takes over the sockets and opens its files. Then it becomes a user that owns
nothing but the journal: a mistake in the reading of packets is then worth nothing beyond names. The node has
set ``no_new_privs`` before, so no program gives the rights back.
"""

from __future__ import annotations

import logging
import os
import resource
from contextlib import suppress

from podling import clock

logger = logging.getLogger("podling.dns")

NOBODY = 65534
"""The user and the group: the kernel's own number for "nobody", whether or not they have a name here."""
_INSTANT = 1e-3
NORMAL_NICE, FLOOD_NICE = 0, 5
FLOOD_SHARE = 0.5
"""A process that takes more than this share of a core lets the API server and the kubelet go first."""


def drop() -> None:
    """Become ``NOBODY``, without groups and without capabilities; not where this process is not root's."""
    if os.geteuid() != 0:
        return
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError as error:  # in a user namespace that does not have this user
        logger.warning("the process keeps its user: %s", error)


def own_directory(path: str) -> int:
    """Make a directory that only ``NOBODY`` may use; return its descriptor. Raises ``OSError``."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.geteuid() == 0:
        with suppress(OSError):
            os.fchown(descriptor, NOBODY, NOBODY)
    return descriptor


def allow_priority() -> None:
    """Let this process return to the normal priority when it is not root's any more."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NICE, (20 - NORMAL_NICE, 20 - NORMAL_NICE))


def nice_for(share: float) -> int:
    """Return the niceness of a process that takes this share of a core."""
    return FLOOD_NICE if share > FLOOD_SHARE else NORMAL_NICE


class Priority:
    """Follows the load: normal as long as questions take little, below other components in a flood.

    On a busy machine a lower priority makes answers wait for several time slices of others.
    """

    def __init__(self) -> None:
        self._used, self._looked_at = _cpu_seconds(), clock.monotonic()

    def follow(self) -> float:
        """Set the priority by the share of a core taken since the last call, and return the share."""
        used, now = _cpu_seconds(), clock.monotonic()
        share = (used - self._used) / max(now - self._looked_at, _INSTANT)
        self._used, self._looked_at = used, now
        wanted = nice_for(share)
        with suppress(OSError):
            if os.getpriority(os.PRIO_PROCESS, 0) != wanted:
                os.setpriority(os.PRIO_PROCESS, 0, wanted)
        return share


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
