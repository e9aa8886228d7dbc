"""Writing an object's status, when the object may be gone by now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from podling.api.core_v1 import Pod
from podling.client.base import ApiObject, Client, PatchType
from podling.machinery.errors import is_not_found, unless_gone

T = TypeVar("T", bound=ApiObject)


async def write_status(client: Client, obj: T) -> T:
    """Write the status of ``obj``; returns it as stored, or as given if it does not exist any more.

    What is gone needs no status: that is no failure, and its deletion is seen soon enough.
    """
    try:
        return await client.update(obj, subresource="status")
    except Exception as error:
        if is_not_found(error):
            return obj
        raise


async def patch_pod_status(
    client: Client, pod: Pod, status: Mapping[str, Any], *, field_manager: str = ""
) -> None:
    """Merge ``status`` into the pod's, by conditions and entries; another pod of its name is left alone.

    Nothing is done for a pod that is gone. Raises ``ApiError``.
    """
    with unless_gone():
        await client.patch(
            Pod,
            pod.metadata.name or "",
            {"metadata": {"uid": pod.metadata.uid}, "status": status},
            pod.metadata.namespace,
            patch_type=PatchType.STRATEGIC,
            subresource="status",
            field_manager=field_manager,
        )
