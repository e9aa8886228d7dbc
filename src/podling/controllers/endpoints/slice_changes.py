"""The slices of one manager by their Service, and the writing of what ``slice_rules`` decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import ApiObject, Client, Key
from podling.client.informer import Informer
from podling.client.workqueue import WorkQueue
from podling.controllers.children import Children
from podling.controllers.endpoints.slice_rules import MANAGED_BY, SERVICE_NAME, Changes
from podling.machinery.errors import ApiError, unless_gone

O = TypeVar("O", bound=ApiObject)  # noqa: E741 owner

BY_SERVICE = "manager and service"
"""Not ``service``: the load balancer files the slices of the same informer under that name."""


class ChangeFailed(Exception):
    """A slice could not be written; the cause is the ``ApiError``."""


def _manager_and_service(found: EndpointSlice) -> Iterable[str]:
    labels = found.metadata.labels
    return (f"{labels.get(MANAGED_BY)} {found.metadata.namespace}/{labels.get(SERVICE_NAME)}",)


class ManagedSlices:
    """The slices that a manager keeps, by their labels. A change of one requeues its Service."""

    def __init__(self, slices: Informer[EndpointSlice], manager: str, queue: WorkQueue[Key]) -> None:
        self._slices, self._manager, self._queue = slices, manager, queue
        slices.add_indexer(BY_SERVICE, _manager_and_service)
        slices.add_handler(self._wake, self._wake_both, self._wake)

    def _wake_both(self, old: EndpointSlice, new: EndpointSlice) -> None:
        self._wake(old)
        self._wake(new)

    def _wake(self, found: EndpointSlice) -> None:
        labels = found.metadata.labels
        if labels.get(MANAGED_BY) == self._manager and labels.get(SERVICE_NAME):
            self._queue.add(Key(found.metadata.namespace or "", labels[SERVICE_NAME]))

    def of(self, key: Key) -> list[EndpointSlice]:
        """Return the slices of a Service that are not being deleted."""
        found = self._slices.by_index(BY_SERVICE, f"{self._manager} {key}")
        return [each for each in found if each.metadata.deletion_timestamp is None]


async def carry_out(
    client: Client, owner: Key, kind: str, children: Children[O, EndpointSlice], changes: Changes
) -> None:
    """Write changes, new endpoints first, so that a service never looks emptier than it is.

    Raises ``ChangeFailed`` with a message that names the owner, of a ``kind``.
    """
    for each in changes.create:
        try:
            children.wrote(owner, await client.create(each))
        except ApiError as error:
            raise ChangeFailed(f"failed to create EndpointSlice for {kind} {owner}: {error}") from error
    for each in changes.update:
        try:
            children.wrote(owner, await client.update(each))
        except ApiError as error:
            name = each.metadata.name
            raise ChangeFailed(
                f"failed to update {name} EndpointSlice for {kind} {owner}: {error}"
            ) from error
    for each in changes.delete:
        metadata = each.metadata
        try:
            with unless_gone():
                await client.delete(
                    EndpointSlice, metadata.name or "", metadata.namespace, uid=metadata.uid or ""
                )
        except ApiError as error:
            name = metadata.name
            raise ChangeFailed(
                f"failed to delete {name} EndpointSlice for {kind} {owner}: {error}"
            ) from error
        children.deleted(owner, each)
