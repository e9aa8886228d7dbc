"""Reads the ConfigMaps and Secrets that pods refer to.

Every read goes to the API server, so a container starts with the current content. Absence is reported
with Kubernetes' own text, which users search for.
"""

from __future__ import annotations

from typing import TypeVar

from podling.api.core_v1 import ConfigMap, Secret
from podling.client.base import Client
from podling.kubelet.failures import MissingReference
from podling.machinery.errors import ApiError, is_not_found

T = TypeVar("T", ConfigMap, Secret)


class References:
    """Reads over one client. Raises ``MissingReference``, and the client's own errors."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def config_map(self, namespace: str, name: str, *, optional: bool = False) -> ConfigMap | None:
        """Return the ConfigMap; None only if it is absent and ``optional``."""
        return await self._get(ConfigMap, namespace, name, optional)

    async def secret(self, namespace: str, name: str, *, optional: bool = False) -> Secret | None:
        """Return the Secret; None only if it is absent and ``optional``."""
        return await self._get(Secret, namespace, name, optional)

    async def _get(self, kind: type[T], namespace: str, name: str, optional: bool) -> T | None:
        try:
            return await self._client.get(kind, name, namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise MissingReference(str(error)) from error
            if optional:
                return None
            raise MissingReference(f'{kind.__name__.lower()} "{name}" not found') from error
