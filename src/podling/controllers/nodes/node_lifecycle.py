"""Nodes without heartbeats: their conditions, their taints, and their pods' readiness.

Flow, for every node, each 5 s: look for signs of life (``node_health``); when there is none for too long its
conditions become Unknown and its pods not ready. A node that was seen not ready on the *previous* look waits
to be tainted NoExecute, at the rate that the state of its zone allows (``zones``); ``taint_eviction`` then
evicts its pods. NoSchedule taints follow a node's conditions at once and without a rate.

A node that was healthy at the last look is not looked at again before it changes or its grace period could
end: a renewed lease only prolongs its life. It counts from the look that would have seen the renewal.

The controller gives up no node for what it could not see itself: after an outage of the API server every
node has a whole grace period (``own_outages``), and a node's lease is read from the server before the node
is given up, as an informer may be behind for a minute after an outage.

Keys: a node's name; a pod newly bound to a node; and two passes over everything, ``MONITOR`` and ``TAINT``.
Upstream: ``pkg/controller/nodelifecycle/node_lifecycle_controller.go``.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import Struct, structs
from msgspec.structs import replace

from podling import clock
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Namespace, Node, NodeCondition, Pod, Taint
from podling.client.base import Key, Unreachable, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.nodes import taints as taint_rules
from podling.controllers.nodes.node_health import (
    Health,
    is_silent,
    observe,
    silent_after,
    silent_conditions,
)
from podling.controllers.nodes.node_labels import labels_to_set
from podling.controllers.nodes.node_metrics import NodeMetrics
from podling.controllers.nodes.node_writes import swap_taints
from podling.controllers.nodes.own_outages import OwnOutages
from podling.controllers.nodes.taints import NO_EXECUTE, NOT_READY, UNREACHABLE
from podling.controllers.nodes.zones import (
    Rates,
    TaintQueue,
    ZoneState,
    is_excluded,
    judge,
    zone_of,
)
from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions
from podling.controllers.pod_index import BY_NODE, index_pods_by_node
from podling.machinery.conditions import find, with_condition
from podling.machinery.errors import ApiError, is_conflict, is_not_found, unless_gone

logger = logging.getLogger(__name__)

MONITOR = Key("", "")
TAINT = Key("taint", "")
LEASE_NAMESPACE = "kube-node-lease"
RENEWAL = timedelta(seconds=15)
"""A kubelet renews its lease within this time after the API server has come back: it tries each 7 s."""
HEARD_WITHIN = timedelta(seconds=15)
"""One of many kubelets renews its lease within this time, while the API server works."""
SERVER_ERROR = 500
"""The first code of errors that are the server's."""

NOT_READY_TAINT = Taint(key=NOT_READY, effect=NO_EXECUTE)
UNREACHABLE_TAINT = Taint(key=UNREACHABLE, effect=NO_EXECUTE)
_BOTH = (NOT_READY_TAINT, UNREACHABLE_TAINT)


class _Healthy(Struct, frozen=True, gc=False):
    """A node that was healthy when it was looked at.

    Args:
        node: the object that was looked at.
        until: the time after which it is given up unless it gives another sign of life.
        zone: the zone that it counts in, None if it is excluded.
    """

    node: Node
    until: datetime
    zone: str | None


