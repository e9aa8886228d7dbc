"""ContainerRecreateRequests for pods on a simulated node with OpenKruise."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import ContainerStatus, Pod
from podling.machinery.encoding import codec
from podling_kruise.recreate.types import ContainerRecreateRequest
from tests.support.clone_sets import Kruise


def recreate(
    *names: str,
    name: str = "again",
    pod: str = "web",
    strategy: dict[str, Any] | None = None,
    **spec: Any,
) -> ContainerRecreateRequest:
    """Return a request for containers of a pod (``app`` by default)."""
    wanted = spec.pop("containers", [{"name": each} for each in names or ("app",)])
    plain = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"podName": pod, "containers": wanted, "strategy": strategy or {}, **spec},
    }
    return codec.from_plain(plain, ContainerRecreateRequest)


async def request_of(kruise: Kruise, name: str = "again") -> ContainerRecreateRequest:
    return await kruise.client.get(ContainerRecreateRequest, name, "default")


def statuses(pod: Pod) -> dict[str, ContainerStatus]:
    return {each.name: each for each in pod.status.container_statuses}


def states(request: ContainerRecreateRequest) -> dict[str, tuple[str, bool]]:
    """Return phase, and whether it was stopped, of each container of the request."""
    return {each.name: (each.phase, each.is_killed) for each in request.status.container_recreate_states}
