"""What other servers keep in a cluster's namespaces: the door through which they are emptied.

Whoever knows the servers behind APIServices implements it; a control plane without any has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from podling.client.base import ApiObject
from podling.machinery.resource import Resource


class OtherApis(Protocol):
    """Everything but ``resources`` raises ``ApiError``."""

    def resources(self) -> Sequence[Resource]:
        """What other servers serve, each resource in one version, as far as they answer."""
        ...

    async def list(self, resource: Resource, namespace: str) -> Sequence[ApiObject]:
        """The objects, of which only metadata is known."""
        ...

    async def delete(self, resource: Resource, namespace: str, name: str = "") -> None:
        """Ask for the end of one object, or of all of them."""
        ...


class NoOtherApis:
    """There are none."""

    def resources(self) -> Sequence[Resource]:
        return ()

    async def list(self, resource: Resource, namespace: str) -> Sequence[ApiObject]:
        return ()

    async def delete(self, resource: Resource, namespace: str, name: str = "") -> None:
        return None


NO_OTHER_APIS = NoOtherApis()
