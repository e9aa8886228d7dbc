"""The container whose log a request means, or Kubernetes' error message if it has none. Pure.

The kubelet's ``validateContainerLogStatus`` (``pkg/kubelet/kubelet_pods.go``): the latest instance that
ran, or the one before it. A container that never ran has no log; the error says why it waits.
"""

from __future__ import annotations

import json
from itertools import chain

from podling.api.core_v1 import ContainerStatus, Pod
from podling.machinery.errors import bad_request

WAITING_TEXTS = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def log_container_id(pod: Pod, name: str, *, previous: bool) -> str:
    """Return the id (``<runtime>://<id>``) of the container whose log is requested. Raises 400."""
    where = f"container {json.dumps(name)} in pod {json.dumps(pod.metadata.name)}"
    found = container_status(pod, name)
    if found is None:
        raise bad_request(f"{where} is not available")
    ended, before = found.state.terminated, found.last_state.terminated
    if previous:
        if before is None or not before.container_id:
            raise bad_request(f"previous terminated {where} not found")
        return before.container_id
    if found.state.running is not None:
        return found.container_id or ""
    ids = [status.container_id for status in (ended, before) if status is not None]
    if ids:
        if not any(ids):
            raise bad_request(f"{where} is terminated")
        return next(filter(None, ids))
    raise bad_request(f"{where} {_why_waiting(found)}")


def container_status(pod: Pod, name: str) -> ContainerStatus | None:
    """Return the container's status, for any kind of container."""
    status = pod.status
    every = chain(
        status.container_statuses, status.init_container_statuses, status.ephemeral_container_statuses
    )
    return next((each for each in every if each.name == name), None)


def has_container(pod: Pod, name: str) -> bool:
    spec = pod.spec
    return any(each.name == name for each in chain(spec.containers, spec.init_containers)) or any(
        each.name == name for each in spec.ephemeral_containers
    )


def _why_waiting(status: ContainerStatus) -> str:
    waiting = status.state.waiting
    if waiting is None:
        return "is waiting to start - no logs yet"
    reason = waiting.reason or ""
    return f"is waiting to start: {WAITING_TEXTS.get(reason, reason)}"
