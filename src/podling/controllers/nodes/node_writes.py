"""Changes of a node's taints, safe beside concurrent changes of the node."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node, Taint
from podling.client.base import Client
from podling.controllers.nodes.taints import swapped
from podling.machinery.errors import ApiError, is_conflict, is_not_found

TRIES_MAX = 5


async def swap_taints(client: Client, node: Node, add: Iterable[Taint], remove: Iterable[Taint]) -> None:
    """Add and remove taints, on a fresh copy of the node if ``node`` is an old one.

    A node that is gone needs no taints. Raises the last conflict after 5 tries.
    """
    add, remove = tuple(add), tuple(remove)
    for attempt in range(TRIES_MAX):
        taints = swapped(node.spec.taints, add, remove, clock.now())
        if taints is node.spec.taints:
            return
        try:
            await client.update(structs.replace(node, spec=structs.replace(node.spec, taints=taints)))
            return
        except ApiError as error:
            if is_not_found(error):
                return
            if not is_conflict(error) or attempt == TRIES_MAX - 1:
                raise
        try:
            node = await client.get(Node, node.metadata.name or "")
        except ApiError as error:
            if is_not_found(error):
                return
            raise
