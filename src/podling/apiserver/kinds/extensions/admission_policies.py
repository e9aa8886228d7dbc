"""Validating and mutating admission policies in CEL, and their bindings.

Upstream: ``pkg/apis/admissionregistration/validation/validation.go``, ``v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podling.api.admissionregistration_v1 import (
    MatchResources,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    NamedRuleWithOperations,
    ParamRef,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.condition_validation import condition_errors as status_condition_errors
from podling.apiserver.kinds.common.filling import change, fill_absent
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.apiserver.kinds.extensions.admission_rules import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    condition_errors,
    default_match,
    match_errors,
)
from podling.apiserver.kinds.extensions.policy_expressions import (
    audit_errors,
    compile_policy,
    mutation_errors,
    param_kind_errors,
    validation_errors,
    variable_errors,
)
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path

SPEC = Path("spec")
ACTIONS = ("Audit", "Deny", "Warn")
MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
NOT_FOUND_ACTIONS = ("Deny", "Allow")
_EXCLUSIVE = "name and selector are mutually exclusive"
_REPEATED = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API "
    "response and headers serves no purpose)"
)
_NOTHING = "validations or auditAnnotations must contain at least one item"

Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy
Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding


class _PolicyRules(TableRules[Any]):
    generation = True
    unconditional_update = False

    def default(self, obj: Policy) -> Policy:
        spec = fill_absent(obj.spec, failure_policy="Fail")
        return change(obj, spec=change(spec, match_constraints=default_match(spec.match_constraints)))


class ValidatingPolicyRules(_PolicyRules):
    status_subresource = True
    status_keeps_metadata = True

    def validate(self, obj: ValidatingAdmissionPolicy, context: Context) -> Errors:
        return _validating_errors(obj)

    def validate_update(
        self, new: ValidatingAdmissionPolicy, old: ValidatingAdmissionPolicy, context: Context
    ) -> Errors:
        return _status_errors(new) if context.subresource == "status" else _validating_errors(new)


class MutatingPolicyRules(_PolicyRules):
    def validate(self, obj: MutatingAdmissionPolicy, context: Context) -> Errors:
        spec = obj.spec
        errors = _common_errors(obj, MUTATING_OPERATIONS)
        expressions = compile_policy(spec)
        for position, variable in enumerate(spec.variables):
            errors += variable_errors(SPEC.child("variables").index(position), variable, expressions)
        here = SPEC.child("mutations")
        if not spec.mutations:
            errors.append(fields.required(here, "mutations must contain at least one item"))
        for position, mutation in enumerate(spec.mutations):
            errors += mutation_errors(here.index(position), mutation, expressions)
        where = SPEC.child("reinvocationPolicy")
        return errors + checks.required_one_of(where, spec.reinvocation_policy, REINVOCATION_POLICIES)


def _validating_errors(obj: ValidatingAdmissionPolicy) -> Errors:
    spec = obj.spec
    errors = _common_errors(obj)
    expressions = compile_policy(spec)
    for position, variable in enumerate(spec.variables):
        errors += variable_errors(SPEC.child("variables").index(position), variable, expressions)
    if not spec.validations and not spec.audit_annotations:
        return [
            *errors,
            fields.required(SPEC.child("validations"), _NOTHING),
            fields.required(SPEC.child("auditAnnotations"), _NOTHING),
        ]
    for position, validation in enumerate(spec.validations):
        errors += validation_errors(SPEC.child("validations").index(position), validation, expressions)
    name = obj.metadata.name or ""
    return errors + audit_errors(SPEC.child("auditAnnotations"), spec.audit_annotations, name, expressions)


def _common_errors(obj: Policy, operations: Sequence[str] = ()) -> Errors:
    """Return the errors that any policy can have; ``operations`` limits the operations of its rules."""
    spec, here = obj.spec, SPEC.child("matchConstraints")
    errors = checks.required_one_of(SPEC.child("failurePolicy"), spec.failure_policy, FAILURE_POLICIES)
    if spec.param_kind is not None:
        errors += param_kind_errors(SPEC.child("paramKind"), spec.param_kind)
    match = spec.match_constraints
    if match is None:
        errors.append(fields.required(here))
    else:
        errors += match_errors(here, match)
        errors += [] if match.resource_rules else [fields.required(here.child("resourceRules"))]
        errors += _operation_errors(here.child("resourceRules", "operations"), match, operations)
    return errors + condition_errors(
        SPEC.child("matchConditions"), spec.match_conditions, params=spec.param_kind is not None
    )


def _operation_errors(path: Path, match: MatchResources, operations: Sequence[str]) -> Errors:
    rules: Sequence[NamedRuleWithOperations] = match.resource_rules if operations else ()
    return [
        fields.not_supported(path, operation, operations)
        for rule in rules
        for operation in rule.operations
        if operation not in operations
    ]


def _status_errors(obj: ValidatingAdmissionPolicy) -> Errors:
    found = obj.status.type_checking
    errors: Errors = []
    for position, warning in enumerate(found.expression_warnings if found is not None else ()):
        here = Path("status.typeChecking.expressionWarnings").index(position)
        errors += [] if warning.warning else [fields.required(here.child("warning"))]
        errors += [] if warning.field_ref.strip() else [fields.required(here.child("fieldRef"))]
    return errors + status_condition_errors(Path("status.conditions"), obj.status.conditions)


class _BindingRules(TableRules[Any]):
    generation = True
    unconditional_update = False

    def default(self, obj: Binding) -> Binding:
        return change(obj, spec=change(obj.spec, match_resources=default_match(obj.spec.match_resources)))


class ValidatingBindingRules(_BindingRules):
    def validate(self, obj: ValidatingAdmissionPolicyBinding, context: Context) -> Errors:
        spec = obj.spec
        errors = _binding_errors(spec)
        errors += match_errors(SPEC.child("matchResources"), spec.match_resources)
        return errors + _action_errors(SPEC.child("validationActions"), spec.validation_actions)


class MutatingBindingRules(_BindingRules):
    def validate(self, obj: MutatingAdmissionPolicyBinding, context: Context) -> Errors:
        match, here = obj.spec.match_resources, SPEC.child("matchResources")
        errors = _binding_errors(obj.spec) + match_errors(here, match)
        if match is not None:
            where = here.child("resourceRules", "operations")
            errors += _operation_errors(where, match, MUTATING_OPERATIONS)
        return errors


def _binding_errors(spec: Any) -> Errors:
    where, name = SPEC.child("policyName"), spec.policy_name
    errors = checks.dns_subdomain(where, name) if name else [fields.required(where)]
    return errors + (_param_errors(SPEC.child("paramRef"), spec.param_ref) if spec.param_ref else [])


def _param_errors(path: Path, ref: ParamRef) -> Errors:
    errors: Errors = []
    if ref.name:
        errors += fields.invalid_each(path.child("name"), ref.name, names.path_segment_errors(ref.name))
        errors += [fields.forbidden(path.child("name"), _EXCLUSIVE)] if ref.selector is not None else []
    if ref.selector is not None:
        errors += label_checks.label_selector(path.child("selector"), ref.selector)
        errors += [fields.forbidden(path.child("selector"), _EXCLUSIVE)] if ref.name else []
    if not ref.name and ref.selector is None:
        errors.append(fields.required(path, "one of name or selector must be specified"))
    where = path.child("parameterNotFoundAction")
    return errors + checks.required_one_of(where, ref.parameter_not_found_action, NOT_FOUND_ACTIONS)


def _action_errors(path: Path, actions: Sequence[str]) -> Errors:
    errors: Errors = []
    for position, action in enumerate(actions):
        here = path.index(position)
        errors += [] if action in ACTIONS else [fields.not_supported(here, action, ACTIONS)]
        errors += [fields.duplicate(here, action)] if action in actions[:position] else []
    if {"Deny", "Warn"} <= set(actions):
        errors.append(fields.invalid(path, actions, _REPEATED))
    if not actions:
        errors.append(fields.required(path, "at least one validation action is required"))
    return errors
