"""The Node object's upkeep: registers it, reports its status, and renews its lease.

The first status follows the registration at once, so a node is Ready as soon as its runtime is. After
that the status is computed every ten seconds, and sent when it changed or after five minutes. The lease,
renewed every ten seconds, is the heartbeat
(``pkg/kubelet/kubelet_node_status.go``, ``component-helpers/apimachinery/lease``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import structs

from podling import clock, ids
from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Unreachable
from podling.client.informer import revision_number
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.node.machine import Machine
from podling.kubelet.node.node_events import STARTING, node_events
from podling.kubelet.node.node_status import (
    NodeHealth,
    equal_except_heartbeat,
    initial_node,
    node_status,
    reconcile_node,
)
from podling.kubelet.rounds import Rounds
from podling.machinery.errors import ApiError, is_already_exists, is_conflict, is_not_found
from podling.runtime.changes import Changes
from podling.runtime.failures import ImageFailure, RuntimeFailure
from podling.runtime.image_service import Image

logger = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
RENEW_FRACTION = 0.25
RENEW_JITTER = 0.04
STATUS_TRIES = 5
RETRY_SECONDS = 0.2
RETRY_SECONDS_MAX = 7.0


class NodeAgent:
    """Keeps one node's object in the API.

    Args:
        health: returns the facts for the conditions.
        changes: notes changes of the node that come from the API.
    """

    def __init__(
        self,
        deps: KubeletDeps,
        machine: Machine,
        hostname: str,
        health: Callable[[], NodeHealth],
        changes: Changes,
    ) -> None:
        self._deps = deps
        self._machine = machine
        self._hostname = hostname
        self._health = health
        self._node: Node | None = None
        self._reported_at: datetime | None = None
        self._settled_facts: tuple[Node, NodeHealth, tuple[Image, ...]] | None = None
        """Facts of which the last round found that the node's status shows them."""
        self._was_cut_off = False
        """The API server did not answer for a while: the node may have been marked as silent there."""
        self._changes = changes
        self._rounds = Rounds(deps.config.node_status_update_frequency, deps, changes)
        self._was_unschedulable: bool | None = None
        self.ready = asyncio.Event()
        """Set once the node is Ready in the API."""

    @property
    def node(self) -> Node:
        """Return the node as last written or read; before that, as it will register itself."""
        if self._node is not None:
            return self._node
        config, now = self._deps.config, clock.now()
        planned = initial_node(self._deps.node_name, self._hostname, self._machine, config, now)
        status = node_status(planned.status, self._machine, config, self._hostname, NodeHealth(), (), now)
        return structs.replace(planned, status=status)

    def node_updated(self, node: Node) -> None:
        """Take in the node's object from the API."""
        if self._node is None or revision_number(node) > revision_number(self._node):
            self._node = node
            self._changes.note()

    def node_deleted(self) -> None:
        """Register the node again at once: its object was deleted."""
        self._node = None
        self._rounds.request()

    def request_report(self) -> None:
        """Report without waiting: the facts for the conditions may have changed."""
        self._rounds.request()

    async def run(self) -> None:
        """Register, then report until cancelled."""
        failures = 0
        pause: float | None
        with self._rounds.follow():
            while True:
                try:
                    await self._report()
                    failures, pause = 0, None
                except (ApiError, Unreachable, RuntimeFailure) as error:
                    failures += 1
                    pause = min(RETRY_SECONDS * 2.0 ** min(failures - 1, 20), RETRY_SECONDS_MAX)
                    logger.warning("the node's status could not be reported: %s", error)
                frequency = self._deps.config.node_status_report_frequency
                await self._rounds.next(
                    within=self._seconds_to_report(), report_period=frequency, pause=pause
                )

    async def _report(self) -> None:
        """Write the node's status if it is due. Raises ``ApiError``, ``Unreachable``."""
        images = await self._images()
        for attempt in range(STATUS_TRIES):
            known = self._node if attempt == 0 and not self._was_cut_off else None
            node = known if known is not None else await self._get_or_register()
            self._was_cut_off = False
            facts, is_due = (node, self._health(), images), self._is_due(clock.steady_now())
            if facts == self._settled_facts and not is_due:
                self._node = node
                return
            status = node_status(
                node.status, self._machine, self._deps.config, self._hostname, *facts[1:], clock.now()
            )
            if not is_due and equal_except_heartbeat(status, node.status):
                self._node, self._settled_facts = node, facts
                self._record_events(node, node)
                return
            try:
                written = await self._deps.client.update(
                    structs.replace(node, status=status), subresource="status"
                )
            except ApiError as error:
                if not (is_conflict(error) or is_not_found(error)):
                    raise
                self._node = None
                continue
            self._record_events(node, written)
            self._node, self._reported_at = written, clock.steady_now()
            if any(found.type == "Ready" and found.status == "True" for found in written.status.conditions):
                self.ready.set()
            return

    def _record_events(self, before: Node, written: Node) -> None:
        record = self._deps.recorder.event
        if self._reported_at is None:
            record(written, "Normal", *STARTING)
        changes = node_events(before.status.conditions, written, was_unschedulable=self._was_unschedulable)
        for reason, message in changes:
            record(written, "Normal", reason, message)
        self._was_unschedulable = bool(written.spec.unschedulable)

    def _is_due(self, now: datetime) -> bool:
        if self._reported_at is None:
            return True
        return now - self._reported_at >= timedelta(seconds=self._deps.config.node_status_report_frequency)

    def _seconds_to_report(self) -> float:
        """Return the time until the status is sent though it has not changed."""
        if self._reported_at is None:
            return 0.0
        since = (clock.steady_now() - self._reported_at).total_seconds()
        return max(0.0, self._deps.config.node_status_report_frequency - since)

    async def _images(self) -> tuple[Image, ...]:
        try:
            return await self._deps.runtime.images.list_images()
        except (RuntimeFailure, ImageFailure) as error:
            logger.warning("the node's images cannot be listed: %s", error)
            return ()

    async def _get_or_register(self) -> Node:
        """Return the node in the API, registered by the kubelet if it may. Raises ``ApiError``."""
        client, name = self._deps.client, self._deps.node_name
        config = self._deps.config
        planned = initial_node(name, self._hostname, self._machine, config, clock.now())
        try:
            node = await client.get(Node, name)
        except ApiError as error:
            if not is_not_found(error) or not config.register_node:
                raise
            try:
                return await client.create(planned)
            except ApiError as refusal:
                if not is_already_exists(refusal):
                    raise
                node = await client.get(Node, name)
        if not config.register_node:
            return node
        wanted = reconcile_node(node, planned)
        return node if wanted is node else await client.update(wanted)

    async def renew_lease(self) -> None:
        """Renew the node's lease until cancelled."""
        seconds = self._deps.config.node_lease_duration_seconds * RENEW_FRACTION
        failures = 0
        lease: Lease | None = None
        while True:
            try:
                lease = await self._renew(lease)
                if failures:
                    self._was_cut_off = True
                    self._rounds.request()
                failures = 0
                pause = ids.uniform(seconds, seconds * (1 + RENEW_JITTER))
                if self._deps.keep_lease is not None and lease.metadata.owner_references:
                    await self._deps.keep_lease(lease, seconds)
                    lease, pause = None, 0.0
            except (ApiError, Unreachable) as error:
                lease = None
                failures += 1
                pause = min(RETRY_SECONDS * 2.0 ** min(failures - 1, 20), RETRY_SECONDS_MAX)
                level = logging.DEBUG if failures < STATUS_TRIES else logging.WARNING
                logger.log(level, "the node's lease could not be renewed: %s", error)
            await clock.sleep(pause)

    async def _renew(self, lease: Lease | None) -> Lease:
        client, name = self._deps.client, self._deps.node_name
        if lease is None:
            try:
                lease = await client.get(Lease, name, LEASE_NAMESPACE)
            except ApiError as error:
                if not is_not_found(error):
                    raise
                return await client.create(self._new_lease(), namespace=LEASE_NAMESPACE)
        spec = structs.replace(
            lease.spec,
            holder_identity=name,
            lease_duration_seconds=self._deps.config.node_lease_duration_seconds,
            renew_time=clock.now(),
        )
        metadata = lease.metadata
        if not metadata.owner_references:
            metadata = structs.replace(metadata, owner_references=self._owner())
        return await client.update(structs.replace(lease, spec=spec, metadata=metadata))

    def _new_lease(self) -> Lease:
        name = self._deps.node_name
        return Lease(
            metadata=ObjectMeta(name=name, namespace=LEASE_NAMESPACE, owner_references=self._owner()),
            spec=LeaseSpec(
                holder_identity=name,
                lease_duration_seconds=self._deps.config.node_lease_duration_seconds,
                renew_time=clock.now(),
            ),
        )

    def _owner(self) -> tuple[OwnerReference, ...]:
        if self._node is None:
            return ()
        metadata = self._node.metadata
        return (
            OwnerReference(api_version="v1", kind="Node", name=metadata.name or "", uid=metadata.uid or ""),
        )
