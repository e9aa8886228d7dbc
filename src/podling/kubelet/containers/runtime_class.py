"""``runtimeClassName``: selects the runtime of a pod, or fails the pod.

A node has one runtime. It serves a class whose handler is that runtime's name, either as the node knows
it (``oci``) or as the runtime reports itself (``crun``).
"""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.api.node_v1 import RuntimeClass
from podling.client.base import Unreachable
from podling.kubelet.deps import KubeletDeps
from podling.machinery.errors import ApiError


async def missing_handler(deps: KubeletDeps, pod: Pod) -> str:
    """Return why this node cannot serve the pod's runtime class; empty if it can, or if there is none.

    Raises ``RuntimeFailure``.
    """
    name = pod.spec.runtime_class_name
    if not name:
        return ""
    try:
        found = await deps.client.get(RuntimeClass, name)
    except (ApiError, Unreachable) as error:
        return f"failed to get sandbox runtime: {error}"
    served = {deps.runtime.name, (await deps.runtime.status()).name}
    return "" if found.handler in served else f'no runtime for "{found.handler}" is configured'
