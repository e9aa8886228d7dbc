"""Gives the pod network the blocks of addresses that the API says: the node's ``spec.podCIDRs``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from podling import clock
from podling.api.core_v1 import Node
from podling.client.base import Key
from podling.client.informer import Informer
from podling.network.assignment import parse_blocks
from podling.network.blocks import Blocks
from podling.runtime.base import RuntimeFailure

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5.0


class BlocksUser(Protocol):
    """The part of the pod network that takes blocks."""

    async def use_blocks(self, assigned: Blocks) -> None:
        """Use the blocks from now on. Raises ``RuntimeFailure`` while it cannot."""
        ...


class NodeBlocks:
    """Follows the blocks of the node ``name``; ``used`` is called with those that the network uses."""

    def __init__(
        self,
        name: str,
        nodes: Informer[Node],
        network: BlocksUser,
        used: Callable[[Blocks], object],
    ) -> None:
        self._name = name
        self._nodes = nodes
        self._network = network
        self._used = used
        self._changed = asyncio.Event()
        nodes.add_handler(self._look, lambda _old, new: self._look(new))

    def _look(self, node: Node) -> None:
        if node.metadata.name == self._name:
            self._changed.set()

    async def run(self) -> None:
        """Follow the blocks until cancelled. A node without blocks, or a deleted one, keeps the last."""
        await self._nodes.synced()
        used: Blocks | None = None
        problem = ""
        while True:
            self._changed.clear()
            wanted = self._wanted()
            if wanted is not None and wanted != used:
                try:
                    await self._network.use_blocks(wanted)
                    used, problem = wanted, ""
                    self._used(wanted)
                except RuntimeFailure as error:
                    if problem != str(error):
                        logger.warning("the node's pod network: %s", error)
                    problem = str(error)
            await clock.wait_for(self._changed, RETRY_SECONDS if problem else None)

    def _wanted(self) -> Blocks | None:
        """Return the node's blocks, if it has any."""
        node = self._nodes.get(Key("", self._name))
        return None if node is None else parse_blocks(node.spec.pod_cidrs)
