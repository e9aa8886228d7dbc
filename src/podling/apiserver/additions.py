"""Kinds and objects that a server has beside the built-in ones, as extensions add them.

Definitions are created or brought up to date at every start and established before the first request, so that
controllers find their kinds at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.bootstrap import ensure
from podling.apiserver.customresources.conversion import Converter
from podling.apiserver.customresources.lifecycle import Lifecycle
from podling.apiserver.registry.registry import Registry
from podling.client.local import LocalClient
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.scheme import resource_of


class Additions(Struct, frozen=True):
    """The additions of one server. ``converters`` go by the names of definitions."""

    definitions: Sequence[CustomResourceDefinition] = ()
    objects: Sequence[Any] = ()
    converters: Mapping[str, Converter] = {}


NO_ADDITIONS = Additions()


async def install(additions: Additions, registry: Registry, lifecycle: Lifecycle) -> None:
    """Create what is missing, and bring definitions up to date."""
    for definition in additions.definitions:
        await _install(registry, definition)
    if additions.definitions:
        stored = await LocalClient(registry).list(CustomResourceDefinition)
        await lifecycle.look_at(stored.items)
    for obj in additions.objects:
        await ensure(registry, obj)


async def _install(registry: Registry, definition: CustomResourceDefinition) -> None:
    stored = await ensure(registry, definition)
    target = Target(resource_of(CustomResourceDefinition), "", definition.metadata.name or "")
    wanted = structs.replace(stored, spec=definition.spec)
    await registry.update(target, SYSTEM, wanted, WriteOptions())
