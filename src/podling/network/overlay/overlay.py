"""The loop that keeps this machine's overlay as the Node objects say.

Every change of a Node leads to a new plan; while there are peers, the kernel's state is compared with the
plan every few seconds, and what another program deleted or changed is restored, with an event on the Node.
Without the API server everything stays: the loop does nothing before it has read the nodes.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Node
from podling.client.base import Key
from podling.client.events import EventRecorder
from podling.client.informer import Informer
from podling.network import firewall
from podling.network.assignment import agree, parse_blocks
from podling.network.blocks import Blocks
from podling.network.generation import generation
from podling.network.overlay import kernel
from podling.network.overlay.kernel import OverlayNames
from podling.network.overlay.node_condition import NetworkCondition
from podling.network.overlay.overlay_plan import Plan, plan_of
from podling.network.overlay.overlay_rules import overlay_table, removal, ruleset
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import commands
from podling.runtime.oci.threads import in_thread

logger = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
BLOCKS_SECONDS = 0.1
"""The pause until the pod network may use the blocks that the node was assigned."""
GRACE_SECONDS = 1.0
"""The age of a node without blocks at which its condition says so."""


class OverlaySettings(Struct, frozen=True, kw_only=True):
    """The overlay of one node.

    ``cluster_id`` names the tunnel, which the nodes of a machine share; ``table`` is the node's own. A node
    that ``needs_block`` has no network before the controller assigned it one.
    """

    node: str
    cluster_id: str
    table: str
    mode: str
    needs_block: bool = True


class PodBlocks(Protocol):
    """The network of this node's pods, as far as the overlay needs it."""

    @property
    def mtu(self) -> int:
        """The largest packet of a pod."""
        ...

    @property
    def blocks(self) -> Blocks:
        """The node's blocks that are in use. Raises ``RuntimeFailure`` before any are."""
        ...


class Overlay:
    """The overlay of the machine of one node, whose pods have ``network``."""

    def __init__(
        self,
        settings: OverlaySettings,
        nodes: Informer[Node],
        network: PodBlocks,
        condition: NetworkCondition,
        recorder: EventRecorder,
    ) -> None:
        self._settings = settings
        self._names = OverlayNames.of(settings.cluster_id)
        self._nodes = nodes
        self._network = network
        self._condition = condition
        self._recorder = recorder
        self._changed = asyncio.Event()
        self._plan = Plan()
        self._is_settled = False
        self._rules = ""
        self._generation = 0
        self._listing = ""
        nodes.add_handler(self._look, self._compare, self._look)

    def _look(self, _node: Node) -> None:
        self._changed.set()

    def _compare(self, old: Node, new: Node) -> None:
        """Pass over heartbeats: they come from every node every ten seconds."""
        moved = (old.spec.pod_cidrs, old.status.addresses) != (new.spec.pod_cidrs, new.status.addresses)
        own = new.metadata.name == self._settings.node
        if moved or (own and old.status.conditions != new.status.conditions):
            self._changed.set()

    async def run(self) -> None:
        """Keep the overlay until cancelled."""
        await self._nodes.synced()
        before: tuple[str, ...] = ()
        began = clock.monotonic()
        while True:
            self._changed.clear()
            if missing := self._missing_blocks():
                if clock.monotonic() - began >= GRACE_SECONDS:
                    await self._condition.write(self._own_node(), missing)
                await clock.wait_for(self._changed, BLOCKS_SECONDS)
                continue
            problems = await self._reconcile()
            for problem in problems:
                if problem not in before:
                    self._report("NodeNetworkProblem", problem)
            await self._condition.write(self._own_node(), "; ".join(problems))
            before = problems
            busy = bool(self._plan.peers or problems)
            await clock.wait_for(self._changed, CHECK_SECONDS if busy else None)

    async def _reconcile(self) -> tuple[str, ...]:
        """Bring the kernel's state to what the nodes say; return what cannot be done."""
        nodes = {node.metadata.name or "": node for node in self._nodes.values()}
        plan = plan_of(self._settings.node, nodes, self._settings.mode)
        if plan is None:
            self._plan = Plan()
            return ()
        try:
            outcome = await in_thread(lambda: kernel.apply(self._names, plan, self._network.mtu))
            changes = [*outcome.changes, *await self._write_rules(plan)]
        except (OSError, RuntimeFailure) as error:
            return (f"the network between nodes cannot be made: {error}",)
        if changes and plan == self._plan and self._is_settled:  # nothing changed in the API
            self._report("NodeNetworkRestored", "; ".join(changes))
        self._plan, self._is_settled = plan, not outcome.problems
        return outcome.problems

    def _missing_blocks(self) -> str:
        """Return why the pods do not use the blocks that the node was assigned; empty if they do."""
        node = self._own_node()
        if node is None:
            return "the node is not registered"
        assigned = parse_blocks(node.spec.pod_cidrs)
        if assigned is None:
            empty = "the node has no block of pod addresses: its spec.podCIDRs are empty"
            return empty if self._settings.needs_block else ""
        try:
            used = agree(assigned, self._network.blocks)
        except RuntimeFailure as error:
            return str(error)
        return "" if used else f"the pod network does not use {', '.join(node.spec.pod_cidrs)} yet"

    async def _write_rules(self, plan: Plan) -> list[str]:
        """Write the table if the plan or another program changed it; return what was wrong."""
        table = self._settings.table
        rules = ruleset(table, self._names.device, plan) if plan.peers else ""
        damage = ""
        if rules == self._rules:
            damage = await self._damage() if rules else ""
            if not damage:
                return []
        await firewall.apply(rules or removal(table))
        self._rules, self._listing = rules, ""
        if rules:
            self._listing = await self._list()
            self._generation = await in_thread(generation)
            for version in sorted(plan.families):
                await firewall.open_forwarding(self._names.device, version)
        return [damage] if damage else []

    async def _damage(self) -> str:
        """Return what is wrong with the table. It is listed only after some program changed any rule."""
        current = await in_thread(generation)
        if current == self._generation:
            return ""
        name = overlay_table(self._settings.table)
        try:
            if await self._list() != self._listing:
                return f"the nftables table {name} was changed"
        except RuntimeFailure:
            return f"the nftables table {name} was missing"
        self._generation = current
        return ""

    async def _list(self) -> str:
        name = overlay_table(self._settings.table)
        return (await commands.run(["nft", "-s", "list", "table", "inet", name], deadline=30.0)).output

    def _own_node(self) -> Node | None:
        return self._nodes.get(Key("", self._settings.node))

    def _report(self, reason: str, text: str) -> None:
        logger.warning("%s", text)
        if (node := self._own_node()) is not None:
            self._recorder.event(node, "Warning", reason, text)


async def remove(cluster_id: str, table: str) -> None:
    """Remove all of it from the machine: ``podling down``. Raises ``RuntimeFailure``."""
    names = OverlayNames.of(cluster_id)
    try:
        await in_thread(lambda: kernel.remove(names))
    except OSError as error:
        raise RuntimeFailure(f"the tunnel {names.device} cannot be removed: {error}") from error
    await firewall.apply(removal(table))
    await firewall.close_forwarding(names.device)
