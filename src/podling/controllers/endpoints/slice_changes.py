"""Carrying out what ``slice_rules`` decided: the edge beside the rules."""

from __future__ import annotations

from typing import TypeVar

from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import ApiObject, Client, Key
from podling.controllers.children import Children
from podling.controllers.endpoints.slice_rules import Changes
from podling.machinery.errors import unless_gone

O = TypeVar("O", bound=ApiObject)  # noqa: E741 owner


async def carry_out(
    client: Client, owner: Key, children: Children[O, EndpointSlice], changes: Changes
) -> None:
    """New endpoints first, so that a service never looks emptier than it is. Raises ``ApiError``."""
    for each in changes.create:
        children.wrote(owner, await client.create(each))
    for each in changes.update:
        children.wrote(owner, await client.update(each))
    for each in changes.delete:
        metadata = each.metadata
        with unless_gone():
            await client.delete(
                EndpointSlice, metadata.name or "", metadata.namespace, uid=metadata.uid or ""
            )
        children.deleted(owner, each)
