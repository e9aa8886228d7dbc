"""Ending a pod in the name of the cluster: first say why in its status, then delete it."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from podling.api.core_v1 import Pod, PodCondition
from podling.client.base import Client
from podling.machinery.conditions import with_condition
from podling.machinery.errors import unless_gone
from podling.machinery.pods import is_terminal


def disrupted(pod: Pod, reason: str, message: str, now: datetime) -> Pod:
    """``pod`` with the condition ``DisruptionTarget``; the very same pod if it has it already."""
    condition = PodCondition(
        type="DisruptionTarget",
        status="True",
        reason=reason,
        message=message,
        observed_generation=pod.metadata.generation,
    )
    conditions = with_condition(pod.status.conditions, condition, now)
    if conditions is pod.status.conditions:
        return pod
    return structs.replace(pod, status=structs.replace(pod.status, conditions=conditions))


def failed(pod: Pod) -> Pod:
    """``pod`` in the phase Failed, unless its phase is final already."""
    if is_terminal(pod):
        return pod
    return structs.replace(pod, status=structs.replace(pod.status, phase="Failed"))


async def end_pod(client: Client, pod: Pod, wanted: Pod, *, grace_seconds: int | None = None) -> None:
    """Write the status of ``wanted`` if it differs from ``pod``'s, then delete exactly this pod.

    A pod that is gone, or was replaced by one of the same name, is left alone. Raises conflicts of the
    status write: the decision was made on an old view.
    """
    metadata = pod.metadata
    with unless_gone():
        if wanted is not pod:
            await client.update(wanted, subresource="status")
        await client.delete(
            Pod,
            metadata.name or "",
            metadata.namespace,
            grace_seconds=grace_seconds,
            uid=metadata.uid or "",
        )
