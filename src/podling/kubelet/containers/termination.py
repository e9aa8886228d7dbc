"""Termination of containers: grace periods, order, and execution.

Guarantee: from the moment a pod's deletion is seen until SIGKILL at most the grace period passes, plus two
seconds. The ``preStop`` hook and the wait for other containers both count against the grace period. The
runtime gets the rest, at least two seconds
(``kuberuntime_container.go`` killContainer, ``kuberuntime_termination_order.go``).

Order: regular containers stop first, all together. A sidecar waits for all of them and for every sidecar
after it in the list. Hooks run without waiting. Once the grace period is used up, no container waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Container, Pod, PodSpec
from podling.cancellation import cancel_and_wait
from podling.kubelet.containers.hooks import HookFailure, HookRunner
from podling.kubelet.containers.init_actions import KillReason
from podling.kubelet.deps import Recorder
from podling.kubelet.failures import rpc_text
from podling.kubelet.lives import note
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import field_path, find_container, sidecars
from podling.runtime.base import Container as Observed
from podling.runtime.base import Runtime
from podling.runtime.failures import NotFound, RuntimeFailure
from podling.runtime.grace import MINIMUM_GRACE_SECONDS


def grace_seconds(
    pod: Pod, container: Container | None, reason: KillReason, override: float | None = None
) -> float:
    """Return the grace period of one container, before hook and waiting take their part."""
    if override is not None:
        return override
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    probe = None
    if container is not None and reason is KillReason.LIVENESS:
        probe = container.liveness_probe
    elif container is not None and reason is KillReason.STARTUP:
        probe = container.startup_probe
    if probe is not None and probe.termination_grace_period_seconds is not None:
        return probe.termination_grace_period_seconds
    if pod.spec.termination_grace_period_seconds is not None:
        return pod.spec.termination_grace_period_seconds
    return MINIMUM_GRACE_SECONDS


def stop_grace(left: float) -> float:
    """Return the grace period for the runtime, of which ``left`` seconds remain.

    It is two seconds at least, also when the grace period was over before this kubelet started: the
    container may never have received its stop signal.
    """
    return max(left, MINIMUM_GRACE_SECONDS)


def waits_for(spec: PodSpec, name: str) -> tuple[str, ...]:
    """Return the containers that must end before ``name`` is stopped; empty for all but sidecars."""
    order = [container.name for container in sidecars(spec)]
    if name not in order:
        return ()
    later = order[order.index(name) + 1 :]
    return (*(container.name for container in spec.containers), *later)


class TerminationOrder:
    """Tracks which of the containers that are killed together have ended."""

    def __init__(self, spec: PodSpec, running: Iterable[str]) -> None:
        self._spec = spec
        self._gone = {name: asyncio.Event() for name in running}

    async def wait(self, name: str, at_most: float) -> None:
        """Wait until ``name`` may be stopped, at most so many seconds."""
        deadline = clock.monotonic() + at_most
        for other in waits_for(self._spec, name):
            event = self._gone.get(other)
            if event is not None:
                await clock.wait_for(event, max(0.0, deadline - clock.monotonic()))

    def mark_ended(self, name: str) -> None:
        if name in self._gone:
            self._gone[name].set()


class Order(Struct, frozen=True):
    """One container to kill. An empty ``message`` stands for the default one."""

    container: Observed
    reason: KillReason = KillReason.POD
    message: str = ""


class KillFailure(RuntimeFailure):
    """A container or sandbox could not be killed, with the text of the kubelet's events."""

    def __init__(self, what: str, name: str, error: RuntimeFailure) -> None:
        super().__init__(f'failed to "{what}" for "{name}" with {what}Error: "{rpc_text(error)}"')


