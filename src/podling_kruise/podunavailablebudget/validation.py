"""Validation of PodUnavailableBudgets. Pure. Upstream: ``pkg/webhook/podunavailablebudget/validating``."""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.meta_v1 import LabelSelector
from podling.machinery import fields, label_checks
from podling.machinery.fields import FieldError, Path
from podling.machinery.scheme import split_group_version
from podling_kruise import field_checks
from podling_kruise.names import PROTECT_TOTAL_REPLICAS
from podling_kruise.podunavailablebudget.conversion import total_of
from podling_kruise.podunavailablebudget.types import (
    PodUnavailableBudget,
    PodUnavailableBudgetSpec,
    TargetReference,
)
from podling_kruise.selector_overlap import selectors_loosely_overlap
from podling_kruise.template_validation import SPEC

Errors = list[FieldError]

_PODS = SPEC.child("selector, targetRef")
_AMOUNTS = SPEC.child("maxUnavailable, minAvailable")


def budget_errors(new: PodUnavailableBudget, old: PodUnavailableBudget | None) -> Errors:
    """Return what is wrong with a budget by itself, and with its change."""
    found = _annotation_errors(new) + _pods_errors(new.spec) + _amount_errors(new.spec)
    ignored = new.spec.ignored_pod_selector
    if ignored is not None:
        text = "empty ignoredPodSelector is not valid for PodUnavailableBudget"
        found += _selector_errors(ignored, SPEC.child("ignoredPodSelector"), text)
    if old is not None and _pods(new.spec) != _pods(old.spec):
        found.append(fields.required(_PODS, "selector and targetRef cannot be modified"))
    return found


def conflict_errors(new: PodUnavailableBudget, others: Iterable[PodUnavailableBudget]) -> Errors:
    """Return the conflict with another budget of the same pods. ``others`` are those of its namespace."""
    for other in others:
        if other.metadata.name == new.metadata.name:
            continue
        text = "is in conflict with other PodUnavailableBudget"
        mine, theirs = new.spec, other.spec
        if mine.target_ref is not None and theirs.target_ref is not None:
            if is_same_target(mine.target_ref, theirs.target_ref):
                why = f"pub.spec.targetReference {text} {other.metadata.name}"
                return [fields.invalid(SPEC.child("targetReference"), mine.target_ref, why)]
        elif (
            mine.selector is not None
            and theirs.selector is not None
            and selectors_loosely_overlap(mine.selector, theirs.selector)
        ):
            why = f"pub.spec.selector {text} {other.metadata.name}"
            return [fields.invalid(SPEC.child("selector"), mine.selector, why)]
    return []


def is_same_target(one: TargetReference, other: TargetReference) -> bool:
    """Return whether two references name the same workload, in any version."""
    groups = [split_group_version(each.api_version)[0] for each in (one, other)]
    return groups[0] == groups[1] and (one.kind, one.name) == (other.kind, other.name)


def _pods(spec: PodUnavailableBudgetSpec) -> tuple[LabelSelector | None, TargetReference | None]:
    return spec.selector, spec.target_ref


def _annotation_errors(new: PodUnavailableBudget) -> Errors:
    text = new.metadata.annotations.get(PROTECT_TOTAL_REPLICAS)
    if text is None:
        return []
    where = Path("metadata").child("annotations").key(PROTECT_TOTAL_REPLICAS)
    try:
        total_of(text)
    except ValueError:
        return [fields.invalid(where, text, "must be a valid int32")]
    total = new.spec.protect_total_replicas
    if total is not None and text != str(total):
        why = "must match spec.protectTotalReplicas when both are set"
        return [fields.invalid(where, text, why)]
    return []


def _pods_errors(spec: PodUnavailableBudgetSpec) -> Errors:
    selector, target = _pods(spec)
    if selector is None and target is None:
        return [fields.required(_PODS, "no selector or targetRef defined in PodUnavailableBudget")]
    if selector is not None and target is not None:
        return [fields.required(_PODS, "selector and targetRef are mutually exclusive")]
    if target is not None:
        return _target_errors(target)
    assert selector is not None
    text = "empty selector is not valid for PodUnavailableBudget."
    return _selector_errors(selector, SPEC.child("selector"), text)


def _target_errors(target: TargetReference) -> Errors:
    where = SPEC.child("targetRef")
    if not (target.api_version and target.kind and target.name):
        text = "empty targetRef is not valid for PodUnavailableBudget"
        return [fields.invalid(where, target, text)]
    if target.api_version.count("/") > 1:
        text = f"unexpected GroupVersion string: {target.api_version}"
        return [fields.invalid(where, target, text)]
    return []


def _selector_errors(selector: LabelSelector, where: Path, empty: str) -> Errors:
    if selector == LabelSelector():
        return [fields.invalid(where, selector, empty)]
    return label_checks.label_selector(where, selector)


def _amount_errors(spec: PodUnavailableBudgetSpec) -> Errors:
    most, least = spec.max_unavailable, spec.min_available
    if most is None and least is None:
        text = "no maxUnavailable or minAvailable defined in PodUnavailableBudget"
        return [fields.required(_AMOUNTS, text)]
    if most is not None and least is not None:
        return [fields.required(_AMOUNTS, "maxUnavailable and minAvailable are mutually exclusive")]
    if most is not None:
        return field_checks.share_errors(SPEC.child("maxUnavailable"), most)
    return field_checks.share_errors(SPEC.child("minAvailable"), least)
