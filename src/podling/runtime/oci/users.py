"""Whom a container runs as: names and numbers resolved in the image's own passwd and group files.

The rules are those of the CRI: a user may be ``name``, ``uid``, ``name:group`` or ``uid:gid``; a number
without an entry runs with group 0; a name without an entry is an error. With policy ``Merge`` the
image's groups for that user join the pod's supplemental groups, with ``Strict`` they do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from podling.runtime.base import RuntimeFailure, Security


@dataclass(frozen=True, slots=True)
class User:
    """A resolved identity; ``groups`` are the supplemental ones with the primary group, sorted."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    uid: int
    gid: int


def resolve_user(security: Security, image_user: str, passwd: str, group: str) -> User:
    """Decide the identity from the pod's wish, else the image's. Raises ``RuntimeFailure``."""
    name, _, group_name = (security.user or image_user).partition(":")
    entry = _find_user(name, passwd)
    if security.group is not None:
        gid = security.group
    elif group_name:
        gid = _find_group(group_name, group)
    else:
        gid = entry.gid
    groups = set(security.supplemental_groups) | {gid}
    if security.supplemental_groups_policy != "Strict":
        groups |= _memberships(entry.name, group)
    return User(entry.uid, gid, tuple(sorted(groups)))


def _find_user(name: str, passwd: str) -> _Entry:
    wanted = name or "0"
    for fields in _lines(passwd, numbers=(2, 3)):
        if wanted in (fields[2], fields[0]):
            return _Entry(fields[0], int(fields[2]), int(fields[3]))
    if wanted.isdigit():
        return _Entry("root" if wanted == "0" else "", int(wanted), 0)
    raise RuntimeFailure(f"unable to find user {wanted}: no matching entries in passwd file")


def _find_group(name: str, group: str) -> int:
    if name.isdigit():
        return int(name)
    for fields in _lines(group, numbers=(2,)):
        if fields[0] == name:
            return int(fields[2])
    raise RuntimeFailure(f"unable to find group {name}: no matching entries in group file")


def _memberships(user: str, group: str) -> set[int]:
    if not user:
        return set()
    lines = [fields for fields in _lines(group, numbers=(2,)) if len(fields) > 3]
    return {int(fields[2]) for fields in lines if user in fields[3].split(",")}


def _lines(text: str, *, numbers: tuple[int, ...]) -> list[list[str]]:
    """The lines of a passwd or group file, split; malformed ones are passed over as libc does."""
    split = (line.strip().split(":") for line in text.splitlines())
    return [
        fields
        for fields in split
        if len(fields) > numbers[-1] and all(fields[position].isdigit() for position in numbers)
    ]
