"""Validation of the annotations that SidecarSets give to pods. Pure.

Upstream: ``validateSidecarSetPatchMetadataWhitelist`` and ``validateSidecarSetPatchMetadata``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from podling.api.meta_v1 import LabelSelector
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path
from podling.machinery.label_checks import annotation_map
from podling.machinery.selectors import from_label_selector
from podling_kruise.sidecarset.types import SidecarSet, SidecarSetSpec
from podling_kruise.template_validation import SPEC

Errors = list[FieldError]

PATCHES = SPEC.child("patchPodMetadata")


def whitelist_errors(new: SidecarSet, data: Mapping[str, str] | None, *, allowed: bool) -> Errors:
    """Return an error for annotations that the cluster does not let SidecarSets give to pods.

    Args:
        data: that of the ConfigMap ``kruise-configuration``; None without one.
        allowed: what has no rule is allowed.
    """
    if not new.spec.patch_pod_metadata:
        return []
    text = (data or {}).get("SidecarSet_PatchPodMetadata_WhiteList")
    if text is None:
        why = "SidecarSet patch metadata whitelist not found"
        return [] if allowed else [fields.required(PATCHES, why)]
    try:
        patterns = [re.compile(each) for each in _expressions(text, new.metadata.labels)]
    except (ValueError, TypeError, AttributeError, re.error, msgspec.MsgspecError) as error:
        return [fields.required(PATCHES, str(error))]
    if not patterns:
        why = "sidecarSet patch metadata annotation is not allowed"
        return [] if allowed else [fields.required(PATCHES, why)]
    for patch in new.spec.patch_pod_metadata:
        for key in patch.annotations:
            if not any(each.search(key) for each in patterns):
                why = f"sidecarSet patch metadata annotation({key}) is not allowed"
                return [fields.required(PATCHES, why)]
    return []


def _expressions(text: str, labels: Mapping[str, str]) -> Iterable[str]:
    for rule in msgspec.json.decode(text).get("rules") or ():
        selector = rule.get("selector")
        if selector is not None:
            wanted = from_label_selector(msgspec.convert(selector, LabelSelector))
            if not wanted.matches(labels):
                continue
        yield from rule.get("allowedAnnotationKeyExprs") or ()


def patch_errors(spec: SidecarSetSpec) -> Errors:
    """Return what is wrong with the annotations by themselves."""
    found: Errors = []
    seen: set[str] = set()
    for patch in spec.patch_pod_metadata:
        if not patch.annotations:
            found.append(fields.required(PATCHES, "no annotations defined for SidecarSet"))
        found += annotation_map(Path("patchPodMetadata").child("annotations"), patch.annotations)
        if not patch.patch_policy:
            found.append(fields.required(PATCHES, "no patchPolicy defined for patchPodMetadata"))
        for key in patch.annotations:
            if key in seen:
                found.append(fields.required(PATCHES, f"patch annotation[{key}] already exist"))
            seen.add(key)
    return found
