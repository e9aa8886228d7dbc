"""Reading controllers from the informers of a control plane, or from lists.

Admission reads them from the store: see ``pod_admission``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.client.base import ApiObject, Client, Key
from podling.client.informer_factory import InformerFactory
from podling.machinery.encoding.custom import CustomResource, is_established, stored_resource
from podling.machinery.errors import ApiError, is_not_found
from podling_vpa.targets import WELL_KNOWN, NoScale


class InformedReader:
    """Reads well-known controllers from informers, and the scales of custom ones from the API server."""

    def __init__(self, client: Client, informers: InformerFactory) -> None:
        self._client = client
        self._informers = {kind: informers.informer(kind) for kind in WELL_KNOWN.values()}
        self._definitions = informers.informer(CustomResourceDefinition)

    def get(self, type_: type[Any], name: str, namespace: str) -> ApiObject | None:
        found: ApiObject | None = self._informers[type_].get(Key(namespace, name))
        return found

    async def scale_selector(self, group: str, kind: str, name: str, namespace: str) -> str:
        """Return the selector in the scale of a custom object. Raises ``NoScale``, ``Unreachable``."""
        resource = _resource(self._definitions.values(), group, kind)
        return await _scale_selector(self._client, resource, name, namespace)


class ListedReader:
    """Reads from lists of one namespace that were read before: see ``read_namespace``."""

    def __init__(
        self,
        client: Client,
        found: Mapping[tuple[type[Any], str], ApiObject],
        definitions: Sequence[CustomResourceDefinition],
    ) -> None:
        self._client, self._found, self._definitions = client, found, definitions

    def get(self, type_: type[Any], name: str, namespace: str) -> ApiObject | None:
        return self._found.get((type_, name))

    async def scale_selector(self, group: str, kind: str, name: str, namespace: str) -> str:
        """Return the selector in the scale of a custom object. Raises ``NoScale``, ``Unreachable``."""
        resource = _resource(self._definitions, group, kind)
        return await _scale_selector(self._client, resource, name, namespace)


async def read_namespace(client: Client, namespace: str) -> ListedReader:
    """Return a reader of the controllers of one namespace. Raises ``ApiError``."""
    found: dict[tuple[type[Any], str], ApiObject] = {}
    for kind in WELL_KNOWN.values():
        for each in (await client.list(kind, namespace)).items:
            found[kind, each.metadata.name or ""] = each
    definitions = (await client.list(CustomResourceDefinition)).items
    return ListedReader(client, found, definitions)


def _resource(definitions: Iterable[CustomResourceDefinition], group: str, kind: str) -> CustomResource:
    """Return the custom resource of a kind. Raises ``NoScale``."""
    for definition in definitions:
        found = (definition.spec.group, definition.status.accepted_names.kind)
        if found == (group, kind) and is_established(definition):
            return stored_resource(definition)
    raise NoScale(f'no matches for kind "{kind}" in group "{group}"', is_missing=False)


async def _scale_selector(client: Client, resource: CustomResource, name: str, namespace: str) -> str:
    if "scale" not in resource.subresources:
        raise NoScale("the server could not find the requested resource", is_missing=True)
    try:
        scale = await client.get_scale(resource, name, namespace)
    except ApiError as error:
        raise NoScale(str(error), is_missing=is_not_found(error)) from None
    return scale.status.selector or ""
