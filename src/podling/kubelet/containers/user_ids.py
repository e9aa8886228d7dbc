"""The node's user and group IDs that pods with users of their own (``hostUsers: false``) have. Pure.

The IDs are divided into blocks of one length, of which a pool belongs to the pods: all but the first one,
which is the node's own, unless the machine's administrator has given the user ``kubelet`` certain ones. The
last block is never assigned, because its last ID is the invalid one (``pkg/kubelet/userns``).
"""

from __future__ import annotations

import json
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


class Pool(Struct, frozen=True):
    """The blocks of a node's pods, by number: block ``n`` begins with the ID ``n`` times its length."""

    first: int
    end: int
    """The number after the last one."""


def blocks(count: int) -> int:
    """Return how many pods a node has IDs for."""
    return max(0, _IDS // count - 2)


def default_pool(count: int) -> Pool:
    """Return the pool of a machine that gives its kubelet no certain IDs, for ``count`` IDs a pod."""
    return Pool(1, 1 + blocks(count))


def given_pool(first: int, length: int, count: int, max_pods: int) -> Pool:
    """Return the pool of ``length`` IDs from ``first``.

    Raises ``ValueError`` if they cannot be divided among the pods.
    """
    assigned = "kubelet user assigned ID"
    if first % count:
        raise ValueError(f"{assigned} {first} is not a multiple of {count}")
    if first < count:
        raise ValueError(f"{assigned} {first} must be greater or equal to {count}")
    if length % count:
        raise ValueError(f"{assigned}s length {length} is not a multiple of {count}")
    if length // count < max_pods:
        raise ValueError(f"{assigned}s are not enough to support {max_pods} pods")
    return Pool(first // count, min((first + length) // count, _IDS // count - 1))


def subordinate_ids(output: str) -> tuple[int, int]:
    """Return the first ID and the number of IDs in the output of ``getsubids``.

    Raises ``ValueError`` unless it is one line with one range.
    """
    lines = output.strip("\n").split("\n")
    if len(lines) != 1:
        raise ValueError(f"error parsing line {json.dumps(output)}: it must contain only one line")
    parts = lines[0].split()
    if len(parts) != 4:
        raise ValueError(f"invalid line {json.dumps(output)}")
    return _number(parts[2], output), _number(parts[3], output)


def _number(text: str, output: str) -> int:
    problem = ""
    if not (text.isascii() and text.isdigit()):
        problem = "invalid syntax"
    elif int(text) >= _IDS:
        problem = "value out of range"
    if problem:
        quoted = json.dumps(text)
        raise ValueError(
            f"error parsing line {json.dumps(output)}: strconv.ParseUint: parsing {quoted}: {problem}"
        )
    return int(text)


def next_block(used: Collection[IdRange], last: int, count: int, pool: Pool) -> IdRange | None:
    """Return a block of ``count`` IDs that overlaps none of ``used``; None if all are taken.

    It is the first free one after the ID ``last``, so that a released block is used again as late as
    possible: files of an earlier pod may be left with its IDs.
    """
    taken = {
        block
        for each in used
        for block in range(each.first // count, (each.first + each.count - 1) // count + 1)
    }
    size = pool.end - pool.first
    begin = max(last // count - pool.first, -1)
    for step in range(1, size + 1):
        block = pool.first + (begin + step) % size
        if block not in taken:
            return IdRange(first=block * count, count=count)
    return None


def mapping_text(users: IdRange) -> bytes:
    """Return the content of a pod's file."""
    one = (_Mapping(host_id=users.first, container_id=0, length=users.count),)
    return msgspec.json.encode(_Mappings(uids=one, gids=one))


def read_mapping(content: bytes, count: int, pool: Pool) -> IdRange:
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
    if not pool.first <= one.host_id // count < pool.end:
        raise ValueError(f"id {one.host_id} is out of range")
    return IdRange(first=one.host_id, count=count)
