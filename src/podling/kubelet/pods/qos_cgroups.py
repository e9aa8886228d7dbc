"""Keeps the limits of the cgroups above the pods, as the node's pods come, change and go.

Runs whenever a pod begins to hold resources or ends, and once a minute. Only what differs from the last time
is written, and everything once a minute.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from podling import clock
from podling.api.core_v1 import Node, PodSpec
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.qos_tiers import PODS, tier_limits
from podling.kubelet.resources import tier_path
from podling.machinery.pods import GUARANTEED
from podling.runtime.base import LinuxResources, UpdatesCgroups
from podling.runtime.failures import RuntimeFailure

logger = logging.getLogger(__name__)

PERIOD_SECONDS = 60.0
ENFORCED = "NodeAllocatableEnforced"
FAILED = "FailedNodeAllocatableEnforcement"


class QosCgroups:
    """The cgroups of one node's classes of service.

    Args:
        specs: returns the pods that hold resources of the node, as granted.
        capacity: the node's capacity.
        node: returns the node as it is now.
    """

    def __init__(
        self,
        deps: KubeletDeps,
        specs: Callable[[], Iterable[PodSpec]],
        capacity: Mapping[str, str],
        node: Callable[[], Node],
    ) -> None:
        self._deps = deps
        self._specs = specs
        self._capacity = capacity
        self._node = node
        self._wake = asyncio.Event()
        self._written: dict[str, LinuxResources] = {}
        self._outcome = ""

    def wake(self) -> None:
        """Compare soon: the node's pods have changed."""
        self._wake.set()

    async def run(self) -> None:
        """Keep the limits until cancelled; a runtime without cgroups has none."""
        runtime = self._deps.runtime
        if not isinstance(runtime, UpdatesCgroups):
            return
        whole_at = clock.monotonic()
        while True:
            self._wake.clear()
            if clock.monotonic() >= whole_at:
                self._written.clear()
                whole_at = clock.monotonic() + PERIOD_SECONDS
            await self._write(runtime)
            await clock.wait_for(self._wake, max(0.0, whole_at - clock.monotonic()))

    async def _write(self, runtime: UpdatesCgroups) -> None:
        limits = tier_limits(self._specs(), self._deps.config, self._capacity)
        for path, wanted in limits.items():
            if self._written.get(path) == wanted:
                continue
            try:
                await runtime.update_cgroup(path, wanted)
            except (RuntimeFailure, OSError) as error:
                self._report(path, str(error))
            else:
                self._written[path] = wanted
                self._report(path, "")

    def _report(self, path: str, problem: str) -> None:
        """Record the first success and each new problem of the node's own cgroup; log those of the others."""
        if path != tier_path(GUARANTEED, self._deps.config):
            if problem:
                logger.warning("the limits of cgroup %s cannot be set: %s", path, problem)
            return
        outcome = problem or ENFORCED
        if outcome == self._outcome or PODS not in self._deps.config.enforce_node_allocatable:
            return
        self._outcome = outcome
        if problem:
            text = f'Failed to update Node Allocatable Limits ["{path}"]: {problem}'
            self._deps.recorder.event(self._node(), "Warning", FAILED, text)
        else:
            text = "Updated Node Allocatable limit across pods"
            self._deps.recorder.event(self._node(), "Normal", ENFORCED, text)
