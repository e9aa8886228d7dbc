"""Annotating nodes with the time for which their kubelets may cache Secrets and ConfigMaps.

The time depends on the number of nodes. Sizes overlap, so that a cluster near a border does not change all
its nodes back and forth. Kubelets here watch what their pods use and do not follow the annotation; it is for
other programs that read it. Upstream: ``pkg/controller/ttl``.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from podling.api.core_v1 import Node
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import unless_gone

ANNOTATION = "node.alpha.kubernetes.io/ttl"


class _Range(NamedTuple):
    nodes_min: int
    nodes_max: int
    seconds: int


_RANGES = (
    _Range(0, 100, 0),
    _Range(90, 500, 15),
    _Range(450, 1000, 30),
    _Range(900, 2000, 60),
    _Range(1800, 2**31 - 1, 300),
)


def step_for(nodes: int, before: int) -> int:
    """Return the number of the range for a cluster of ``nodes``, whose range was ``before`` until now."""
    step = before
    while step + 1 < len(_RANGES) and nodes > _RANGES[step].nodes_max:
        step += 1
    while step > 0 and nodes < _RANGES[step].nodes_min:
        step -= 1
    return step


class TTLController(Controller):
    """One key for each node."""

    name: ClassVar[str] = "ttl-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._step = 0
        self._nodes = context.informers.informer(Node)
        self._nodes.add_handler(self._appeared, self.enqueue_new, self._count)

    def _count(self, node: Node) -> None:
        """Choose the range by the number of nodes; each node follows when it reports the next time."""
        self._step = step_for(len(self._nodes), self._step)

    def _appeared(self, node: Node) -> None:
        self._count(node)
        self.enqueue(node)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        node = self._nodes.get(key)
        wanted = str(_RANGES[self._step].seconds)
        if node is not None and node.metadata.annotations.get(ANNOTATION) != wanted:
            patch = {"metadata": {"annotations": {ANNOTATION: wanted}}}
            with unless_gone():
                await self.client.patch(Node, key.name, patch)
        return AwaitChange()
