"""``/runningpods/``: the pods that run according to the runtime."""

from __future__ import annotations

from podling.api.core_v1 import Container, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.runtime.base import ContainerState, Runtime


async def running_pods(runtime: Runtime) -> tuple[Pod, ...]:
    """Return a pod for each one with a running sandbox: its identity, and its running containers."""
    containers: dict[str, list[Container]] = {}
    for container in await runtime.list_containers():
        if container.state is ContainerState.RUNNING:
            shown = Container(name=container.name, image=container.image)
            containers.setdefault(container.sandbox_id, []).append(shown)
    found = [
        Pod(
            metadata=ObjectMeta(name=sandbox.pod_name, namespace=sandbox.pod_namespace, uid=sandbox.pod_uid),
            spec=PodSpec(
                containers=tuple(sorted(containers.get(sandbox.id, ()), key=lambda each: each.name))
            ),
        )
        for sandbox in await runtime.list_sandboxes()
        if sandbox.ready
    ]
    return tuple(sorted(found, key=lambda pod: (pod.metadata.namespace or "", pod.metadata.name or "")))
