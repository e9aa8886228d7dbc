"""Validation of Advanced StatefulSets.

The messages are OpenKruise's. The template is validated by its caller, which knows the server.
Upstream: ``pkg/webhook/statefulset/validating``.
"""

from __future__ import annotations

import re

from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery import fields
from podling.machinery.fields import Path
from podling_kruise.field_checks import amount_errors, non_negative
from podling_kruise.inplace.pod_plan import with_readiness_gate
from podling_kruise.names import IN_PLACE_UPDATE_READY
from podling_kruise.policies import IF_POSSIBLE, IN_PLACE, ON_DELETE, ONLY, POLICIES, RECREATE, ROLLING_UPDATE
from podling_kruise.statefulset.ordinals import parse_range
from podling_kruise.statefulset.types import (
    MAX_MIN_READY_SECONDS,
    RollingUpdate,
    StatefulSet,
    StatefulSetSpec,
)
from podling_kruise.template_validation import (
    SPEC,
    TEMPLATE,
    Errors,
    change_beyond_images,
    pod_errors,
    priority_error,
    selector_errors,
)

STRATEGY = SPEC.child("updateStrategy")
ROLLING = STRATEGY.child("rollingUpdate")
RETENTION = SPEC.child("persistentVolumeClaimRetentionPolicy")
ORDERED, PARALLEL = "OrderedReady", "Parallel"
KEEPING = ("Retain", "Delete")
_RANGE = re.compile(r"[0-9]+-[0-9]+")
_IMMUTABLE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'reserveOrdinals', 'lifecycle', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy', "
    "`volumeClaimTemplates`, `VolumeClaimUpdateStrategy` and 'updateStrategy' are forbidden"
)


def spec_errors(spec: StatefulSetSpec) -> Errors:
    """Return what is wrong with a spec, but for its template."""
    errors = _management_errors(spec) + _reserved_errors(spec)
    if spec.scale_strategy is not None and spec.scale_strategy.max_unavailable is not None:
        where = SPEC.child("scaleStrategy", "maxUnavailable")
        errors += _unavailable_errors(spec, spec.scale_strategy.max_unavailable, where)
    errors += _strategy_errors(spec) + _retention_errors(spec)
    errors += non_negative(SPEC.child("replicas"), spec.wanted)
    if spec.ordinals is not None:
        errors += non_negative(SPEC.child("ordinals", "start"), spec.ordinals.start)
    errors += selector_errors(spec.selector, spec.template, "statefulset")
    return errors + pod_errors(spec.template, "StatefulSet")


def update_errors(new: StatefulSet, old: StatefulSet) -> Errors:
    """Return what is wrong with a change of a StatefulSet."""
    errors: Errors = []
    kept = ("selector", "service_name", "pod_management_policy")
    if any(getattr(new.spec, name) != getattr(old.spec, name) for name in kept):
        errors.append(fields.forbidden(SPEC, _IMMUTABLE))
    if new.spec.rolling.pod_update_policy == ONLY:
        found = change_beyond_images(old.spec.template.spec, new.spec.template.spec)
        if found is not None:
            text = (
                f"invalid template modified with InPlaceOnly strategy: {found.name} {found.path}, currently "
                "only image update is allowed for InPlaceOnly"
            )
            errors.append(fields.forbidden(TEMPLATE, text))
    return errors


def _management_errors(spec: StatefulSetSpec) -> Errors:
    where = SPEC.child("podManagementPolicy")
    if not spec.pod_management_policy:
        return [fields.required(where)]
    if spec.pod_management_policy in (ORDERED, PARALLEL):
        return []
    return [fields.invalid(where, spec.pod_management_policy, f"must be '{ORDERED}' or '{PARALLEL}'")]


def _reserved_errors(spec: StatefulSetSpec) -> Errors:
    errors: Errors = []
    shown = list(spec.reserve_ordinals)
    for number, each in enumerate(spec.reserve_ordinals):
        if isinstance(each, int):
            if each < 0:
                text = f"{number} th reserve ordinal is negative: {each}"
                errors.append(fields.invalid(SPEC, shown, text))
            continue
        if not _RANGE.fullmatch(each):
            text = f"{number} th reserve ordinal is not a valid range: {each}"
            errors.append(fields.invalid(SPEC, shown, text))
        try:
            parse_range(each)
        except ValueError as error:
            text = f"{number} th reserve ordinal is invalid: {each}, err = {error}"
            errors.append(fields.invalid(SPEC, shown, text))
    return errors


