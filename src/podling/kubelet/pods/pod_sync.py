"""Carries out a plan for one pod: kills, creates the sandbox, starts containers.

The order is the plan's. Independent steps overlap: while the runtime creates the sandbox, volumes are set
up and images are looked up or pulled. A container that cannot be started does not delay the others; the
reason is kept for its status, with the time of the next try. A running container whose image was changed
ends only when the new image is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from podling import clock, ids
from podling.api.core_v1 import Container, Pod, PodStatus
from podling.cancellation import cancel_and_wait
from podling.kubelet.backoff import backoff_key
from podling.kubelet.containers.container_spec import Instance
from podling.kubelet.containers.images import ImageUnavailable, Wanted
from podling.kubelet.containers.init_actions import Kill
from podling.kubelet.containers.runtime_class import runtime_handler
from podling.kubelet.containers.sandbox_spec import HostnameTooLong, sandbox_spec
from podling.kubelet.containers.termination import Order
from podling.kubelet.failures import StaleVolume, StartFailure, VolumeFailure, os_text, rpc_text
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import container_type, ephemeral_target, field_path, pod_text
from podling.kubelet.pods.actions import Held, PodPlan, replacements, replaces_definition
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.reference_watches import VARIABLES
from podling.kubelet.status.container_statuses import WaitingReason, default_waiting
from podling.kubelet.status.pod_addresses import sorted_addresses
from podling.kubelet.status.slow_calls import SlowCalls
from podling.kubelet.status.worker_memory import PodMemory
from podling.kubelet.volumes.base import VolumeFacts
from podling.kubelet.volumes.sub_paths import CONFIG_ERROR
from podling.machinery.durations import go_duration
from podling.machinery.pod_references import named_by_variables
from podling.machinery.pods import is_sidecar
from podling.runtime.base import ContainerState, Sandbox
from podling.runtime.failures import NotFound, RuntimeFailure
from podling.runtime.image_service import Image

T = TypeVar("T")

ImageTasks = Mapping[str, asyncio.Task[Image]]

ERROR_BACKOFF_SECONDS = 10.0


def error_retry(now: datetime) -> datetime:
    """Return the time of the next try after a failure without a known duration: 10 to 15 s from now."""
    return now + timedelta(seconds=ids.uniform(ERROR_BACKOFF_SECONDS, 1.5 * ERROR_BACKOFF_SECONDS))


class Pass(Struct, frozen=True):
    """The input of one sync of a pod. ``progress`` is called when there is news to report."""

    pod: Pod
    observed: PodObservation
    status: PodStatus
    memory: PodMemory
    progress: Callable[[], Coroutine[Any, Any, None]]


class PodSync:
    """Carries out plans on one node."""

    def __init__(self, services: PodServices) -> None:
        self._services = services
        self._runtime = services.deps.runtime
        self._pulling: Mapping[str, str] = {}
        """The images of which running containers wait for their replacement, by container name."""

    def pulls_in_vain(self, pod: Pod) -> bool:
        """Return whether a pass waits for the image of a replacement that ``pod`` does not want any more."""
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        return any(self._pulling.get(each.name, each.image) != each.image for each in containers)

    def note(self, plan: PodPlan, pod: Pod, memory: PodMemory) -> None:
        """Take in a plan before it is carried out, so that the next status shows what it holds back."""
        starting = {container.name for container in plan.starts} | {each.container.name for each in plan.held}
        memory.keep_pending(replacements(plan), starting)
        for held in plan.held:
            name, seconds = held.container.name, go_duration(held.seconds)
            message = f"back-off {seconds} restarting failed container={name} pod={pod_text(pod)}"
            memory.waiting[name] = WaitingReason("CrashLoopBackOff", message)

    async def apply(self, plan: PodPlan, current: Pass) -> bool:
        """Carry out the plan, unless it ends the pod; return True if the pod is to be planned again at once.

        Raises ``RuntimeFailure`` when killing fails.
        """
        pod, observed, memory = current.pod, current.observed, current.memory
        killer = self._services.killer
        if plan.reset_all:
            await self._reset_all(pod, observed, memory)
            return True
        if plan.kill_pod:
            text = "Pod sandbox changed, it will be killed and re-created."
            self._services.deps.recorder.event(pod, "Normal", "SandboxChanged", text)
            await killer.kill_pod(pod, observed)
            await self._remove_init_containers(pod, observed)
        replaced = replacements(plan)
        await self._kill([kill for kill in plan.kill if kill.name not in replaced], current)
        for held in plan.held:
            self._report_held(pod, held, memory)
        has_begun = (plan.create_sandbox or bool(plan.starts)) and await self._start(plan, current)
        # A sidecar without a startup probe lets the next container start at once.
        return has_begun and any(
            is_sidecar(container) and container.startup_probe is None and container.name not in memory.waiting
            for container in plan.start_init
        )

    async def _kill(self, kills: Iterable[Kill], current: Pass) -> None:
        containers = {found.id: found for found in current.observed.containers}
        orders = [Order(containers[kill.container_id], kill.reason, kill.message) for kill in kills]
        await self._services.killer.kill(current.pod, orders, current.observed)

    async def _reset_all(self, pod: Pod, observed: PodObservation, memory: PodMemory) -> None:
        """Kill and remove all containers at once for ``RestartAllContainers``; logs stay."""
        for container in observed.running:
            text = f"Stopping container {container.name}"
            path = field_path(pod.spec, container.name)
            self._services.deps.recorder.event(pod, "Normal", "Killing", text, field_path=path)
            await self._runtime.stop_container(container.id, grace_seconds=0)
        for container in observed.containers:
            await self._remove(container.id)
        memory.restarting_all = True
        memory.waiting.clear()

    async def _remove_init_containers(self, pod: Pod, observed: PodObservation) -> None:
        """Remove the init containers of old sandboxes: a new sandbox begins at the first init container."""
        names = {container.name for container in pod.spec.init_containers}
        for container in observed.containers:
            if container.name in names:
                await self._remove(container.id)

    async def _remove(self, container_id: str) -> None:
        with suppress(NotFound):
            await self._runtime.remove_container(container_id)

    def _report_held(self, pod: Pod, held: Held, memory: PodMemory) -> None:
        """Report a back-off when it begins and about once a minute, however often the pod is synced."""
        name, now = held.container.name, clock.steady_now()
        until, told_at = memory.held_back.get(name, (None, now))
        interval = timedelta(seconds=self._services.deps.config.sync_frequency)
        if until != held.until or now - told_at >= interval:
            memory.held_back[name] = held.until, now
            path = field_path(pod.spec, name)
            text = f"Back-off restarting failed container {name} in pod {pod_text(pod)}"
            self._services.deps.recorder.event(pod, "Warning", "BackOff", text, field_path=path)

    async def _start(self, plan: PodPlan, current: Pass) -> bool:
        """Return whether the pod had all that its containers share, so that each of them was tried."""
        pod, memory, replaced = current.pod, current.memory, replacements(plan)
        if memory.volumes_failed and not await self.set_up_volumes(current):
            return False  # the images were looked up and reported when the volumes were first tried
        ensure = self._services.images.ensure
        tasks: list[asyncio.Task[Any]] = []

        def begin(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
            tasks.append(task := asyncio.create_task(work))
            return task

        try:
            sandboxing = begin(self._sandbox(plan, current))
            await clock.sleep(0)  # the sandbox takes longest, so its call is made before the others
            mounting = begin(self.set_up_volumes(current))
            volumes = {name: begin(ensure(pod, wanted)) for name, wanted in Wanted.by_volumes(pod).items()}
            images = {
                container.name: begin(ensure(pod, Wanted.by_container(pod, container)))
                for container in plan.starts
            }
            sandbox = await sandboxing
            if not await mounting or sandbox is None:
                return False
            if not self._write_files(plan, sandbox, current):
                return False
            if not all(task.done() for task in tasks):
                await current.progress()
            staying: Collection[str] | None = None
            for position, container in enumerate(plan.starts):
                if position:
                    # Report the containers already started while the others' images are pulled.
                    await current.progress()
                if container.name in replaced:
                    if staying is None:
                        staying = await self._end_replaced(plan, images, volumes, current)
                    if container.name in staying:
                        continue
                await self._start_one(container, sandbox, images[container.name], volumes, current)
            if memory.restarting_all and plan.start:
                memory.restarting_all = False
            return True
        finally:
            await cancel_and_wait(tasks)

    async def _end_replaced(
        self, plan: PodPlan, images: ImageTasks, volumes: ImageTasks, current: Pass
    ) -> Collection[str]:
        """End the containers whose definition changed, once the node has all that their successors need.

        Return the names of those that run on, because an image of their successors cannot be had.
        """
        replaced, staying = replacements(plan), set[str]()
        self._pulling = {each.name: each.image or "" for each in plan.starts if each.name in replaced}
        try:
            for container in plan.starts:
                if container.name not in replaced:
                    continue
                try:
                    await images[container.name]
                    await _mounted(container, volumes)
                except StartFailure as failure:
                    staying.add(container.name)
                    self._note_failure(container, failure, current)
        finally:
            self._pulling = {}
        current.memory.pending_images = frozenset(staying)
        await self._kill([kill for name, kill in replaced.items() if name not in staying], current)
        return staying

    def _write_files(self, plan: PodPlan, sandbox: Sandbox, current: Pass) -> bool:
        """Return whether the pod has its managed files; if not, schedule another try."""
        pod, hostname = current.pod, self._services.node().hostname
        addresses = _addresses(pod, sandbox, current)
        try:
            self._services.files.write(pod, addresses, hostname, new_sandbox=plan.create_sandbox)
        except OSError as error:
            text = f"error making pod data directories: {os_text(error)}"
            self._services.deps.recorder.event(pod, "Warning", "FailedToMakePodDataDirectories", text)
            current.memory.retry(error_retry(clock.steady_now()))
            return False
        return True

    async def _sandbox(self, plan: PodPlan, current: Pass) -> Sandbox | None:
        """Return the pod's sandbox, a new one if the plan says so; None if it cannot be created."""
        return await self._create_sandbox(plan, current) if plan.create_sandbox else current.observed.sandbox

    async def set_up_volumes(self, current: Pass, *, refresh: bool = False) -> bool:
        """Return whether all volumes are set up; after a failure schedule the next try."""
        node, memory, volumes = self._services.node(), current.memory, self._services.volumes
        facts = VolumeFacts(node.host_ips, node.allocatable)
        try:
            await volumes.set_up(current.pod, facts, refresh=refresh)
        except StaleVolume:
            pass  # the refresh is repeated
        except VolumeFailure:
            memory.volumes_failed, memory.volumes_ready = True, False
            retry_at = volumes.retry_at(current.pod.metadata.uid or "")
            if retry_at is not None:
                memory.retry(retry_at)
            return False
        memory.volumes_failed, memory.volumes_ready = False, True
        return True

    async def _create_sandbox(self, plan: PodPlan, current: Pass) -> Sandbox | None:
        services, pod = self._services, current.pod
        hostname = services.node().hostname
        try:
            handler = await runtime_handler(services.deps, pod)
            users = await services.users.users_of(pod, handler)
            config, directories = services.deps.config, services.directories
            spec = sandbox_spec(pod, plan.attempt, config, directories, hostname)
            namespaces = replace(spec.namespaces, users=users)
            spec = replace(spec, namespaces=namespaces, runtime_handler=handler)
            async with self._calls(plan.starts, current).watch("RunPodSandbox"):
                sandbox = await self._runtime.run_sandbox(spec)
        except (RuntimeFailure, HostnameTooLong) as error:
            services.metrics.count_start(own_users=pod.spec.host_users is False, failed=True)
            self._sandbox_failed(current, rpc_text(error))
            return None
        services.metrics.count_start(own_users=users is not None)
        for lack in sandbox.warnings:
            services.deps.recorder.event(pod, "Warning", "UnsupportedByRuntime", lack)
        return sandbox

    def _calls(self, containers: Sequence[Container], current: Pass) -> SlowCalls:
        names = [container.name for container in containers]
        return SlowCalls(names, default_waiting(current.pod), current.memory, current.progress)

    def _sandbox_failed(self, current: Pass, why: str) -> None:
        text = f"Failed to create pod sandbox: {why}"
        self._services.deps.recorder.event(current.pod, "Warning", "FailedCreatePodSandBox", text)
        current.memory.retry(error_retry(clock.steady_now()))

    async def _start_one(
        self,
        container: Container,
        sandbox: Sandbox,
        image_task: asyncio.Task[Image],
        volumes: ImageTasks,
        current: Pass,
    ) -> None:
        """Start one container, or keep the reason why it could not be started."""
        pod, memory = current.pod, current.memory
        now, used = clock.now(), memory.attempts.get(container.name)
        try:
            mounted = await _mounted(container, volumes)
            image = await image_task
            instance = await self._instance(container, image, mounted, sandbox, current)
            ended = current.observed.newest_exited(container.name)
            if ended is not None and not _is_replaced(container, current.observed):
                memory.backoff.advance(backoff_key(pod, container), ended.finished_at or now, now)
            memory.attempts[container.name] = instance.attempt
            services = await self._services.service_links(pod)
            node, calls = self._services.node(), self._calls((container,), current)
            await self._services.starter.start(sandbox.id, instance, node, services, calls)
        except StartFailure as failure:
            if failure.reason == CONFIG_ERROR:
                memory.set_attempt(container.name, used)  # nothing was created: it is no attempt
            self._note_failure(container, failure, current)
        else:
            self._services.metrics.started_containers[container_type(pod, container)] += 1
            memory.waiting.pop(container.name, None)
        self._follow_variables(pod, memory)

    def _follow_variables(self, pod: Pod, memory: PodMemory) -> None:
        """Watch what the variables refer to while a container waits for it."""
        waits = any(why.reason == CONFIG_ERROR for why in memory.waiting.values())
        references = named_by_variables(pod) if waits else ()
        self._services.watches.follow(pod.metadata.uid or "", VARIABLES, references, late=True)

    def _note_failure(self, container: Container, failure: StartFailure, current: Pass) -> None:
        kind = container_type(current.pod, container)
        self._services.metrics.started_containers_errors[failure.reason, kind] += 1
        current.memory.waiting[container.name] = WaitingReason(failure.reason, failure.message)
        unavailable = isinstance(failure, ImageUnavailable)
        if failure.reason != "PostStartHookError":
            text = f"Error: {failure.reason if unavailable else failure.message}"
            path = field_path(current.pod.spec, container.name)
            self._services.deps.recorder.event(current.pod, "Warning", "Failed", text, field_path=path)
        retry_at = failure.retry_at if isinstance(failure, ImageUnavailable) else None
        current.memory.retry(retry_at or error_retry(clock.steady_now()))

    async def _instance(
        self,
        container: Container,
        image: Image,
        image_volumes: Mapping[str, Image],
        sandbox: Sandbox,
        current: Pass,
    ) -> Instance:
        pod, observed = current.pod, current.observed
        newest = observed.newest(container.name)
        if newest is not None and newest.state in (ContainerState.CREATED, ContainerState.UNKNOWN):
            # An instance that was created but never started is replaced: its specification may be outdated.
            await self._remove(newest.id)
        target = observed.newest(ephemeral_target(pod.spec, container.name))
        return Instance(
            pod=pod,
            container=container,
            attempt=current.memory.next_attempt(
                pod, container.name, current.status, self._services.directories
            ),
            image=image,
            image_volumes=image_volumes,
            pod_ips=_addresses(pod, sandbox, current),
            process_target=target.id if target is not None else "",
        )


async def _mounted(container: Container, volumes: ImageTasks) -> dict[str, Image]:
    """Return the images that the container mounts, by volume. Raises ``ImageUnavailable``."""
    return {m.name: await volumes[m.name] for m in container.volume_mounts if m.name in volumes}


def _is_replaced(container: Container, observed: PodObservation) -> bool:
    """Return whether the container was killed for its new definition: such a start is no restart."""
    newest = observed.newest(container.name)
    running = newest is not None and newest.state is ContainerState.RUNNING
    return running and replaces_definition(container, observed)


def _addresses(pod: Pod, sandbox: Sandbox, current: Pass) -> tuple[str, ...]:
    node = tuple(found.ip for found in current.status.host_ips)
    return node if pod.spec.host_network else sorted_addresses(sandbox.ips, node)
