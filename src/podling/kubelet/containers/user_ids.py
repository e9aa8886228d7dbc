"""The node's user and group IDs that pods with users of their own (``hostUsers: false``) have. Pure.

The IDs are divided into blocks of one length. The first block is the node's own. The last one is not
assigned, because its last ID is the invalid one (``pkg/kubelet/userns``).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from podling.runtime.base import IdRange

IDS_UNIT = 65536
"""The number of a pod's IDs is a multiple of this."""
_IDS = 1 << 32


class _Mapping(Struct, frozen=True, kw_only=True, rename="camel"):
    host_id: int
    container_id: int
    length: int


class _Mappings(Struct, frozen=True, kw_only=True, rename={"uids": "uidMappings", "gids": "gidMappings"}):
    """The file's content, in Kubernetes' form."""

    uids: tuple[_Mapping, ...]
    gids: tuple[_Mapping, ...]


def blocks(count: int) -> int:
    """Return how many pods a node has IDs for."""
    return max(0, _IDS // count - 2)


def next_block(used: Collection[IdRange], last: int, count: int) -> IdRange | None:
    """Return a block of ``count`` IDs that overlaps none of ``used``; None if all are taken.

    It is the first free one after the ID ``last``, so that a released block is used again as late as
    possible: files of an earlier pod may be left with its IDs.
    """
    taken = {
        block
        for each in used
        for block in range(each.first // count, (each.first + each.count - 1) // count + 1)
    }
    last_block = blocks(count)
    begin = last // count
    for step in range(1, last_block + 1):
        block = (begin + step - 1) % last_block + 1
        if block not in taken:
            return IdRange(first=block * count, count=count)
    return None


def mapping_text(users: IdRange) -> bytes:
    """Return the content of a pod's file."""
    one = (_Mapping(host_id=users.first, container_id=0, length=users.count),)
    return msgspec.json.encode(_Mappings(uids=one, gids=one))


def read_mapping(content: bytes, count: int) -> IdRange:
    """Return the IDs in a pod's file. Raises ``ValueError`` if it is not one that this kubelet wrote."""
    try:
        found = msgspec.json.decode(content, type=_Mappings)
    except msgspec.MsgspecError as error:
        raise ValueError(f"invalid user namespace mappings file: {error}") from error
    if found.uids != found.gids or len(found.uids) != 1:
        raise ValueError("invalid user namespace configuration: GID and UID mappings should be identical")
    (one,) = found.uids
    if one.container_id != 0:
        raise ValueError("invalid user namespace configuration: UID 0 must be mapped")
    if one.length != count:
        raise ValueError(f"wrong user namespace length {one.length}")
    if one.host_id % count != 0:
        raise ValueError(f"wrong user namespace offset specified {one.host_id}")
    if not 0 < one.host_id // count <= blocks(count):
        raise ValueError(f"id {one.host_id} is out of range")
    return IdRange(first=one.host_id, count=count)