class NodeLifecycleController(Controller):
    name: ClassVar[str] = "node-lifecycle-controller"
    workers: ClassVar[int] = 8

    def __init__(self, context: ControllerContext, options: ControllerOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(context)
        self._options = options
        self._rates = Rates.of(options)
        self._recorder = context.recorder("node-controller")
        self._nodes = context.informers.informer(Node)
        self._leases = context.informers.informer(Lease)
        self._pods = context.informers.informer(Pod)
        index_pods_by_node(self._pods)
        self._health: dict[str, Health] = {}
        self._pods_to_mark: set[str] = set()  # nodes whose pods could not all be marked not ready
        self._zones: dict[str, ZoneState] = {}
        self._queues: dict[str, TaintQueue] = {}
        self._known: dict[str, Node] = {}
        self._healthy: dict[str, _Healthy] = {}
        self._renewed: dict[str, int] = {}
        """By node: the number of passes before the last renewal of its lease arrived."""
        grace = max(options.node_monitor_grace_period, options.node_startup_grace_period)
        self._passes: deque[datetime] = deque(maxlen=int(grace / options.node_monitor_period) + 2)
        """The times of the last passes, at least those of a grace period."""
        self._pass_count = 0
        self._nodes_changed = True
        """Nodes have come or gone since the last pass."""
        self._outages = OwnOutages(options.node_monitor_period)
        self._heard = clock.steady_now()
        """The time at which the last lease of a node arrived."""
        self._metrics = NodeMetrics()
        self._nodes.add_handler(self._node_added, self.enqueue_new, self._node_deleted)
        self._leases.add_handler(self._lease_added, lambda old, new: self._lease_added(new))
        self._pods.add_handler(self._pod_added, self._pod_changed)
        self.queue.add(MONITOR)

    def _node_added(self, node: Node) -> None:
        self._nodes_changed = True
        self.enqueue(node)

    def _node_deleted(self, node: Node) -> None:
        self._nodes_changed = True

    def _lease_added(self, lease: Lease) -> None:
        if lease.metadata.namespace == LEASE_NAMESPACE:
            self._renewed[lease.metadata.name or ""] = self._pass_count
            self._heard = clock.steady_now()

    def _pod_added(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self.enqueue(pod)

    def _pod_changed(self, old: Pod, new: Pod) -> None:
        if new.spec.node_name and new.spec.node_name != old.spec.node_name:
            self.enqueue(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        if key == MONITOR:
            return await self._monitor(clock.steady_now())
        if key == TAINT:
            return await self._taint_waiting()
        if key.namespace:
            return await self._look_at_pod(key)
        return await self._follow_node(key)

    async def _follow_node(self, key: Key) -> AwaitChange:
        """Bring a node's NoSchedule taints to its conditions, and its old labels to the new ones."""
        node = self._nodes.get(key)
        if node is not None:
            add, remove = taint_rules.state_taints(node), taint_rules.stale_state_taints(node)
            await swap_taints(self.client, node, add, remove)
            if labels := labels_to_set(node.metadata.labels):
                with unless_gone():
                    await self.client.patch(Node, key.name, {"metadata": {"labels": labels}})
        return AwaitChange()

    async def _look_at_pod(self, key: Key) -> AwaitChange:
        """A pod bound to a node that is not ready is not ready either."""
        pod = self._pods.get(key)
        node = self._nodes.get(Key("", pod.spec.node_name or "")) if pod is not None else None
        ready = find(node.status.conditions, "Ready") if node is not None else None
        if pod is not None and ready is not None and ready.status != "True":
            await self._mark_not_ready(pod)
        return AwaitChange()

    async def _monitor(self, now: datetime) -> RequeueAfter:
        """One look at every node that may not be as healthy as before; none while the server is away.

        The next look follows at its time in any case: a failure must not delay it. While all nodes are
        healthy, it finds nothing unless a heartbeat is missing.
        """
        try:
            may_last = self._outages.may_last(self._nodes.failures + self._leases.failures, now)
            if may_last or (len(self._nodes) and now - self._heard > HEARD_WITHIN):
                await self._ask_server()
            if self._outages.end(clock.steady_now()):
                self._count_anew(clock.steady_now())
            await self._look_at_all(clock.steady_now())
            self._outages.end(clock.steady_now())
        except (ApiError, Unreachable) as error:
            logger.warning("the health of nodes is judged later: %s", error)
            self._outages.begin(clock.steady_now())
            self._await_renewals(clock.steady_now())
        return RequeueAfter(
            self._options.node_monitor_period, is_round=len(self._healthy) == len(self._nodes)
        )

    async def _ask_server(self) -> None:
        """Wait for an answer of the API server: one that comes late ends an outage.

        A server that neither answers nor refuses looks like nodes that are silent all at once.
        """
        asked = clock.steady_now()
        with unless_gone():
            await self.client.get(Namespace, LEASE_NAMESPACE)
        self._outages.answered(asked, clock.steady_now())

    def _count_anew(self, now: datetime) -> None:
        """Give every node a whole grace period from now on."""
        self._healthy.clear()
        for name, health in self._health.items():
            self._health[name] = replace(health, sign_of_life=now)

    def _await_renewals(self, now: datetime) -> None:
        """Give up no node before its kubelet could renew its lease, which fails while our own writes do."""
        least = now + RENEWAL - timedelta(seconds=self._options.node_monitor_grace_period)
        for name, health in self._health.items():
            if health.sign_of_life < least:
                self._health[name] = replace(health, sign_of_life=least)

    async def _look_at_all(self, now: datetime) -> None:
        zones: dict[str, list[bool]] = {}
        nodes = self._nodes.values()
        began = clock.monotonic()
        self._passes.append(now)
        self._pass_count += 1
        if self._nodes_changed:
            await self._meet(nodes)
            self._nodes_changed = False
        for node in nodes:
            healthy = self._healthy.get(node.metadata.name or "")
            if healthy is not None and healthy.node is node and now <= healthy.until:
                if healthy.zone is not None:
                    zones.setdefault(healthy.zone, []).append(True)
                continue
            start = clock.monotonic()
            with _skipping(node):
                current = await self._look_at_node(node, now)
                is_ready = current is not None and current.status == "True"
                if not is_excluded(node):
                    zones.setdefault(zone_of(node), []).append(is_ready)
            self._metrics.node_seconds.observe(clock.monotonic() - start)
        await self._judge_zones(zones, nodes, now)
        self._metrics.see(zones, clock.monotonic() - began)

    async def _meet(self, nodes: Iterable[Node]) -> None:
        """Greet nodes that are new and forget those that are gone."""
        present = {node.metadata.name or "": node for node in nodes}
        for name in [name for name in self._known if name not in present]:
            gone = self._known.pop(name)
            self._tell(gone, "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")
            self._health.pop(name, None)
            self._pods_to_mark.discard(name)
            self._healthy.pop(name, None)
            self._renewed.pop(name, None)
            for queue in self._queues.values():
                queue.forget(name)
        for name, node in present.items():
            if zone_of(node) not in self._queues:
                self._queues[zone_of(node)] = TaintQueue(self._rates.normal)
                self._metrics.evictions[(zone_of(node),)] += 0
            if name not in self._known:
                with _skipping(node):
                    await self._untaint(node)
                self._tell(node, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
            self._known[name] = node

    async def _look_at_node(self, node: Node, now: datetime) -> NodeCondition | None:
        """Judge one node's signs of life; returns its Ready condition as it is now."""
        name, given = node.metadata.name or "", node
        self._healthy.pop(name, None)
        lease = self._leases.get(Key(LEASE_NAMESPACE, name))
        seen_at = self._pass_after(self._renewed.get(name))
        health = self._health[name] = observe(self._health.get(name), node, lease, now, seen_at)
        observed = find(node.status.conditions, "Ready")
        if is_silent(health, node, now, self._options):
            node = await self._declare_silent(node, now)
            health = self._health[name]
        current = find(node.status.conditions, "Ready")
        if current is None:
            return None
        await self._want_taints(node, observed.status if observed is not None else "Unknown")
        if current.status != "True" and observed is not None and observed.status == "True":
            self._tell(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
            self._pods_to_mark.add(name)
        elif current.status == "True":
            self._pods_to_mark.discard(name)
        if name in self._pods_to_mark:
            await self._mark_pods(name)
        elif current.status == "True" and not any(taint_rules.has(given.spec.taints, each) for each in _BOTH):
            zone = None if is_excluded(given) else zone_of(given)
            self._healthy[name] = _Healthy(given, silent_after(health, given, self._options), zone)
        return current

    def _pass_after(self, count: int | None) -> datetime | None:
        """Return the time of the first pass that saw what arrived after ``count`` passes; None: this one."""
        if count is None or count >= self._pass_count:
            return None
        return self._passes[max(0, len(self._passes) - (self._pass_count - count))]

    async def _declare_silent(self, node: Node, now: datetime) -> Node:
        """Write that the node stopped reporting, unless the server has a newer lease of it.

        Raises ``Unreachable`` if the server was silent itself.
        """
        conditions, name = silent_conditions(node, clock.now()), node.metadata.name or ""
        if conditions is node.status.conditions:
            return node
        asked = clock.steady_now()
        lease = await self._read_lease(name)
        if not self._outages.answered(asked, clock.steady_now()):
            raise Unreachable("the API server has not answered for a while")
        health = self._health[name] = observe(self._health[name], node, lease, now)
        if not is_silent(health, node, now, self._options):
            return node
        status = structs.replace(node.status, conditions=conditions)
        try:
            return await self.client.update(structs.replace(node, status=status), subresource="status")
        except ApiError as error:
            if is_conflict(error) or is_not_found(error):  # it changed: the next look will judge it anew
                return node
            raise

    async def _read_lease(self, name: str) -> Lease | None:
        lease: Lease | None = None
        with unless_gone():
            lease = await self.client.get(Lease, name, LEASE_NAMESPACE)
        return lease

    async def _want_taints(self, node: Node, ready: str) -> None:
        """Bring a node's NoExecute taint closer to its observed readiness."""
        name = node.metadata.name or ""
        if ready == "True":
            await self._untaint(node)
            return
        taint, opposite = _no_execute(ready)
        if taint_rules.has(node.spec.taints, opposite):  # tainted already: change the kind at once
            await swap_taints(self.client, node, (taint,), (opposite,))
            return
        if not taint_rules.has(node.spec.taints, taint):
            self._queues[zone_of(node)].add(name)
            self.queue.add(TAINT)

    async def _untaint(self, node: Node) -> None:
        self._queues[zone_of(node)].forget(node.metadata.name or "")
        await swap_taints(self.client, node, (), _BOTH)

    async def _taint_waiting(self) -> RequeueAfter | AwaitChange:
        """Taint the nodes that wait and whose zone's rate allows it."""
        now = clock.monotonic()
        for queue in self._queues.values():
            while (name := queue.take(now)) is not None:
                await self._taint(name)
        waits = [queue.seconds_to_token(now) for queue in self._queues.values() if queue.waiting]
        least = min(waits, default=float("inf"))
        # A zone at rate 0 is looked at again when its rate changes.
        return RequeueAfter(least) if least < float("inf") else AwaitChange()

    async def _taint(self, name: str) -> None:
        node = self._nodes.get(Key("", name))
        ready = find(node.status.conditions, "Ready") if node is not None else None
        if node is None or ready is None or ready.status == "True":
            return
        taint, opposite = _no_execute(ready.status)
        await swap_taints(self.client, node, (taint,), (opposite,))
        self._metrics.evictions[(zone_of(node),)] += 1

    async def _judge_zones(
        self, zones: dict[str, list[bool]], nodes: tuple[Node, ...], now: datetime
    ) -> None:
        verdict = judge(self._zones, zones, self._rates)
        for zone, rate in verdict.rates.items():
            self._queues[zone].set_rate(rate, clock.monotonic())
        if verdict.rates:
            self.queue.add(TAINT)
        if verdict.stop:
            for node in nodes:
                with _skipping(node):
                    await self._untaint(node)
        if verdict.resume:
            self._count_anew(now)
        self._zones = dict(verdict.states)

    async def _mark_pods(self, node: str) -> None:
        """Mark the node's pods not ready; what fails is tried again at the next look, after all others."""
        refusals: list[ApiError] = []
        for pod in self._pods.by_index(BY_NODE, node):
            try:
                await self._mark_not_ready(pod)
            except ApiError as error:
                if error.code >= SERVER_ERROR:
                    raise
                refusals.append(error)
        if refusals:
            raise refusals[0]
        self._pods_to_mark.discard(node)

    async def _mark_not_ready(self, pod: Pod) -> None:
        ready = find(pod.status.conditions, "Ready")
        if ready is None or ready.status == "False":
            return
        not_ready = structs.replace(ready, status="False")
        conditions = with_condition(pod.status.conditions, not_ready, clock.now())
        status = structs.replace(pod.status, conditions=conditions)
        try:
            await self.client.update(structs.replace(pod, status=status), subresource="status")
        except ApiError as error:
            if is_not_found(error):
                return
            if is_conflict(error):  # the pod changed: look at it again as it is now
                self.queue.add_after(key_of(pod), 1.0)
                return
            raise
        self._recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    def families(self) -> Iterator[Any]:
        return self._metrics.collect()

    def _tell(self, node: Node, reason: str, message: str) -> None:
        self._recorder.event(node, "Normal", reason, message)


@contextmanager
def _skipping(node: Node) -> Iterator[None]:
    """Let others go on when the server refuses something about one node."""
    try:
        yield
    except ApiError as error:
        if error.code >= SERVER_ERROR:
            raise
        name = node.metadata.name
        logger.warning("Update health of Node %s from Controller error, Skipping: %s", name, error)


def _no_execute(ready: str) -> tuple[Taint, Taint]:
    """Return the NoExecute taint for a Ready condition of this status, and the one it must not have."""
    return (NOT_READY_TAINT, UNREACHABLE_TAINT) if ready == "False" else (UNREACHABLE_TAINT, NOT_READY_TAINT)
