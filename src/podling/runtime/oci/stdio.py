"""The owner of a process' standard streams in a pod with a user namespace.

The streams are pipes that the node's root made. A process may open its own again (``/dev/stderr``) only if
they belong to its user, and an OCI runtime inside of the namespace cannot give them away.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from podling.runtime.base import IdRange
from podling.runtime.oci.records import ContainerRecord


def stdio_owner(record: ContainerRecord, users: IdRange | None) -> tuple[int, int] | None:
    """Return the node's IDs of the container's user and group; None without a user namespace."""
    if users is None or record.user is None:
        return None
    user, group, _ = record.user
    return users.first + user, users.first + group


def give_stdio(record: ContainerRecord, users: IdRange | None) -> None:
    """Give the pipes of a created container's process to its user; a terminal is the pod's own."""
    owner = stdio_owner(record, users)
    if owner is None:
        return
    for number in range(3):
        place = f"/proc/{record.pid}/fd/{number}"
        with suppress(FileNotFoundError):
            if stat.S_ISFIFO(os.stat(place).st_mode):
                os.chown(place, *owner)
