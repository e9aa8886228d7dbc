"""Validation of affinity, tolerations, topology spread constraints and scheduling gates.

Upstream: ``validateAffinity``, ``ValidateTolerations``, ``validateTopologySpreadConstraints`` and their
neighbours in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.core_v1 import (
    Affinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSchedulingGate,
    PodSchedulingGroup,
    Toleration,
    TopologySpreadConstraint,
)
from podling.api.meta_v1 import LabelSelector
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_BAD_OPERATOR = "not a valid selector operator"


def validate_affinity(path: Path, affinity: Affinity) -> Errors:
    errors: Errors = []
    node = affinity.node_affinity
    if node is not None:
        here = path.child("nodeAffinity")
        if node.required_during_scheduling_ignored_during_execution is not None:
            selector = node.required_during_scheduling_ignored_during_execution
            errors += validate_node_selector(here.child(_REQUIRED), selector)
        for position, term in enumerate(node.preferred_during_scheduling_ignored_during_execution):
            where = here.child(_PREFERRED).index(position)
            errors += _weight_errors(where.child("weight"), term.weight)
            errors += node_selector_term(where.child("preference"), term.preference, strict=False)
    if affinity.pod_affinity is not None:
        errors += _pod_affinity_errors(path.child("podAffinity"), affinity.pod_affinity)
    if affinity.pod_anti_affinity is not None:
        errors += _pod_affinity_errors(path.child("podAntiAffinity"), affinity.pod_anti_affinity)
    return errors


def _weight_errors(path: Path, weight: int) -> Errors:
    return [] if 0 < weight <= 100 else [fields.invalid(path, weight, "must be in the range 1-100")]


def validate_node_selector(path: Path, selector: NodeSelector) -> Errors:
    here = path.child("nodeSelectorTerms")
    if not selector.node_selector_terms:
        return [fields.required(here, "must have at least one node selector term")]
    errors: Errors = []
    for position, term in enumerate(selector.node_selector_terms):
        errors += node_selector_term(here.index(position), term, strict=True)
    return errors


def node_selector_term(path: Path, term: NodeSelectorTerm, *, strict: bool) -> Errors:
    """Return the errors in a term; ``strict`` requires valid label values, unlike in preferences."""
    errors: Errors = []
    for position, requirement in enumerate(term.match_expressions):
        errors += _node_requirement_errors(
            path.child("matchExpressions").index(position), requirement, strict
        )
    for position, requirement in enumerate(term.match_fields):
        errors += _node_field_requirement_errors(path.child("matchFields").index(position), requirement)
    return errors


def _node_requirement_errors(path: Path, requirement: NodeSelectorRequirement, strict: bool) -> Errors:
    operator, values = requirement.operator, requirement.values
    here = path.child("values")
    errors: Errors = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(fields.required(here, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(fields.forbidden(here, text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(fields.required(here, text))
    else:
        errors.append(fields.invalid(path.child("operator"), operator, _BAD_OPERATOR))
    errors += checks.label_name(path.child("key"), requirement.key)
    if strict:
        for position, value in enumerate(values):
            errors += fields.invalid_each(here.index(position), value, names.label_value_errors(value))
    return errors


def _node_field_requirement_errors(path: Path, requirement: NodeSelectorRequirement) -> Errors:
    errors: Errors = []
    if requirement.operator in ("In", "NotIn"):
        if len(requirement.values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            errors.append(fields.required(path.child("values"), text))
    else:
        errors.append(fields.invalid(path.child("operator"), requirement.operator, _BAD_OPERATOR))
    if requirement.key != "metadata.name":
        text = "not a valid field selector key"
        return [*errors, fields.invalid(path.child("key"), requirement.key, text)]
    for position, value in enumerate(requirement.values):
        errors += checks.dns_subdomain(path.child("values").index(position), value)
    return errors


def _pod_affinity_errors(path: Path, affinity: PodAffinity | PodAntiAffinity) -> Errors:
    errors: Errors = []
    for position, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        errors += _pod_affinity_term_errors(path.child(_REQUIRED).index(position), term)
    for position, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        here = path.child(_PREFERRED).index(position)
        errors += _weight_errors(here.child("weight"), weighted.weight)
        errors += _pod_affinity_term_errors(here.child("podAffinityTerm"), weighted.pod_affinity_term)
    return errors


def _pod_affinity_term_errors(path: Path, term: PodAffinityTerm) -> Errors:
    errors = label_checks.label_selector(path.child("labelSelector"), term.label_selector)
    errors += label_checks.label_selector(path.child("namespaceSelector"), term.namespace_selector)
    for name in term.namespaces:
        errors += checks.dns_label(path.child("namespace"), name)
    errors += _label_key_errors(path, term.match_label_keys, term.mismatch_label_keys, term.label_selector)
    if not term.topology_key:
        errors.append(fields.required(path.child("topologyKey"), "can not be empty"))
    return errors + checks.label_name(path.child("topologyKey"), term.topology_key)


def _label_key_errors(
    path: Path, match: tuple[str, ...], mismatch: tuple[str, ...], selector: LabelSelector | None
) -> Errors:
    """Return the errors in label keys that are added to the selector of the term at ``path``."""
    if not match and not mismatch:
        return []
    errors: Errors = []
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            text = "must not be specified when labelSelector is not set"
            errors.append(fields.forbidden(path.child(field), text))
            continue
        for position, key in enumerate(keys):
            errors += checks.label_name(path.child(field).index(position), key)
    if selector is not None:
        errors += _duplicate_key_errors(path, match, selector)
    for position, key in enumerate(match):
        if key in mismatch:
            here = path.child("matchLabelKeys").index(position)
            errors.append(fields.invalid(here, key, "exists in both matchLabelKeys and mismatchLabelKeys"))
    return errors


def _duplicate_key_errors(path: Path, match: tuple[str, ...], selector: LabelSelector) -> Errors:
    """Return errors for keys that the selector already has.

    A pod's keys are already merged into the selector, so they occur twice. Kubernetes reports the key's index
    without the list's name.
    """
    positions = {key: position for position, key in enumerate(match)}
    named = set(selector.match_labels)
    errors: Errors = []
    for expression in selector.match_expressions:
        if expression.key in positions and expression.key in named:
            here = path.index(positions[expression.key])
            text = "exists in both matchLabelKeys and labelSelector"
            errors.append(fields.invalid(here, expression.key, text))
        named.add(expression.key)
    return errors


def validate_tolerations(path: Path, tolerations: tuple[Toleration, ...]) -> Errors:
    errors: Errors = []
    for position, toleration in enumerate(tolerations):
        try:
            _check_valid(toleration)
        except _InvalidToleration:
            errors += _toleration_errors(path.index(position), toleration)
    return errors


class _InvalidToleration(Exception):
    """A toleration has errors."""


@lru_cache(1024)
def _check_valid(toleration: Toleration) -> None:
    """Raise unless a toleration is valid. Valid ones are cached, because all pods share a few.

    Invalid ones may be of any size; ``lru_cache`` does not keep calls that raise.
    """
    if _toleration_errors(Path(), toleration):
        raise _InvalidToleration


def _toleration_errors(path: Path, toleration: Toleration) -> Errors:
    key, operator, effect = toleration.key or "", toleration.operator or "", toleration.effect or ""
    errors = checks.label_name(path.child("key"), key) if key else []
    if not key and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(fields.invalid(path.child("operator"), operator, text))
    if toleration.toleration_seconds is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(fields.invalid(path.child("effect"), effect, text))
    value = toleration.value or ""
    if operator in ("", "Equal"):
        problems = names.label_value_errors(value)
        if problems:
            errors.append(fields.invalid(path.child("operator"), value, ";".join(problems)))
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            errors.append(fields.invalid(path.child("operator"), value, text))
    else:
        # Kubernetes knows two more behind a feature gate, and lists them only when one of them is used.
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        errors.append(fields.not_supported(path.child("operator"), operator, known))
    return errors + checks.one_of(path.child("effect"), effect, TAINT_EFFECTS)


def validate_spread(path: Path, constraints: tuple[TopologySpreadConstraint, ...]) -> Errors:
    errors: Errors = []
    pairs = [(constraint.topology_key, constraint.when_unsatisfiable) for constraint in constraints]
    for position, constraint in enumerate(constraints):
        repeated = pairs[position] in pairs[position + 1 :]
        errors += _spread_constraint_errors(path.index(position), constraint, repeated=repeated)
    return errors


def _spread_constraint_errors(path: Path, constraint: TopologySpreadConstraint, *, repeated: bool) -> Errors:
    errors: Errors = []
    if constraint.max_skew <= 0:
        errors.append(fields.invalid(path.child("maxSkew"), constraint.max_skew, checks.POSITIVE))
    if not constraint.topology_key:
        errors.append(fields.required(path.child("topologyKey"), "can not be empty"))
    if constraint.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
        supported = ("DoNotSchedule", "ScheduleAnyway")
        errors.append(
            fields.not_supported(path.child("whenUnsatisfiable"), constraint.when_unsatisfiable, supported)
        )
    if repeated:
        text = f"{{{constraint.topology_key}, {constraint.when_unsatisfiable}}}"
        errors.append(fields.duplicate(path.child("{topologyKey, whenUnsatisfiable}"), text))
    errors += _min_domains_errors(path.child("minDomains"), constraint)
    policies = ("Honor", "Ignore")
    errors += checks.one_of_if_set(
        path.child("nodeAffinityPolicy"), constraint.node_affinity_policy, policies
    )
    errors += checks.one_of_if_set(path.child("nodeTaintsPolicy"), constraint.node_taints_policy, policies)
    errors += _label_key_errors(path, constraint.match_label_keys, (), constraint.label_selector)
    return errors + label_checks.label_selector(path.child("labelSelector"), constraint.label_selector)


def _min_domains_errors(path: Path, constraint: TopologySpreadConstraint) -> Errors:
    value, action = constraint.min_domains, constraint.when_unsatisfiable
    if value is None:
        return []
    errors = [] if value > 0 else [fields.invalid(path, value, checks.POSITIVE)]
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(fields.invalid(path, value, text))
    return errors


def validate_group(path: Path, group: PodSchedulingGroup) -> Errors:
    """Return the errors in the group that a pod is scheduled with."""
    if group.pod_group_name is None:
        return [fields.invalid(path, "", "must specify one of: `podGroupName`")]
    return checks.dns_subdomain(path.child("podGroupName"), group.pod_group_name)


def validate_gates(path: Path, gates: tuple[PodSchedulingGate, ...]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, gate in enumerate(gates):
        errors += checks.label_name(path.index(position), gate.name)
        if gate.name in seen:
            errors.append(fields.duplicate(path.index(position), gate.name))
        seen.add(gate.name)
    return errors
