"""A controller of an extension that runs beside a kubelet: it notes the node's pods, and records events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from podling.api.core_v1 import Pod
from podling.client.base import Key
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, RequeueAfter
from podling.kubelet.node_controllers import NodeContext, NodeController
from podling.runtime.sim import Scenario
from podling.testing import memory_cluster
from tests.support.kubelet_node import SimNode, sim_node


class Notes(NodeController):
    """One key for each pod of the node. ``made`` has every controller of the class, the newest last."""

    name: ClassVar[str] = "notes"
    made: ClassVar[list[Notes]] = []

    def __init__(self, context: NodeContext) -> None:
        super().__init__(context)
        self.context = context
        self.seen: set[str] = set()
        self.is_closed = False
        self._recorder = context.recorder("notes")
        self._pods: Informer[Pod] = Informer(
            context.client, Pod, field_selector=f"spec.nodeName={context.node_name}"
        )
        self._pods.add_handler(self.enqueue)
        self.made.append(self)

    def informers(self) -> Iterator[Informer[Any]]:
        yield self._pods

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        pod = self._pods.get(key)
        if pod is not None:
            self.seen.add(key.name)
            self._recorder.event(pod, "Normal", "Noted", "seen on its node")
        return AwaitChange()

    async def close(self) -> None:
        self.is_closed = True


@asynccontextmanager
async def node_with_notes(root: Path, scenario: Scenario | None = None) -> AsyncIterator[SimNode]:
    """Run a simulated node with the controller."""
    async with (
        memory_cluster() as plane,
        sim_node(plane, root, scenario, node_controllers={Notes.name: Notes}) as node,
    ):
        yield node


def context() -> NodeContext:
    """Return what the newest controller was made from."""
    return Notes.made[-1].context
