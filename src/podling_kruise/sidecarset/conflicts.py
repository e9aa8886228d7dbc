"""Conflicts between SidecarSets that may select the same pods, and between canaries and their bases. Pure.

Upstream: ``pkg/webhook/sidecarset/validating``.
"""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.meta_v1 import LabelSelector
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path
from podling_kruise.selector_overlap import selectors_overlap
from podling_kruise.sidecarset.annotations import BASE
from podling_kruise.sidecarset.metadata_validation import PATCHES
from podling_kruise.sidecarset.pod_injection import base_of_canary
from podling_kruise.sidecarset.types import OVERWRITE, RETAIN, SidecarSet, SidecarSetSpec
from podling_kruise.template_validation import SPEC

Errors = list[FieldError]


def canary_errors(new: SidecarSet, old: SidecarSet | None, base: SidecarSet | None, name: str) -> Errors:
    """Return what is wrong with a canary. ``base``: the SidecarSet that it replaces, if it exists."""
    where, shown = Path("metadata"), new.metadata.annotations
    found: Errors = []
    if name == new.metadata.name:
        found.append(fields.invalid(where, shown, "base sidecarSet cannot be itself"))
    if old is not None and old.metadata.annotations.get(BASE) != name:
        found.append(fields.invalid(where, shown, f"annotations[{BASE}] is immutable"))
    if base is None:
        text = f'fetch base sidecarSet[{name}] failed: SidecarSet.apps.kruise.io "{name}" not found'
        found.append(fields.invalid(where, shown, text))
    elif base_of_canary(base):
        found.append(fields.invalid(where, shown, "base sidecarSet cannot be canary"))
    if not new.spec.update_strategy.leaves_pods:
        text = "RollingUpdate is not supported for canary sidecarSet"
        found.append(fields.invalid(where, shown, text))
    return found


def conflict_errors(new: SidecarSet, others: Iterable[SidecarSet]) -> Errors:
    """Return the conflicts with other SidecarSets that may select the same pods."""
    found: Errors = []
    containers = SPEC.child("containers")
    for other in others:
        if other.metadata.name == new.metadata.name or not _overlap(new.spec, other.spec):
            continue
        name = other.metadata.name
        for mine, theirs in (
            (new.spec.init_containers, other.spec.init_containers),
            (new.spec.containers, other.spec.containers),
        ):
            taken = {each.name for each in theirs}
            found += [
                fields.invalid(containers, each.name, f"container {each.name} already exist in {name}")
                for each in mine
                if each.name in taken
            ]
        volumes = {each.name: each for each in other.spec.volumes}
        found += [
            fields.invalid(
                SPEC.child("volumes"), each.name, f"volume {each.name} is in conflict with sidecarset {name}"
            )
            for each in new.spec.volumes
            if volumes.get(each.name, each) != each
        ]
        found += _patch_conflicts(new, other)
    return found


def _patch_conflicts(new: SidecarSet, other: SidecarSet) -> Errors:
    theirs = {
        key: patch.patch_policy
        for patch in other.spec.patch_pod_metadata
        if patch.patch_policy != RETAIN
        for key in patch.annotations
    }
    return [
        fields.invalid(PATCHES, key, f"annotation {key} is in conflict with sidecarset {other.metadata.name}")
        for patch in new.spec.patch_pod_metadata
        if patch.patch_policy != RETAIN
        for key in patch.annotations
        if key in theirs and OVERWRITE in (patch.patch_policy, theirs[key])
    ]


def _overlap(one: SidecarSetSpec, other: SidecarSetSpec) -> bool:
    places = (one.namespace_selector, other.namespace_selector)
    if places[0] is not None and places[1] is not None and not selectors_overlap(places[0], places[1]):
        return False
    return selectors_overlap(one.selector or LabelSelector(), other.selector or LabelSelector())
