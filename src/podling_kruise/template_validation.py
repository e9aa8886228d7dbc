"""Validation that the kinds with pod templates share. The messages are OpenKruise's. Pure.

Upstream: the validating webhooks of ``pkg/webhook``, and ``FieldsValidation`` of ``apis/apps/pub``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import structs

from podling.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    PodSpec,
    PodTemplateSpec,
    Volume,
)
from podling.api.meta_v1 import LabelSelector
from podling.machinery import fields, label_checks
from podling.machinery.encoding import codec
from podling.machinery.fields import FieldError, Path
from podling.machinery.selectors import SelectorError, from_label_selector
from podling_kruise.common_types import PriorityStrategy, ScatterTerm
from podling_kruise.inplace.revision_diff import Operation, operations

Errors = list[FieldError]

SPEC = Path("spec")
TEMPLATE = SPEC.child("template")
_IMAGE = re.compile(r"/containers/(\d+)/image")


def pod_errors(template: PodTemplateSpec, kind: str) -> Errors:
    """Return what is wrong with a template for pods that run for ever. ``kind``: as messages write it."""
    errors: Errors = []
    if template.spec.restart_policy not in (None, "", "Always"):
        where = TEMPLATE.child("spec", "restartPolicy")
        errors.append(fields.not_supported(where, template.spec.restart_policy, ("Always",)))
    if template.spec.active_deadline_seconds is not None:
        where = TEMPLATE.child("spec", "activeDeadlineSeconds")
        errors.append(fields.forbidden(where, f"activeDeadlineSeconds in {kind} is not Supported"))
    return errors


def change_beyond_images(old: PodSpec, new: PodSpec) -> Operation | None:
    """Return the first change that is not of a container's image, if there is one."""
    for each in operations(codec.to_plain(old), codec.to_plain(new)):
        if each.name != "replace" or not _IMAGE.fullmatch(each.path):
            return each
    return None


def template_with_claims(
    template: PodTemplateSpec, claims: Iterable[PersistentVolumeClaim]
) -> PodTemplateSpec:
    """Return the template with a volume for each claim, which its containers may mount."""
    volumes = tuple(
        Volume(
            name=each.metadata.name or "",
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=each.metadata.name or ""),
        )
        for each in claims
    )
    inner = template.spec
    return structs.replace(template, spec=structs.replace(inner, volumes=(*inner.volumes, *volumes)))


def selector_errors(selector: LabelSelector | None, template: PodTemplateSpec, kind: str) -> Errors:
    """Return what is wrong with a selector. ``kind`` is the kind as messages write it."""
    where = SPEC.child("selector")
    if selector is None:
        return [fields.required(where)]
    if selector == LabelSelector():
        return [fields.invalid(where, selector, f"empty selector is invalid for {kind}")]
    if wrong := label_checks.label_selector(where, selector):
        return wrong
    if from_label_selector(selector).matches(template.metadata.labels):
        return []
    labels = TEMPLATE.child("metadata", "labels")
    text = "`selector` does not match template `labels`"
    return [fields.invalid(labels, template.metadata.labels, text)]


def priority_error(strategy: PriorityStrategy) -> str:
    """Return what is wrong with a priority strategy; empty if nothing is."""
    if strategy.weight_priority and strategy.order_priority:
        return "only one of weightPriority and orderPriority can be used"
    for term in strategy.weight_priority:
        if not 0 <= term.weight <= 100:
            return "weight must be valid number in the range 1-100"
        if term.match_selector == LabelSelector():
            return "selector can not be empty"
        try:
            from_label_selector(term.match_selector)
        except SelectorError as error:
            return f"invalid selector {error}"
    if any(not term.ordered_key for term in strategy.order_priority):
        return "order key can not be empty"
    return ""


def scatter_error(terms: tuple[ScatterTerm, ...]) -> str:
    """Return what is wrong with a scatter strategy; empty if nothing is."""
    seen: set[tuple[str, str]] = set()
    for term in terms:
        if not term.key:
            return "key should not be empty"
        if (term.key, term.value) in seen:
            return f"duplicated key={term.key} value={term.value}"
        seen.add((term.key, term.value))
    return ""
