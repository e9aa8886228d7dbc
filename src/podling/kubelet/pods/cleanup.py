"""Removal of ended containers while a pod runs, and of everything else when it is over.

While a pod runs, each of its containers keeps its newest instance and the one before (whose log
``--previous`` shows); older ones are removed. When the pod has ended its volumes are torn down at once, while
its last containers and logs stay for reading until the pod is deleted from the API.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from podling.api.core_v1 import Pod
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.log_rotation import remove_log_files
from podling.kubelet.observation import PodObservation
from podling.kubelet.pods.collaborators import PodServices
from podling.runtime.base import Container, ContainerState, KeepsLogs, Runtime
from podling.runtime.failures import NotFound

KEPT_INSTANCES = 2


def superfluous_containers(observed: PodObservation) -> tuple[Container, ...]:
    """Return the ended containers that are older than the kept instances."""
    seen: Counter[str] = Counter()
    result = []
    for container in observed.containers:
        seen[container.name] += 1
        if seen[container.name] > KEPT_INSTANCES and container.state is ContainerState.EXITED:
            result.append(container)
    return tuple(result)


def empty_sandboxes(observed: PodObservation, removed: tuple[Container, ...]) -> tuple[str, ...]:
    """Return the former sandboxes that are empty once ``removed`` is gone."""
    gone = {container.id for container in removed}
    used = {container.sandbox_id for container in observed.containers if container.id not in gone}
    former = observed.sandboxes[1:]
    return tuple(sandbox.id for sandbox in former if not sandbox.ready and sandbox.id not in used)


def has_dead(observed: PodObservation) -> bool:
    """Return whether ``remove_dead`` would remove something."""
    return bool(superfluous_containers(observed) or empty_sandboxes(observed, ()))


async def remove_dead(services: PodServices, pod: Pod, observed: PodObservation) -> None:
    """Remove ended containers and empty sandboxes from the runtime. Raises ``RuntimeFailure``."""
    dead = superfluous_containers(observed)
    if not dead and len(observed.sandboxes) < 2:
        return
    runtime = services.deps.runtime
    for container in dead:
        try:
            await runtime.remove_container(container.id)
        except NotFound:
            continue
        await _remove_log(runtime, observed.pod_uid, container)
    for sandbox_id in empty_sandboxes(observed, dead):
        await runtime.remove_sandbox(sandbox_id)


async def _remove_log(runtime: Runtime, pod_uid: str, container: Container) -> None:
    if isinstance(runtime, KeepsLogs):
        runtime.remove_log(container.log_path)
    elif container.log_path:
        await blocking_for_pod(pod_uid, remove_log_files, Path(container.log_path))


async def release_resources(services: PodServices, uid: str) -> None:
    """Release what an ended pod holds beside its containers. Raises ``OSError``."""
    services.assignments.release(uid)
    await services.volumes.tear_down(uid)
    services.images.forget(uid)


async def remove_everything(services: PodServices, pod: Pod) -> None:
    """Remove the last traces of a deleted pod: containers, sandboxes, logs.

    Raises ``RuntimeFailure``.
    """
    uid = pod.metadata.uid or ""
    observed = await services.observer.observe(uid)
    runtime = services.deps.runtime
    for container in observed.containers:
        if isinstance(runtime, KeepsLogs):
            runtime.remove_log(container.log_path)
    for sandbox in observed.sandboxes:
        await runtime.stop_sandbox(sandbox.id)
        await runtime.remove_sandbox(sandbox.id)
    services.users.release(uid)
    if services.deps.config.write_files or not isinstance(runtime, KeepsLogs):
        await blocking_for_pod(uid, services.directories.remove_logs, uid)
