"""A simulated node whose kubelet is cut off, as by ``kill -9``, at a chosen call.

Everything that a kubelet does to the world is a call to its runtime or to the API server. Cut off before or
after any of these calls, all that it was about to do does not happen; what it did stays. A life cycle that is
the same for every last call survives a kill at any moment.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from podling import clock
from podling.client.events import EventRecorder
from podling.client.requests import User
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.node_controllers import NodeControllerFactory
from podling.node.static_pods import complete_static_pod
from podling.runtime.sim import Scenario, SimRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, sim_node


class Line:
    """One kubelet's connection to runtime and API server, cut before or after its ``at``-th call."""

    def __init__(self, at: int | None = None, *, after: bool = False) -> None:
        self.calls = 0
        self.counts = False
        """Return whether calls count yet: a kubelet's start is not part of any life cycle."""
        self.was_cut = asyncio.Event()
        self._at = at
        self._after = after

    async def reach(self) -> int:
        """Count a call before it happens and return its number; never return on a cut line."""
        await self._pass()
        self.calls += self.counts
        number = self.calls if self.counts else 0
        if number == self._at and not self._after:
            self.was_cut.set()
        await self._pass()
        return number

    async def answer(self, number: int) -> None:
        """Pass on a call's answer, unless the line is cut after this call."""
        if number == self._at and self._after:
            self.was_cut.set()
        await self._pass()

    async def _pass(self) -> None:
        if self.was_cut.is_set():
            await asyncio.Event().wait()


class OverLine:
    """A proxy whose calls go over a line."""

    def __init__(self, target: Any, line: Line) -> None:
        self._target = target
        self._line = line

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if name == "images":
            return OverLine(found, self._line)
        if not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **named: Any) -> Any:
            number = await self._line.reach()
            answer = await found(*args, **named)
            await self._line.answer(number)
            return answer

        return call


class KilledNode:
    """A node whose first kubelet is cut off once, and replaced by another."""

    def __init__(self, node: SimNode, line: Line) -> None:
        self.node = node
        self.line = line
        self._old: list[asyncio.Task[None]] = []

    async def start(self, line: Line) -> None:
        """Put a kubelet on ``line`` in the place of the node's."""
        node = self.node
        user = User(f"system:node:{NODE}", ("system:nodes", "system:authenticated"))
        client: Any = OverLine(node.plane.client_for(user), line)
        runtime: Any = OverLine(node.runtime, line)
        recorder = EventRecorder(client, "kubelet", NODE)
        self._old.append(asyncio.create_task(recorder.run()))
        config = node.deps.config
        deps = KubeletDeps(
            client,
            runtime,
            recorder,
            node.deps.root_dir,
            NODE,
            config,
            complete_static_pod,
            node_controllers=node.deps.node_controllers,
        )
        node.kubelet = Kubelet(deps)
        await node.start()

    async def replace_when_cut(self, away: float) -> None:
        """Wait for the cut, and ``away`` seconds later start another kubelet."""
        await self.line.was_cut.wait()
        dead = self.node._task
        assert dead is not None
        self._old.append(dead)
        self.node._task = None
        dead.cancel()  # no further call of it goes through
        await clock.sleep(away)
        await self.start(Line())

    async def close(self) -> None:
        for task in self._old:
            task.cancel()
        await asyncio.gather(*self._old, return_exceptions=True)


@asynccontextmanager
async def killed_node(
    plane: ControlPlane,
    root: Path,
    line: Line,
    scenario: Scenario | None = None,
    node_controllers: Mapping[str, NodeControllerFactory] | None = None,
    runtime: SimRuntime | None = None,
) -> AsyncIterator[KilledNode]:
    """A node whose kubelet is on ``line``, until the block ends. ``runtime``: as in ``sim_node``."""
    machine = runtime or SimRuntime(scenario)
    async with sim_node(plane, root, runtime=machine, node_controllers=node_controllers) as node:
        await node.stop()
        killed = KilledNode(node, line)
        try:
            await killed.start(line)
            yield killed
        finally:
            await killed.close()
