"""Owner references: who belongs to whom. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import ApiObject, Key
from podling.machinery.scheme import RESOURCES, Resource, by_kind, split_group_version


def controller_of(obj: ApiObject) -> OwnerReference | None:
    """Return the reference to the one owner that manages the object, or None."""
    return next((ref for ref in obj.metadata.owner_references if ref.controller), None)


def is_controlled_by(obj: ApiObject, owner: ApiObject) -> bool:
    ref = controller_of(obj)
    return ref is not None and ref.uid == owner.metadata.uid


def controller_reference(owner: ApiObject) -> OwnerReference:
    """Return the controller reference to ``owner``."""
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.metadata.name or "",
        uid=owner.metadata.uid or "",
        controller=True,
        block_owner_deletion=True,
    )


def resource_named(ref: OwnerReference) -> Resource | None:
    """Return the resource of a reference, in any version; None for an unknown kind."""
    group, version = split_group_version(ref.api_version)
    exact = by_kind(group, version, ref.kind)
    if exact is not None:
        return exact.storage_resource
    same = (each for each in RESOURCES if each.group == group and each.kind == ref.kind)
    return next(same, None)


def served_resource(ref: OwnerReference) -> Resource | None:
    """Return the built-in resource of a reference; None if its kind is not served in its version."""
    group, version = split_group_version(ref.api_version)
    exact = by_kind(group, version, ref.kind)
    return None if exact is None else exact.storage_resource


def is_kind_of(ref: OwnerReference, resource: Resource) -> bool:
    """Return whether a reference names the kind of ``resource``, in any version."""
    group, _ = split_group_version(ref.api_version)
    return (group, ref.kind) == (resource.group, resource.kind)


def owner_key(ref: OwnerReference, dependent: ObjectMeta, resource: Resource) -> Key:
    """Return the namespace of the owner: the dependent's own, or none."""
    return Key(dependent.namespace or "" if resource.namespaced else "", ref.name)


def without_owners(metadata: ObjectMeta, uids: Iterable[str]) -> tuple[OwnerReference, ...]:
    """Return the owner references but those to ``uids``."""
    gone = set(uids)
    return tuple(ref for ref in metadata.owner_references if ref.uid not in gone)
