"""Creation and deletion of pods for an owner, with events about the owner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from podling.api.core_v1 import Pod, PodTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject, Client, Unreachable
from podling.client.events import EventRecorder
from podling.controllers.children import Children
from podling.controllers.owner_references import controller_reference
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.names import dns_subdomain_errors

O = TypeVar("O")  # noqa: E741 owner

BATCH_INITIAL = 1
"""Creations begin with one and double while they succeed, so that what cannot succeed (a quota, a bad
template) fails once and not five hundred times."""


def pod_from_template(template: PodTemplateSpec, owner: ApiObject) -> Pod:
    """Return a new pod as the owner's template describes it, named by the API server."""
    prefix = f"{owner.metadata.name}-"
    if dns_subdomain_errors(prefix.rstrip("-")):
        prefix = owner.metadata.name or ""
    metadata = ObjectMeta(
        generate_name=prefix,
        namespace=owner.metadata.namespace,
        labels=dict(template.metadata.labels),
        annotations=dict(template.metadata.annotations),
        finalizers=template.metadata.finalizers,
        owner_references=(controller_reference(owner),),
    )
    return Pod(metadata=metadata, spec=template.spec)


class PodControl(Struct, frozen=True):
    """The pods of one controller. Failures are recorded as events and raised."""

    client: Client
    recorder: EventRecorder

    async def create(self, pod: Pod, owner: ApiObject) -> Pod:
        try:
            created = await self.client.create(pod)
        except (ApiError, Unreachable) as error:
            if not is_namespace_terminating(error):
                self.recorder.event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        self.recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {created.metadata.name}")
        return created

    async def delete(self, pod: Pod, owner: ApiObject) -> bool:
        """Delete the pod with this UID. Return whether it still existed."""
        metadata = pod.metadata
        try:
            await self.client.delete(Pod, metadata.name or "", metadata.namespace, uid=metadata.uid or "")
        except (ApiError, Unreachable) as error:
            if is_not_found(error):
                return False
            self.recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self.recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {metadata.name}")
        return True


async def slow_start(count: int, create: Callable[[int], Awaitable[object]]) -> Exception | None:
    """Call ``create(0) ... create(count - 1)`` in batches that double; stop after a batch that failed.

    Returns the first failure, or None.
    """
    begun, size = 0, min(count, BATCH_INITIAL)
    while size > 0:
        results = await asyncio.gather(
            *(create(begun + number) for number in range(size)), return_exceptions=True
        )
        failure = first_failure(results)
        if failure is not None:
            return failure
        begun += size
        size = min(2 * size, count - begun)
    return None


async def together(calls: list[Awaitable[object]]) -> Exception | None:
    """Await all; returns the first failure, or None."""
    return first_failure(await asyncio.gather(*calls, return_exceptions=True))


def first_failure(results: list[object | BaseException]) -> Exception | None:
    for result in results:
        if isinstance(result, Exception):
            return result
        if isinstance(result, BaseException):
            raise result
    return None


def unprepared(owner: Any, pod: Pod) -> Pod:
    """Return a new pod as it is."""
    return pod


class OwnedPods(Generic[O]):
    """The base of what carries out plans for the pods of owners of one kind.

    Args:
        children: the pods of the owners.
        prepared: what else an owner's kind gives to a new pod.
    """

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        children: Children[Any, Pod],
        prepared: Callable[[O, Pod], Pod] = unprepared,
    ) -> None:
        self._client, self._recorder = client, recorder
        self._pods, self._prepared = children, prepared
