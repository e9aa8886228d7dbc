"""Sizes of claims beside those of their templates. Pure. Upstream: ``pkg/util/pvc``."""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import PersistentVolumeClaim
from podling.machinery import quantity
from podling.machinery.conditions import find

STORAGE = "storage"
OWNED_BY = "apps.kruise.io/owned-by-asts"
"""The annotation of claims that were made larger, with the name of their set."""


def is_alike(claim: PersistentVolumeClaim, template: PersistentVolumeClaim) -> bool:
    """Return whether a claim has the class and the access modes of its template.

    A template without a class takes any: the cluster's default class is filled in.
    """
    mine, wanted = claim.spec, template.spec
    classes = mine.storage_class_name, wanted.storage_class_name
    if None not in classes and classes[0] != classes[1]:
        return False
    return tuple(mine.access_modes) == tuple(wanted.access_modes)


def is_too_small(claim: PersistentVolumeClaim, template: PersistentVolumeClaim) -> bool:
    """Return whether a claim requests less storage than its template."""
    return _requested(claim) < _requested(template)


def is_compatible(claim: PersistentVolumeClaim, template: PersistentVolumeClaim) -> bool:
    return is_alike(claim, template) and not is_too_small(claim, template)


def is_ready(claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume is as large as its claim requests."""
    return quantity.parse(claim.status.capacity.get(STORAGE, "0")) >= _requested(claim)


def is_grown(claim: PersistentVolumeClaim, template: PersistentVolumeClaim) -> bool:
    """Return whether a claim is as large as its template, but for what needs a new start of its pod."""
    if not is_compatible(claim, template):
        return False
    pending = find(claim.status.conditions, "FileSystemResizePending")
    return is_ready(claim) or (pending is not None and pending.status == "True")


def grown(claim: PersistentVolumeClaim, template: PersistentVolumeClaim, owner: str) -> PersistentVolumeClaim:
    """Return a claim that requests what its template does. ``owner`` is the name of the set."""
    annotations = {**claim.metadata.annotations, OWNED_BY: owner}
    metadata = structs.replace(claim.metadata, annotations=annotations)
    spec = structs.replace(claim.spec, resources=template.spec.resources)
    return structs.replace(claim, metadata=metadata, spec=spec)


def _requested(claim: PersistentVolumeClaim) -> quantity.Quantity:
    return quantity.parse(claim.spec.resources.requests.get(STORAGE, "0"))
