"""The resource behind a reference to anything that can be scaled, and its scale."""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.autoscaling_v1 import Scale
from podling.api.autoscaling_v2 import CrossVersionObjectReference
from podling.client.base import Client
from podling.machinery.errors import ApiError
from podling.machinery.resource import Resource
from podling.machinery.scheme import RESOURCES


class NoTarget(Exception):
    """A reference that leads to no scale; the text is Kubernetes'."""


class ScaleTargets:
    """Reads and writes the scales of built-in and custom kinds.

    Args:
        client: the client of the autoscaler.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._custom: dict[tuple[str, str], Resource] = {}

    def follow(self, resource: Resource) -> None:
        """Take in a custom resource that is served from now on."""
        self._custom[resource.group, resource.kind] = resource

    def forget(self, resource: Resource) -> None:
        self._custom.pop((resource.group, resource.kind), None)

    def resource_of(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind, in its preferred version."""
        return next(iter(self._mappings(group, kind)), None)

    async def get(self, namespace: str, target: CrossVersionObjectReference) -> tuple[Resource, Scale]:
        """Return the scale of a target and its resource. Raises ``NoTarget`` and ``Unreachable``."""
        if (target.api_version or "").count("/") > 1:
            raise NoTarget(f"unexpected GroupVersion string: {target.api_version}")
        group = (target.api_version or "").rpartition("/")[0]
        found = list(self._mappings(group, target.kind))
        if not found:
            raise NoTarget(f'no matches for kind "{target.kind}" in group "{group}"')
        first: ApiError | None = None
        for resource in found:
            try:
                if "scale" not in resource.subresources:
                    raise NoTarget("the server could not find the requested resource")
                return resource, await self._client.get_scale(resource, target.name, namespace)
            except ApiError as error:
                first = first or error
        raise NoTarget(str(first))

    async def put(self, resource: Resource, scale: Scale) -> None:
        """Write a scale. Raises ``ApiError`` and ``Unreachable``."""
        await self._client.update_scale(resource, scale)

    def _mappings(self, group: str, kind: str) -> Iterable[Resource]:
        yield from (each for each in RESOURCES if (each.group, each.kind) == (group, kind))
        if (group, kind) in self._custom:
            yield self._custom[group, kind]
