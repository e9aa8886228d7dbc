"""Creates and deletes the pods of a DaemonSet, with events about the set.

Upstream: ``syncNodes`` of ``pkg/controller/daemon``.
"""

from __future__ import annotations

from functools import cached_property

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Key, key_of
from podling.controllers.workloads import daemonset_rules as rules
from podling.controllers.workloads.daemonset_rules import DaemonOwner
from podling.controllers.workloads.pod_control import OwnedPods, PodControl, slow_start, together

BURST = 250
FAILED_BACKOFF_SECONDS_INITIAL = 1.0
FAILED_BACKOFF_SECONDS_MAX = 900.0


class FailureBackoff:
    """The back-off before a node's failed daemon pod is replaced.

    It is 1 s, doubles to 15 min, and is reset after half an hour without a failure and by a new generation of
    the set.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[Key, str], tuple[float, float]] = {}  # delay and when it began
        self._generations: dict[Key, int] = {}

    def observe(self, key: Key, generation: int) -> None:
        """Begin anew for a set of another generation."""
        if self._generations.get(key, generation) != generation:
            self.forget(key)
        self._generations[key] = generation

    def seconds_left(self, key: Key, node: str, now: float) -> float:
        delay, since = self._last.get((key, node), (0.0, 0.0))
        return max(0.0, since + delay - now)

    def failed(self, key: Key, node: str, now: float) -> None:
        delay, since = self._last.get((key, node), (0.0, 0.0))
        if now - since > 2 * FAILED_BACKOFF_SECONDS_MAX:
            delay = 0.0
        delay = min(max(2 * delay, FAILED_BACKOFF_SECONDS_INITIAL), FAILED_BACKOFF_SECONDS_MAX)
        self._last[key, node] = (delay, now)

    def forget(self, key: Key) -> None:
        self._last = {which: value for which, value in self._last.items() if which[0] != key}
        self._generations.pop(key, None)


class DaemonPods(OwnedPods[DaemonOwner]):
    """Carries out plans."""

    @cached_property
    def backoff(self) -> FailureBackoff:
        return FailureBackoff()

    @cached_property
    def _control(self) -> PodControl:
        return PodControl(self._client, self._recorder)

    def take_out_ended(self, daemon_set: DaemonOwner, plan: rules.Plan) -> float | None:
        """Add pods that ended to those to delete, so that others are made; failed ones after their back-off.

        Return the time until the next back-off ends.
        """
        key, now, waits = key_of(daemon_set), clock.monotonic(), []
        for pod in plan.failed:
            node = rules.node_of(pod)
            left = self.backoff.seconds_left(key, node, now)
            if left > 0:
                waits.append(left)
                continue
            self.backoff.failed(key, node, now)
            what = f"{pod.metadata.namespace}/{pod.metadata.name} on node {node}"
            text = f"Found failed daemon pod {what}, will try to kill it"
            self._recorder.event(daemon_set, "Warning", "FailedDaemonPod", text)
            plan.delete.append(pod)
        for pod in plan.succeeded:
            what = f"{pod.metadata.namespace}/{pod.metadata.name} on node {rules.node_of(pod)}"
            text = f"Found succeeded daemon pod {what}, will try to delete it"
            self._recorder.event(daemon_set, "Normal", "SucceededDaemonPod", text)
            plan.delete.append(pod)
        return min(waits, default=None)

    async def create(self, daemon_set: DaemonOwner, nodes: list[str], digest: str) -> Exception | None:
        """Create a pod for each node; return the first failure."""

        async def create(number: int) -> None:
            pod = self._prepared(daemon_set, rules.pod_for(daemon_set, nodes[number], digest))
            self._pods.wrote(key_of(daemon_set), await self._control.create(pod, daemon_set))

        return await slow_start(len(nodes), create)

    async def delete(self, daemon_set: DaemonOwner, pods: list[Pod]) -> Exception | None:
        """Delete pods; return the first failure."""

        async def delete(pod: Pod) -> None:
            if await self._control.delete(pod, daemon_set):
                self._pods.deleted(key_of(daemon_set), pod)

        return await together([delete(pod) for pod in pods])
