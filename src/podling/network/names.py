"""Names of one node on its machine, derived from its cluster. Pure.

Clusters live beside each other on one machine, and a node finds what it made in an earlier run.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct


class Names(Struct, frozen=True):
    """The names of this node's bridge, table and files; interface names have at most 15 characters."""

    bridge: str
    table: str

    @staticmethod
    def of(cluster_id: str) -> Names:
        digest = hashlib.sha256(cluster_id.encode()).hexdigest()[:10]
        return Names(bridge=f"pl-{digest}", table=f"podling_{digest}")
