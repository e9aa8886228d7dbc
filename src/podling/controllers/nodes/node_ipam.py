"""Gives every node a block of pod addresses of each of the cluster's ranges: ``spec.podCIDRs``.

A node that names blocks in an annotation gets them if they are free. Assignments are never changed: the API
server refuses it. A block becomes free when its node is deleted. After a restart the nodes in the API say
which blocks are in use, so none is given out twice. When the range has no free block, the node gets an event
and waits for the deletion of another one.

Differs from upstream in one respect: after a refused write the block stays reserved for its node and is
written again later. Upstream: ``pkg/controller/nodeipam/ipam`` (``range_allocator``).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from podling.api.core_v1 import Node
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, Terminal
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.nodes.pod_blocks import (
    PREFERRED_ANNOTATION,
    PodBlocks,
    RangeFull,
    parse_blocks,
)
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.machinery.histograms import counters, gauges, histograms
from podling.machinery.network_ranges import DEFAULT_RANGES, Network
from podling.machinery.node_masks import NODE_PREFIX

logger = logging.getLogger(__name__)

NOT_AVAILABLE = "CIDRNotAvailable"
ASSIGNMENT_FAILED = "CIDRAssignmentFailed"


class NodeIpamController(Controller):
    """One key for each node.

    Args:
        ranges: the cluster's ranges of pod addresses, at most one of each family, the default one first.
        prefixes: the prefix length of a node's block, by family.
    """

    name: ClassVar[str] = "node-ipam-controller"

    def __init__(
        self,
        context: ControllerContext,
        ranges: Sequence[Network] = DEFAULT_RANGES.pods,
        prefixes: Mapping[int, int] = NODE_PREFIX,
    ) -> None:
        super().__init__(context)
        self._blocks = [PodBlocks(pool, prefixes[pool.version]) for pool in ranges]
        self._reserved: dict[str, tuple[str, ...]] = {}
        """Blocks given out that the informer does not show yet."""
        self._waiting: set[Key] = set()
        self._recorder = context.recorder("cidrAllocator")
        self._nodes = context.informers.informer(Node)
        self._nodes.add_handler(self._found, self._updated, self._deleted)

    def _found(self, node: Node) -> None:
        if not node.spec.pod_cidrs:
            self.enqueue(node)
            return
        name = node.metadata.name or ""
        if self._reserved.pop(name, node.spec.pod_cidrs) != node.spec.pod_cidrs:
            self._release(name)  # another client assigned other blocks first
        self._occupy(name, node.spec.pod_cidrs)

    def _updated(self, old: Node, new: Node) -> None:
        if new.spec.pod_cidrs != old.spec.pod_cidrs or not new.spec.pod_cidrs:
            self._found(new)

    def _deleted(self, node: Node) -> None:
        """Free the node's blocks, and try the nodes that wait for one."""
        self._release(node.metadata.name or "")
        self._waiting.discard(key_of(node))
        for key in self._waiting:
            self.queue.add(key)
        self._waiting.clear()

    def _occupy(self, name: str, texts: Sequence[str]) -> None:
        for block in parse_blocks(texts):
            if not any(blocks.occupy(name, block) for blocks in self._blocks):
                logger.warning("the block %s of node %s is in none of the cluster's ranges", block, name)

    def _release(self, name: str) -> None:
        self._reserved.pop(name, None)
        for blocks in self._blocks:
            blocks.release(name)

    async def reconcile(self, key: Key) -> AwaitChange:
        node = self._nodes.get(key)
        if node is None or node.spec.pod_cidrs:
            return AwaitChange()
        wanted = self._reserved.get(key.name) or self._take(node)
        patch = {"spec": {"podCIDR": wanted[0], "podCIDRs": list(wanted)}}
        try:
            await self.client.patch(Node, key.name, patch)
        except ApiError as error:
            if is_not_found(error):  # the informer frees the block
                return AwaitChange()
            if not is_conflict(error):
                self._report(node, ASSIGNMENT_FAILED)
            raise
        return AwaitChange()

    def _take(self, node: Node) -> tuple[str, ...]:
        """Reserve a block of each range. Raises ``Terminal`` if one has none left."""
        name = node.metadata.name or ""
        preferred = parse_blocks(node.metadata.annotations.get(PREFERRED_ANNOTATION, "").split(","))
        try:
            taken = tuple(str(blocks.take(name, preferred)) for blocks in self._blocks)
        except RangeFull as error:
            self._release(name)
            self._waiting.add(key_of(node))
            self._report(node, NOT_AVAILABLE)
            raise Terminal(f"node {name} gets no pod addresses: {error}") from error
        self._reserved[name] = taken
        return taken

    def families(self) -> Iterator[Any]:
        """Yield the metrics of upstream's ``cidrset``, whose names (one is misspelt) they have."""
        each = {(str(blocks.pool),): blocks for blocks in self._blocks}
        prefix, labels = "node_ipam_controller", ("clusterCIDR",)
        for name, counts in (
            ("allocations", {key: blocks.taken for key, blocks in each.items()}),
            ("releases", {key: blocks.released for key, blocks in each.items()}),
        ):
            text = f"[ALPHA] Counter measuring total number of CIDR {name}."
            yield counters(f"{prefix}_cidrset_cidrs_{name}", text, labels, counts)
        for name, text, values in (
            (
                "cirdset_max_cidrs",
                "Maximum number of CIDRs that can be allocated.",
                {key: float(blocks.count) for key, blocks in each.items()},
            ),
            (
                "cidrset_usage_cidrs",
                "Gauge measuring percentage of allocated CIDRs.",
                {key: blocks.used for key, blocks in each.items()},
            ),
        ):
            yield gauges(f"{prefix}_{name}", f"[ALPHA] {text}", labels, values)
        yield histograms(
            f"{prefix}_cidrset_allocation_tries_per_request",
            "[ALPHA] Number of blocks in use that a search passed over",
            labels,
            {key: blocks.tries for key, blocks in each.items()},
        )

    def _report(self, node: Node, reason: str) -> None:
        text = f"Node {node.metadata.name} status is now: {reason}"
        self._recorder.event(node, "Normal", reason, text)
