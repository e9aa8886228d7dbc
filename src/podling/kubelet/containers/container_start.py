"""Starts one container: specification, create, start, ``postStart`` hook. Each step is an event.

Fields that this runtime does not support are reported in events, so nothing is ignored silently. A failure
is a ``StartFailure`` with the container's waiting reason. A container whose ``postStart`` hook fails is
killed: it must not run with its hook undone.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.core_v1 import Pod
from podling.kubelet.containers.container_spec import CONFIG_ERROR, ContainerSpecs, Instance, NodeFacts
from podling.kubelet.containers.hooks import HookFailure, HookRunner
from podling.kubelet.containers.init_actions import KillReason
from podling.kubelet.containers.termination import Killer, Order
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.failures import StartFailure, os_text
from podling.kubelet.lives import note
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import field_path
from podling.kubelet.status.slow_calls import SlowCalls
from podling.runtime.failures import RuntimeFailure


class ContainerStarter:
    """Starts containers on one node."""

    def __init__(self, deps: KubeletDeps, specs: ContainerSpecs, hooks: HookRunner, killer: Killer) -> None:
        self._deps = deps
        self._specs = specs
        self._hooks = hooks
        self._killer = killer

    async def start(
        self,
        sandbox_id: str,
        instance: Instance,
        node: NodeFacts,
        services: Mapping[str, str],
        calls: SlowCalls,
    ) -> str:
        """Start the container and return its id. Raises ``StartFailure``."""
        try:
            spec = await self._specs.build(instance, node, services)
        except OSError as error:
            raise StartFailure(CONFIG_ERROR, os_text(error)) from error
        runtime = self._deps.runtime
        try:
            async with calls.watch("CreateContainer"):
                container_id = await runtime.create_container(sandbox_id, spec)
        except RuntimeFailure as error:
            raise StartFailure("CreateContainerError", str(error)) from error
        self._record_event(instance, "Normal", "Created", "Container created")
        try:
            for warning in (await runtime.container_status(container_id)).warnings:
                self._record_event(instance, "Warning", "UnsupportedByRuntime", warning)
            async with calls.watch("StartContainer"):
                await runtime.start_container(container_id)
        except RuntimeFailure as error:
            raise StartFailure("RunContainerError", str(error)) from error
        self._record_event(instance, "Normal", "Started", "Container started")
        await self._post_start(instance, container_id)
        return container_id

    async def _post_start(self, instance: Instance, container_id: str) -> None:
        lifecycle = instance.container.lifecycle
        if lifecycle is None or lifecycle.post_start is None:
            return
        pod, container = instance.pod, instance.container
        recorder, failure = self._deps.recorder, ""
        note(recorder, pod, "hook", "postStart", container=container.name)
        try:
            await self._hooks.run(pod, container, lifecycle.post_start, container_id, instance.pod_ips)
        except HookFailure as error:
            failure = str(error)
            self._record_event(instance, "Warning", "FailedPostStartHook", "PostStartHook failed")
            await self._kill(pod, container_id)
            raise StartFailure("PostStartHookError", str(error)) from error
        finally:
            note(recorder, pod, "hook-end", "postStart", container=container.name, text=failure)

    async def _kill(self, pod: Pod, container_id: str) -> None:
        try:
            running = await self._deps.runtime.container_status(container_id)
            order = Order(running, KillReason.HOOK, "FailedPostStartHook")
            await self._killer.kill(pod, [order], PodObservation(pod.metadata.uid or ""))
        except RuntimeFailure as error:
            raise StartFailure("PostStartHookError", f"the container could not be killed: {error}") from error

    def _record_event(self, instance: Instance, type_: str, reason: str, message: str) -> None:
        path = field_path(instance.pod.spec, instance.container.name)
        self._deps.recorder.event(instance.pod, type_, reason, message, field_path=path)
