"""Validation of VerticalPodAutoscalers beyond their schema. Pure.

Upstream: ``admission-controller/resource/vpa/validation.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.machinery import fields
from podling.machinery.fields import FieldError, Path
from podling.machinery.quantity import NANO
from podling_vpa.names import (
    AUTO,
    CPU,
    IN_PLACE,
    IN_PLACE_GATE,
    MEMORY,
    OFF,
    PER_VPA_CONFIG,
    REQUESTS_AND_LIMITS,
    RESOURCES,
    STARTUP_BOOST,
    UPDATE_MODES,
)
from podling_vpa.types import (
    ContainerPolicy,
    GivenAmounts,
    UpdatePolicy,
    VerticalPodAutoscaler,
    quantity_of,
)

SPEC = Path("spec")
CHOICES = sorted(mode for mode in UPDATE_MODES if mode != AUTO)
"""The update modes that are not deprecated."""
DEPRECATION = "See https://github.com/kubernetes/autoscaler/issues/8424 for more details."


def autoscaler_errors(
    new: VerticalPodAutoscaler, old: VerticalPodAutoscaler | None, gates: Mapping[str, bool]
) -> list[FieldError]:
    """Return the errors of an autoscaler; what its old state has of a closed feature gate may stay."""
    spec, policies = new.spec, _policies(new)
    held = _policies(old) if old is not None else ()
    found = []
    if spec.update_policy is not None:
        found += _update_policy_errors(spec.update_policy, old, gates)
    allowed = gates[PER_VPA_CONFIG] or any(map(_has_own_settings, held)) or _has_oom_seconds(old)
    known = {each for policy in held for each in policy.controlled_resources or ()}
    for place, policy in enumerate(policies):
        path = SPEC.child("resourcePolicy", "containerPolicies").index(place)
        found += _policy_errors(policy, path, known)
        found += _own_setting_errors(policy, path, allowed=allowed)
        if policy.startup_boost is not None:
            found.append(_no_boost(path.child("startupBoost")))
    if spec.startup_boost is not None:
        found.append(_no_boost(SPEC.child("startupBoost")))
    if len(spec.recommenders) > 1:
        found.append(fields.too_many(SPEC.child("recommenders"), len(spec.recommenders), 1))
    return found


def autoscaler_warnings(new: VerticalPodAutoscaler, old: VerticalPodAutoscaler | None) -> list[str]:
    """Return the warnings for the writer of an autoscaler."""
    found = []
    policy = new.spec.update_policy
    if policy is not None and policy.update_mode == AUTO:
        choices = f"Use explicit update modes like: [{' '.join(CHOICES)}]. {DEPRECATION}"
        text = f'"{AUTO}" mode is deprecated and will be removed in a future API version. {choices}'
        found.append(f"{SPEC.child('updatePolicy')}: {text}")
    known = (
        {each for policy in _policies(old) for each in policy.controlled_resources or ()} if old else set()
    )
    for place, each in enumerate(_policies(new)):
        for number, resource in enumerate(each.controlled_resources or ()):
            if resource in known and resource not in RESOURCES:
                path = SPEC.child("resourcePolicy", "containerPolicies").index(place)
                where = path.child("controlledResources").index(number)
                why = "is allowed only because it is present in the existing VPA object; supported values"
                found.append(f'{where}: unsupported value "{resource}" {why}: "{CPU}", "{MEMORY}"')
    return found


def _policies(autoscaler: VerticalPodAutoscaler) -> tuple[ContainerPolicy, ...]:
    policy = autoscaler.spec.resource_policy
    return policy.container_policies if policy is not None else ()


def _has_own_settings(policy: ContainerPolicy) -> bool:
    own = (policy.oom_bump_up_ratio, policy.oom_min_bump_up)
    memory = (policy.memory_aggregation_interval_count, policy.memory_aggregation_interval_seconds)
    return any(each is not None for each in (*own, *memory))


def _has_oom_seconds(old: VerticalPodAutoscaler | None) -> bool:
    policy = old.spec.update_policy if old is not None else None
    return policy is not None and policy.evict_after_oom_seconds is not None


def _no_boost(path: Path) -> FieldError:
    text = f"in order to use startupBoost, you must enable feature gate {STARTUP_BOOST}"
    return fields.forbidden(path, f"{text} in the admission-controller args")


def _closed(path: Path) -> FieldError:
    return fields.forbidden(path, f"not supported when feature flag {PER_VPA_CONFIG} is disabled")


def _update_policy_errors(
    policy: UpdatePolicy, old: VerticalPodAutoscaler | None, gates: Mapping[str, bool]
) -> list[FieldError]:
    path, found = SPEC.child("updatePolicy"), []
    mode = path.child("updateMode")
    if policy.update_mode is None:
        found.append(fields.required(mode, "updateMode is required if UpdatePolicy is used"))
    was_in_place = old is not None and old.update_mode == IN_PLACE
    if policy.update_mode == IN_PLACE and not (gates[IN_PLACE_GATE] or was_in_place):
        text = f"in order to use UpdateMode {IN_PLACE}, you must enable feature gate {IN_PLACE_GATE}"
        found.append(fields.forbidden(mode, f"{text} in the admission-controller args"))
    if policy.min_replicas is not None and policy.min_replicas <= 0:
        text = "minReplicas has to be positive"
        found.append(fields.invalid(path.child("minReplicas"), policy.min_replicas, text))
    held = _policies(old) if old is not None else ()
    allowed = gates[PER_VPA_CONFIG] or _has_oom_seconds(old) or any(map(_has_own_settings, held))
    if policy.evict_after_oom_seconds is not None and not allowed:
        found.append(_closed(path.child("evictAfterOOMSeconds")))
    return found


def _policy_errors(policy: ContainerPolicy, path: Path, known: set[str]) -> list[FieldError]:
    found = []
    if not policy.container_name:
        found.append(fields.required(path.child("containerName")))
    for name, least in policy.min_allowed.items():
        found += _resolution_errors(path.child("minAllowed").key(name), name, least)
        most = policy.max_allowed.get(name)
        if most is not None and quantity_of(most) < quantity_of(least):
            text = f'max resource for {name} is lower than min of "{quantity_of(least)}"'
            where = path.child("maxAllowed").key(name)
            found.append(fields.invalid(where, str(quantity_of(most)), text))
    found += _most_errors(policy.max_allowed, path.child("maxAllowed"))
    if policy.mode == OFF and policy.controlled_values == REQUESTS_AND_LIMITS:
        text = "controlledValues shouldn't be specified if container scaling mode is off"
        found.append(fields.forbidden(path.child("controlledValues"), text))
    for number, resource in enumerate(policy.controlled_resources or ()):
        if resource not in RESOURCES and resource not in known:
            where = path.child("controlledResources").index(number)
            found.append(fields.not_supported(where, resource, RESOURCES))
    return found


def _most_errors(amounts: GivenAmounts, path: Path) -> list[FieldError]:
    return [
        error for name, most in amounts.items() for error in _resolution_errors(path.key(name), name, most)
    ]


def _own_setting_errors(policy: ContainerPolicy, path: Path, *, allowed: bool) -> list[FieldError]:
    """Return the errors of settings that need the feature gate ``PerVPAConfig``."""
    given = {
        "oomBumpUpRatio": policy.oom_bump_up_ratio,
        "oomMinBumpUp": policy.oom_min_bump_up,
        "memoryAggregationIntervalSeconds": policy.memory_aggregation_interval_seconds,
        "memoryAggregationIntervalCount": policy.memory_aggregation_interval_count,
    }
    if not allowed:
        return [_closed(path.child(name)) for name, value in given.items() if value is not None]
    found = []
    if policy.oom_bump_up_ratio is not None:
        ratio = quantity_of(policy.oom_bump_up_ratio).milli_value / 1000
        if ratio < 1:
            text = "must be greater than or equal to 1.0"
            found.append(fields.invalid(path.child("oomBumpUpRatio"), ratio, text))
    if policy.oom_min_bump_up is not None:
        least = quantity_of(policy.oom_min_bump_up).value
        if least < 0:
            text = "must be greater than or equal to 0"
            found.append(fields.invalid(path.child("oomMinBumpUp"), least, text))
    return found


def _resolution_errors(path: Path, name: str, given: int | str) -> list[FieldError]:
    amount = quantity_of(given)
    if name == CPU and amount.nano % (NANO // 1000):
        return [fields.invalid(path, str(amount), "must be a whole number of milli CPUs")]
    if name == MEMORY and amount.nano % NANO:
        return [fields.invalid(path, str(amount), "must be a whole number of bytes")]
    return []