def _strategy_errors(spec: StatefulSetSpec) -> Errors:
    strategy = spec.update_strategy
    match strategy.type:
        case "":
            return [fields.required(STRATEGY)]
        case "OnDelete":
            if strategy.rolling_update is None:
                return []
            text = f"only allowed for updateStrategy '{ROLLING_UPDATE}'"
            return [fields.invalid(ROLLING, strategy.rolling_update, text)]
        case "RollingUpdate":
            return (
                _rolling_errors(spec, strategy.rolling_update) if strategy.rolling_update is not None else []
            )
    text = f"must be '{ROLLING_UPDATE}' or '{ON_DELETE}'"
    return [fields.invalid(STRATEGY, strategy, text)]


def _rolling_errors(spec: StatefulSetSpec, rolling: RollingUpdate) -> Errors:
    errors = non_negative(ROLLING.child("partition"), rolling.partition)
    where = ROLLING.child("minReadySeconds")
    errors += non_negative(where, rolling.min_ready_seconds)
    if (rolling.min_ready_seconds or 0) > MAX_MIN_READY_SECONDS:
        text = f"must be no more than {MAX_MIN_READY_SECONDS} seconds"
        errors.append(fields.invalid(where, rolling.min_ready_seconds, text))
    where = ROLLING.child("maxUnavailable")
    if rolling.max_unavailable is None:
        errors.append(fields.required(where))
    else:
        errors += _unavailable_errors(spec, rolling.max_unavailable, where)
    return errors + _policy_errors(spec, rolling) + _unordered_errors(spec, rolling)


def _policy_errors(spec: StatefulSetSpec, rolling: RollingUpdate) -> Errors:
    where, policy = ROLLING.child("podUpdatePolicy"), rolling.pod_update_policy
    if not policy:
        return [fields.required(where)]
    if policy not in POLICIES:
        return [fields.invalid(where, policy, f"must be '{RECREATE}', {IF_POSSIBLE} or '{ONLY}'")]
    template = spec.template.spec
    if policy not in IN_PLACE or with_readiness_gate(template) is template:
        return []
    text = f"must contains {IN_PLACE_UPDATE_READY} when podUpdatePolicy is {policy}"
    gates = TEMPLATE.child("spec", "readinessGates")
    return [fields.invalid(gates, list(template.readiness_gates), text)]


def _unordered_errors(spec: StatefulSetSpec, rolling: RollingUpdate) -> Errors:
    unordered, where, errors = rolling.unordered_update, ROLLING.child("unorderedUpdate"), []
    if unordered is None:
        return []
    if spec.pod_management_policy != PARALLEL:
        text = "unorderedUpdate can only work with Parallel PodManagementPolicyType"
        errors.append(fields.required(where, text))
    strategy = unordered.priority_strategy
    if strategy is not None and (why := priority_error(strategy)):
        errors.append(fields.required(where.child("priorityStrategy"), why))
    return errors


def _unavailable_errors(spec: StatefulSetSpec, value: int | str, where: Path) -> Errors:
    errors = amount_errors(where, value)
    try:
        number = scaled(value, 1, round_up=True)
    except ValueError as error:
        errors.append(fields.invalid(where, 0, f"getValueFromIntOrPercent error: {error}"))
    else:
        if number < 1:
            errors.append(fields.invalid(where, number, "should not be less than 1"))
    if spec.pod_management_policy != PARALLEL and value != 1:
        text = "can only work with Parallel PodManagementPolicyType"
        errors.append(fields.invalid(where, value, text))
    return errors


def _retention_errors(spec: StatefulSetSpec) -> Errors:
    policy = spec.persistent_volume_claim_retention_policy
    if policy is None:
        return []
    found = (("whenDeleted", policy.when_deleted), ("whenScaled", policy.when_scaled))
    return [
        fields.not_supported(RETENTION.child(name), value, KEEPING)
        for name, value in found
        if value not in KEEPING
    ]
