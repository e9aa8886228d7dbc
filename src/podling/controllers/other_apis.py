"""The protocol to use aggregated APIs: to read metrics, and to delete the objects of namespaces that end.

The API server implements it for the servers behind APIServices, ``client.other_apis`` for components in other
processes; other control planes have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from podling.client.base import ApiObject
from podling.machinery import errors
from podling.machinery.resource import Resource


class OtherApis(Protocol):
    """All raise ``ApiError``, and ``Unreachable`` if the API server is in another process."""

    async def resources(self) -> Sequence[Resource]:
        """Return the resources of aggregated API servers that answer, each in one version."""
        ...

    async def list(self, resource: Resource, namespace: str) -> Sequence[ApiObject]:
        """Return the objects, of which only metadata is known."""
        ...

    async def delete(self, resource: Resource, namespace: str, name: str = "") -> None:
        """Request the deletion of one object, or of all."""
        ...

    async def get(self, path: str) -> bytes:
        """Return the answer of an aggregated API to a GET of a path with its query."""
        ...


class NoOtherApis:
    """There are none."""

    async def resources(self) -> Sequence[Resource]:
        return ()

    async def list(self, resource: Resource, namespace: str) -> Sequence[ApiObject]:
        return ()

    async def delete(self, resource: Resource, namespace: str, name: str = "") -> None:
        return None

    async def get(self, path: str) -> bytes:
        raise errors.failure(404, "NotFound", "the server could not find the requested resource")


NO_OTHER_APIS = NoOtherApis()
