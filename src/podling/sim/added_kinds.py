"""The kinds that the extensions of a scenario add, by the names that manifests and actions use. Pure.

``entries`` are those of ``podling up --with``: names of extensions, or ``NAME:GATE=true``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import structs

from podling.extensions.extension import Extension
from podling.extensions.loading import extensions_of
from podling.machinery import scheme
from podling.machinery.encoding.custom import CustomResource, version_resource
from podling.machinery.resource import Resource
from podling.sim.conditions import resource_named

Entries = tuple[str, ...]


@cache
def extensions_named(entries: Entries) -> tuple[Extension, ...]:
    """Return the extensions. Raises ``UnknownExtension``."""
    return extensions_of(entries)


@cache
def _added(entries: Entries) -> tuple[CustomResource, ...]:
    """Return each version of the added kinds, the stored one of a kind first."""
    return tuple(_versions(entries)) if entries else ()


def _versions(entries: Entries) -> Iterator[CustomResource]:
    for extension in extensions_named(entries):
        for given in extension.definitions():
            status = structs.replace(given.status, accepted_names=given.spec.names)
            definition = structs.replace(given, status=status)
            for version in sorted(definition.spec.versions, key=lambda each: not each.storage):
                yield version_resource(definition, version)


def kind_of(entries: Entries, group: str, version: str, kind: str) -> Resource | None:
    """Return the kind of a manifest, built-in or added; None if there is none."""
    for each in _added(entries):
        if (each.group, each.version, each.kind) == (group, version, kind):
            return each
    return scheme.by_kind(group, version, kind)


def target_kind(entries: Entries, text: str) -> Resource | None:
    """Return the kind that an action names: ``deployment``, ``cloneset``, ``statefulset.apps.kruise.io``."""
    built_in = resource_named(text)
    if built_in is not None:
        return built_in
    kind, _, group = text.lower().partition(".")
    for each in _added(entries):
        names = (each.kind.lower(), each.plural, each.singular, *each.short_names)
        if kind in names and group in ("", each.group):
            return each
    return None


def is_added(resource: Resource) -> bool:
    """Return whether a kind is one of an extension."""
    return isinstance(resource, CustomResource)
