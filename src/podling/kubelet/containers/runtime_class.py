"""``runtimeClassName``: a pod may ask for a way of being run, and gets that way or none.

A node has one runtime. A class is served if its handler is that runtime's name, either as the node knows
it (``oci``) or as the runtime calls itself (``crun``).
"""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.api.node_v1 import RuntimeClass
from podling.client.base import Unreachable
from podling.kubelet.deps import KubeletDeps
from podling.machinery.errors import ApiError


async def missing_handler(deps: KubeletDeps, pod: Pod) -> str:
    """Why the pod's runtime class cannot be served here; empty if it can, or if it asks for none.

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
