"""Propagation of the machine's mounts: whether new mounts pass into a container, and back out of it.

Pure: functions over the text of /proc/self/mountinfo. A mount passes from or to a container only if the
mount its path is on is *shared* with others; requesting it on another would silently do nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from podling.runtime.base import Mount, MountPropagation, RuntimeFailure


class MountPoint(Struct, frozen=True):
    """One line of the kernel's table."""

    path: str
    shared: bool
    receives: bool
    """It is a slave: what is mounted elsewhere in its group appears here, not the other way round."""
    kind: str = ""
    """The type of its file system."""


def parse_mountinfo(text: str) -> list[MountPoint]:
    points = []
    for line in text.splitlines():
        fields = line.split(" ")
        tags = fields[6 : fields.index("-", 6)]
        points.append(
            MountPoint(
                path=_unescaped(fields[4]),
                shared=any(tag.startswith("shared:") for tag in tags),
                receives=any(tag.startswith("master:") for tag in tags),
                kind=fields[fields.index("-", 6) + 1],
            )
        )
    return points


def _unescaped(path: str) -> str:
    """Return a path as it is: the kernel writes blanks, tabs, newlines and backslashes in octal digits."""
    if "\\" not in path:
        return path
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        path = path.replace(f"\\{code}", character)
    return path


def mount_of(path: str, points: Iterable[MountPoint]) -> MountPoint:
    """The mount that ``path`` (absolute, resolved) is on; of several stacked at one place, the top one."""
    found = MountPoint("/", False, False)
    for point in points:
        inside = path == point.path or path.startswith(point.path.rstrip("/") + "/")
        if inside and len(point.path) >= len(found.path):
            found = point
    return found


def check_propagation(mount: Mount, resolved: str, points: Iterable[MountPoint]) -> None:
    """Raise ``RuntimeFailure`` when ``mount`` requests more propagation than its place on the machine has."""
    if mount.propagation is MountPropagation.NONE:
        return
    on = mount_of(resolved, points)
    if mount.propagation is MountPropagation.BIDIRECTIONAL and not on.shared:
        raise RuntimeFailure(
            f'path "{mount.host_path}" is mounted on "{on.path}" but it is not a shared mount'
        )
    if not (on.shared or on.receives):
        raise RuntimeFailure(
            f'path "{mount.host_path}" is mounted on "{on.path}" but it is not a shared or slave mount'
        )
