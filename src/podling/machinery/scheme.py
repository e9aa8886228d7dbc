"""Every resource that the API serves, and how to find one: by path, by kind, by type.

Importing this imports no types (see ``machinery.resource``); the table itself is ``machinery.served``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.machinery.feature_gates import is_enabled
from podling.machinery.resource import Resource, Subresource, module_of, type_of
from podling.machinery.served import GATED, RESOURCES

__all__ = [
    "RESOURCES",
    "Resource",
    "Subresource",
    "by_kind",
    "by_path",
    "gated_resource",
    "gated_resources",
    "group_versions",
    "module_of",
    "preferred_versions",
    "resource_of",
    "split_group_version",
    "type_of",
]

_BY_PATH = {(each.group, each.version, each.plural): each for each in RESOURCES}
_BY_TYPE: dict[type[Any], Resource] = {}
"""The types of built-in kinds, loaded at their first use."""
_BY_KIND = {(each.group, each.version, each.kind): each for each in RESOURCES}
_GATED_BY_KIND = {
    (each.group, each.version, each.kind): each for resources in GATED.values() for each in resources
}


def by_path(group: str, version: str, plural: str) -> Resource | None:
    """Return the resource that a URL names, or None."""
    return _BY_PATH.get((group, version, plural))


def by_kind(group: str, version: str, kind: str) -> Resource | None:
    """Return the resource of a kind, or None: ``apiVersion`` and ``kind`` of a manifest."""
    return _BY_KIND.get((group, version, kind))


def resource_of(type_: type[Any]) -> Resource:
    """Return the resource of a struct type. Raises LookupError for types that no resource has."""
    known = _BY_TYPE.get(type_)
    if known is not None:
        return known
    own: Resource | None = getattr(type_, "custom_resource", None)
    if own is not None:
        return own
    group_version_kind = getattr(type_, "group_version_kind", ("", "", type_.__name__))
    found = _BY_KIND.get(group_version_kind) or _GATED_BY_KIND.get(group_version_kind)
    if found is None:
        raise LookupError(f"{type_.__name__} is not the kind of a resource")
    _BY_TYPE[type_] = found
    return found


def gated_resources(gates: Mapping[str, bool]) -> tuple[Resource, ...]:
    """Return the resources that are served because of feature gates (``machinery.feature_gates``)."""
    return tuple(each for gate, resources in GATED.items() if is_enabled(gate, gates) for each in resources)


def gated_resource(group: str, version: str, plural: str) -> Resource | None:
    """Return a resource that is served with some feature gate only, or None."""
    wanted = (group, version, plural)
    every = _GATED_BY_KIND.values()
    return next((each for each in every if (each.group, each.version, each.plural) == wanted), None)


def split_group_version(api_version: str) -> tuple[str, str]:
    """``apps/v1`` to its group and version; the core group is empty."""
    group, _, version = api_version.rpartition("/")
    return group, version


def preferred_versions() -> dict[str, str]:
    """Return the preferred version of each group, groups in the order of ``RESOURCES``."""
    versions: dict[str, str] = {}
    for resource in RESOURCES:
        versions.setdefault(resource.group, resource.version)
    return versions


def group_versions() -> dict[str, tuple[str, ...]]:
    """Return all served versions of each group, the preferred one first."""
    found: dict[str, dict[str, None]] = {}
    for resource in RESOURCES:
        found.setdefault(resource.group, {})[resource.version] = None
    return {group: tuple(versions) for group, versions in found.items()}
