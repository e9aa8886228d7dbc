"""Runs the controllers of extensions on one node: informers, event recorders, and the runs of each."""

from __future__ import annotations

from collections.abc import Mapping

from podling.client.events import EventRecorder
from podling.client.runner import Runner
from podling.client.typed_kinds import TypedClient
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.node_controllers import (
    NodeContext,
    NodeController,
    NodeControllerFactory,
    NodeImages,
    NodeRecorder,
    PodContainers,
)
from podling.supervisor import Supervisor


class NodeControllerManager:
    """Makes the controllers and runs them. Reconciling begins once all informers of one hold their lists."""

    def __init__(
        self,
        deps: KubeletDeps,
        factories: Mapping[str, NodeControllerFactory],
        containers: PodContainers,
        images: NodeImages,
    ) -> None:
        self._deps = deps
        self._factories = factories
        self._recorders: dict[str, EventRecorder] = {}
        self._context = NodeContext(
            deps.node_name, TypedClient(deps.client), containers, images, self._recorder
        )

    async def run(self) -> None:
        """Run all controllers until cancelled. They end before their events are written."""
        self._recorders.clear()
        made = [make(self._context) for make in self._factories.values()]
        try:
            async with Supervisor() as supervisor:
                for component, recorder in self._recorders.items():
                    supervisor.keep_running("events", recorder.run, component)
                for each in made:
                    for informer in each.informers():
                        supervisor.keep_running("informer", informer.run, informer.kind.__name__)
                    supervisor.keep_running("controller", _Run(each).run, each.name)
        finally:
            for each in made:
                await each.close()

    def _recorder(self, component: str) -> NodeRecorder:
        if component not in self._recorders:
            deps = self._deps
            self._recorders[component] = EventRecorder(deps.client, component, deps.node_name)
        return self._recorders[component]


class _Run:
    """One controller's life."""

    def __init__(self, controller: NodeController) -> None:
        self._controller = controller

    async def run(self) -> None:
        controller = self._controller
        for informer in controller.informers():
            await informer.synced()
        await Runner(controller, controller.queue, controller.workers, controller.name).run()
