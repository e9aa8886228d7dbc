"""Reads the ConfigMaps and Secrets that pods refer to.

What a container starts with is read from the API server, so it is current; volumes are read through the
watches of their changes (``reference_watches``). Absence is reported with Kubernetes' own text,
which users search for.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from podling.api.core_v1 import ConfigMap, Secret
from podling.kubelet.failures import MissingReference
from podling.machinery.errors import ApiError, is_not_found

T = TypeVar("T", ConfigMap, Secret)


class Reader(Protocol):
    """The source of the objects: a client, or the watches of the node."""

    async def get(self, kind: type[T], name: str, namespace: str | None = None) -> T: ...


class References:
    """Reads from one source. Raises ``MissingReference``, and the client's own errors."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def config_map(self, namespace: str, name: str, *, optional: bool = False) -> ConfigMap | None:
        """Return the ConfigMap; None only if it is absent and ``optional``."""
        return await self._get(ConfigMap, namespace, name, optional)

    async def secret(self, namespace: str, name: str, *, optional: bool = False) -> Secret | None:
        """Return the Secret; None only if it is absent and ``optional``."""
        return await self._get(Secret, namespace, name, optional)

    async def _get(self, kind: type[T], namespace: str, name: str, optional: bool) -> T | None:
        try:
            return await self._reader.get(kind, name, namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise MissingReference(str(error)) from error
            if optional:
                return None
            raise MissingReference(f'{kind.__name__.lower()} "{name}" not found') from error
