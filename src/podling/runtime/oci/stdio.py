"""The owner of a process' standard streams in a pod with a user namespace.

The streams are pipes that the node's root made. A process may open its own again (``/dev/stderr``) only if
they belong to its user, and an OCI runtime inside of the namespace cannot give them away.

A process without input reads an ended pipe there, too: never the node's ``/dev/null``, which crun before 1.24
makes its user's, who could then close it to every program of the node. An earlier version of Podling let crun
do so for some milliseconds of each start. If it was killed then, the device is root's again when the runtime
starts.
"""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from podling.runtime.base import IdRange
from podling.runtime.oci.records import ContainerRecord

logger = logging.getLogger(__name__)

NULL = Path(os.devnull)
NULL_MODE = 0o666


def stdio_owner(record: ContainerRecord, users: IdRange | None) -> tuple[int, int] | None:
    """Return the node's IDs of the container's user and group; None without a user namespace."""
    if users is None or record.user is None:
        return None
    user, group, _ = record.user
    return users.first + user, users.first + group


def restore_null() -> None:
    """Make ``/dev/null`` root's again, open to all, if an OCI runtime gave it away."""
    try:
        found = NULL.stat()
        if not stat.S_ISCHR(found.st_mode):
            return
        if (found.st_uid, found.st_gid) != (0, 0):
            os.chown(NULL, 0, 0)
        if stat.S_IMODE(found.st_mode) != NULL_MODE:
            NULL.chmod(NULL_MODE)
    except OSError as error:
        logger.warning("%s cannot be made root's again: %s", NULL, error)


def give_stdio(record: ContainerRecord, users: IdRange | None) -> None:
    """Give the pipes of a created container's process to its user; a terminal is the pod's own.

    Raises ``OSError``.
    """
    owner = stdio_owner(record, users)
    if owner is None:
        return
    for number in range(3):
        place = f"/proc/{record.pid}/fd/{number}"
        with suppress(FileNotFoundError):
            if stat.S_ISFIFO(os.stat(place).st_mode):
                os.chown(place, *owner)
