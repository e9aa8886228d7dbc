"""Changes of elements alone as messages of the kernel. Pure.

Most changes of pods are such. The messages cost what the change costs, while ``nft`` reads the names of all
sets and chains first.
"""

from __future__ import annotations

from ipaddress import ip_address

from podling.network.nftables.batches import Batch
from podling.network.nftables.expressions import GOTO, verdict_data
from podling.network.policy.rendering import FAMILY
from podling.network.policy.tables import Changes


def element_batch(table: str, changes: Changes) -> Batch | None:
    """Return the transaction; None if the changes are not only of elements."""
    if changes.new_sets or changes.new_chains or changes.old_sets or changes.old_chains:
        return None
    batch = Batch(FAMILY, table)
    for name, removed in changes.removed.items():
        batch.delete_elements(name, map(key_of, removed))
    for name, added in changes.added.items():
        elements = (
            (key_of(element), verdict_data(GOTO, verdict) if verdict else b"")
            for element, verdict in added.items()
        )
        batch.add_elements(name, elements)
    return batch


def key_of(element: str) -> bytes:
    """Return an element, addresses and ports joined by dots, as registers hold it: in words of four bytes."""
    return b"".join(
        int(part).to_bytes(2, "big") + bytes(2) if part.isdigit() else ip_address(part).packed
        for part in element.split(" . ")
    )
