"""Validation of Advanced DaemonSets.

The messages are OpenKruise's. The template is validated by its caller, which knows the server.
Upstream: ``pkg/webhook/daemonset/validating``.
"""

from __future__ import annotations

from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery import fields, label_checks
from podling_kruise.daemonset.types import STANDARD, DaemonSet, DaemonSetSpec, RollingUpdate
from podling_kruise.field_checks import amount_errors, non_negative, share_errors
from podling_kruise.policies import IF_POSSIBLE, IN_PLACE, ON_DELETE, ONLY, ROLLING_UPDATE
from podling_kruise.template_validation import (
    SPEC,
    TEMPLATE,
    Errors,
    change_beyond_images,
    pod_errors,
    selector_errors,
)

STRATEGY = SPEC.child("updateStrategy")
ROLLING = STRATEGY.child("rollingUpdate")
TYPES = (STANDARD, IF_POSSIBLE, ONLY)
_IMMUTABLE = (
    "updates to daemonset spec for fields other than 'BurstReplicas', 'template', 'lifecycle', "
    "'updateStrategy', 'minReadySeconds', and 'revisionHistoryLimit' are forbidden"
)


def spec_errors(spec: DaemonSetSpec) -> Errors:
    """Return what is wrong with a spec, but for its template."""
    errors = selector_errors(spec.selector, spec.template, "daemonset")
    errors += pod_errors(spec.template, "DaemonSet")
    errors += non_negative(SPEC.child("minReadySeconds"), spec.min_ready_seconds)
    errors += _strategy_errors(spec)
    errors += non_negative(SPEC.child("revisionHistoryLimit"), spec.revision_history_limit)
    if spec.burst_replicas is not None:
        errors += amount_errors(SPEC.child("burstReplicas"), spec.burst_replicas)
    if spec.lifecycle is not None and spec.lifecycle.in_place_update is not None:
        where = SPEC.child("lifecycle", "inPlaceUpdate")
        errors.append(fields.forbidden(where, "inPlaceUpdate hook has not supported yet"))
    return errors


def update_errors(new: DaemonSet, old: DaemonSet) -> Errors:
    """Return what is wrong with a change of a DaemonSet."""
    errors: Errors = []
    if new.spec.selector != old.spec.selector:
        errors.append(fields.forbidden(SPEC, _IMMUTABLE))
    if new.spec.rolling.rolling_update_type == ONLY:
        found = change_beyond_images(old.spec.template.spec, new.spec.template.spec)
        if found is not None:
            text = (
                f"invalid template modified with InPlaceOnly strategy: {found.name} {found.path}, currently "
                "only image update is allowed for InPlaceOnly"
            )
            errors.append(fields.forbidden(TEMPLATE, text))
    return errors


def _strategy_errors(spec: DaemonSetSpec) -> Errors:
    strategy = spec.update_strategy
    if strategy.type == ON_DELETE:
        return []
    if strategy.type != ROLLING_UPDATE:
        return [fields.not_supported(STRATEGY, strategy, (ROLLING_UPDATE, ON_DELETE))]
    if strategy.rolling_update is None:
        return [fields.required(ROLLING)]
    return _rolling_errors(strategy.rolling_update)


def _rolling_errors(rolling: RollingUpdate) -> Errors:
    errors: Errors = []
    has_unavailable, has_surge = (_is_set(each) for each in (rolling.max_unavailable, rolling.max_surge))
    for name, value in (("maxUnavailable", rolling.max_unavailable), ("maxSurge", rolling.max_surge)):
        if value is not None and _is_set(value):
            errors += share_errors(ROLLING.child(name), value)
    if has_unavailable and has_surge:
        text = "may not be set when maxUnavailable is non-zero"
        errors.append(fields.invalid(ROLLING.child("maxSurge"), rolling.max_surge, text))
    elif not has_unavailable and not has_surge:
        text = "cannot be 0 when maxSurge is 0"
        errors.append(fields.required(ROLLING.child("maxUnavailable"), text))
    kind = rolling.rolling_update_type
    if kind in IN_PLACE and has_surge:
        errors.append(fields.required(ROLLING.child("maxSurge"), f"must be 0 for {kind} type"))
    elif kind not in ("", *TYPES):
        errors.append(fields.not_supported(ROLLING.child("rollingUpdateType"), kind, TYPES))
    if rolling.selector is not None:
        errors += label_checks.label_selector(ROLLING.child("selector"), rolling.selector)
    if rolling.partition is not None:
        errors += share_errors(ROLLING.child("partition"), rolling.partition)
    return errors


def _is_set(value: int | str | None) -> bool:
    """Return whether a number is not zero; text that is no number is, so that it is refused."""
    try:
        return scaled(value, 100, round_up=True) != 0
    except ValueError:
        return True
