"""``runtimeClassName``: selects the runtime of a pod, or fails the pod.

A class names a handler of the node's runtime (``crun``, ``runc``), or the runtime itself (``oci``), which is
its default handler.
"""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.api.node_v1 import RuntimeClass
from podling.client.base import Unreachable
from podling.kubelet.deps import KubeletDeps
from podling.machinery.errors import ApiError
from podling.runtime.failures import RuntimeFailure


async def runtime_handler(deps: KubeletDeps, pod: Pod) -> str:
    """Return the name of the pod's runtime handler; empty for the default one.

    Raises ``RuntimeFailure`` for a class that this node does not serve.
    """
    name = pod.spec.runtime_class_name
    if not name:
        return ""
    try:
        found = await deps.client.get(RuntimeClass, name)
    except (ApiError, Unreachable) as error:
        raise RuntimeFailure(f"failed to get sandbox runtime: {error}") from error
    status = await deps.runtime.status()
    if found.handler in {handler.name for handler in status.handlers}:
        return found.handler
    if found.handler in (deps.runtime.name, status.name):
        return ""
    raise RuntimeFailure(f'no runtime for "{found.handler}" is configured')
