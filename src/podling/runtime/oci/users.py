"""The user of a container: names and numbers resolved in the image's own passwd and group files.

The rules are those of the CRI: a user may be ``name``, ``uid``, ``name:group`` or ``uid:gid``; a number
is looked up by number only and without an entry runs with group 0; a name without an entry is an error.
With policy ``Merge`` the image's groups for that user join the pod's supplemental groups, with ``Strict``
they do not.
"""

from __future__ import annotations

from msgspec import Struct

from podling.runtime.base import IdRange, RuntimeFailure, Security
from podling.runtime.user_ids import id_number, is_number


class User(Struct, frozen=True):
    """A resolved identity; ``groups`` are the supplemental ones with the primary group, sorted."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


class _Entry(Struct, frozen=True):
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


def check_user(user: User, users: IdRange | None) -> None:
    """Raise ``RuntimeFailure`` for IDs that a pod with users of its own does not have."""
    if users is None:
        return
    for kind, number in (("user", user.uid), ("group", user.gid), *(("group", each) for each in user.groups)):
        if number >= users.count:
            text = f"must be in the range 0-{users.count - 1} when `hostUsers` is false"
            raise RuntimeFailure(
                f"{kind} ID {number} does not exist in the user namespace of the pod: {text}"
            )


def _find_user(name: str, passwd: str) -> _Entry:
    wanted = name or "0"
    number = id_number(wanted)
    if number is not None or not is_number(wanted):
        for fields in _lines(passwd, numbers=(2, 3)):
            uid = int(fields[2])
            if uid == number or (number is None and fields[0] == wanted):
                return _Entry(fields[0], uid, int(fields[3]))
    if number is not None:
        return _Entry("root" if number == 0 else "", number, 0)
    raise RuntimeFailure(f"unable to find user {wanted}: no matching entries in passwd file")


def _find_group(name: str, group: str) -> int:
    number = id_number(name)
    if number is not None:
        return number
    for fields in _lines(group, numbers=(2,)):
        if fields[0] == name and not is_number(name):
            return int(fields[2])
    raise RuntimeFailure(f"unable to find group {name}: no matching entries in group file")


def _memberships(user: str, group: str) -> set[int]:
    if not user:
        return set()
    lines = [fields for fields in _lines(group, numbers=(2,)) if len(fields) > 3]
    return {int(fields[2]) for fields in lines if user in fields[3].split(",")}


def _lines(text: str, *, numbers: tuple[int, ...]) -> list[list[str]]:
    """Return the lines of a passwd or group file, split; malformed ones are passed over as libc does."""
    split = (line.strip().split(":") for line in text.splitlines())
    return [
        fields
        for fields in split
        if len(fields) > numbers[-1] and all(id_number(fields[position]) is not None for position in numbers)
    ]
