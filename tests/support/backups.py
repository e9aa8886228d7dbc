"""Objects that vanish from a cluster's store and come back as they were, as from a backup of the store."""

from __future__ import annotations

import json

from podling.store.base import Encode, Entry
from podling.testing import ControlPlane


async def take_away(plane: ControlPlane, key_end: str) -> Entry:
    """Remove the one object whose key ends like this from the store; return what the store held of it."""
    (entry,) = [each for each in (await plane.store.list("/")).entries if each.key.endswith(key_end)]
    await plane.store.delete(entry.key, expect=entry.revision, encode=_as_held(entry))
    return entry


async def bring_back(plane: ControlPlane, entry: Entry) -> None:
    """Store an object again, with its UID and everything else but the revision."""
    await plane.store.put(entry.key, _as_held(entry), expect=0)


def _as_held(entry: Entry) -> Encode:
    def encode(revision: int) -> bytes:
        held = json.loads(entry.value)
        held["metadata"]["resourceVersion"] = str(revision)
        return json.dumps(held).encode()

    return encode