class Killer:
    """Kills containers and whole pods with hooks, in order, within grace periods."""

    def __init__(self, runtime: Runtime, recorder: Recorder, hooks: HookRunner) -> None:
        self._runtime = runtime
        self._recorder = recorder
        self._hooks = hooks
        self._hooks_done: set[str] = set()

    async def kill_pod(self, pod: Pod, observed: PodObservation, override: float | None = None) -> None:
        """Kill every container, then stop every sandbox, which ends all remaining processes.

        Raises ``RuntimeFailure`` with all failures.

        ``override`` is a grace period in seconds that takes precedence over all others.
        """
        orders = [Order(container) for container in observed.running]
        failures: list[RuntimeFailure] = []
        try:
            await self.kill(pod, orders, observed, override)
        except RuntimeFailure as error:
            failures.append(error)
        for sandbox in observed.sandboxes:
            try:
                await self._runtime.stop_sandbox(sandbox.id)
            except RuntimeFailure as error:
                failures.append(KillFailure("KillPodSandbox", pod.metadata.uid or "", error))
        if failures:
            raise failures[0] if len(failures) == 1 else RuntimeFailure(f"[{', '.join(map(str, failures))}]")

    async def kill(
        self, pod: Pod, orders: Sequence[Order], observed: PodObservation, override: float | None = None
    ) -> None:
        """Kill containers together and return when all have ended. Raises the first ``RuntimeFailure``.

        ``override`` is a grace period in seconds that takes precedence over all others.
        """
        if not orders:
            return
        termination_order = TerminationOrder(pod.spec, [order.container.name for order in orders])
        ips = observed.sandbox.ips if observed.sandbox is not None else ()
        if len(orders) == 1:
            await self._kill_one(pod, orders[0], termination_order, ips, override)
            return
        tasks = [
            asyncio.create_task(self._kill_one(pod, o, termination_order, ips, override)) for o in orders
        ]
        try:
            results = await asyncio.gather(*tasks, return_exceptions=True)
        except asyncio.CancelledError:
            await cancel_and_wait(tasks)
            raise
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _kill_one(
        self,
        pod: Pod,
        order: Order,
        termination_order: TerminationOrder,
        ips: tuple[str, ...],
        override: float | None,
    ) -> None:
        container = find_container(pod.spec, order.container.name)
        grace = grace_seconds(pod, container, order.reason, override)
        message = order.message or f"Stopping container {order.container.name}"
        path = field_path(pod.spec, order.container.name)
        self._recorder.event(pod, "Normal", "Killing", message, field_path=path)
        try:
            began = clock.monotonic()
            if grace > 0 and container is not None:
                await self._run_hook(pod, container, order.container, ips, grace)
                await termination_order.wait(container.name, grace - (clock.monotonic() - began))
            left = grace - (clock.monotonic() - began)
            self._note_signal(pod, container, order.container, stop_grace(left))
            await self._runtime.stop_container(order.container.id, grace_seconds=stop_grace(left))
        except NotFound:
            pass
        except RuntimeFailure as error:
            raise KillFailure("KillContainer", order.container.name, error) from error
        finally:
            termination_order.mark_ended(order.container.name)
        self._hooks_done.discard(order.container.id)

    async def _run_hook(
        self, pod: Pod, container: Container, running: Observed, ips: tuple[str, ...], grace: float
    ) -> None:
        """Run the ``preStop`` hook, at most ``grace`` seconds."""
        handler = container.lifecycle.pre_stop if container.lifecycle is not None else None
        if handler is None or running.id in self._hooks_done:
            return
        failure = ""
        note(self._recorder, pod, "hook", "preStop", container=container.name)
        try:
            async with clock.timeout(grace):
                await self._hooks.run(pod, container, handler, running.id, ips)
        except TimeoutError:
            # The hook used up the grace period: the container is stopped nevertheless.
            failure = "it used up the grace period"
        except HookFailure as error:
            failure = str(error)
            path = field_path(pod.spec, container.name)
            self._recorder.event(pod, "Warning", "FailedPreStopHook", "PreStopHook failed", field_path=path)
        note(self._recorder, pod, "hook-end", "preStop", container=container.name, text=failure)
        # A shorter grace period restarts the killing, but never a hook that has finished.
        self._hooks_done.add(running.id)

    def _note_signal(self, pod: Pod, container: Container | None, running: Observed, grace: float) -> None:
        lifecycle = container.lifecycle if container is not None else None
        signal = (
            (lifecycle.stop_signal if lifecycle is not None else None) or running.stop_signal or "SIGTERM"
        )
        text = f"SIGKILL follows after {grace:.3g}s"
        note(self._recorder, pod, "signal", signal, container=running.name, text=text)
