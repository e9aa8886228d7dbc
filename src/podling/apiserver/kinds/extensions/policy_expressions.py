"""Validation of the parts of admission policies with CEL expressions.

Upstream: ``validateValidation`` and its neighbours in
``pkg/apis/admissionregistration/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from podling.api.admissionregistration_v1 import (
    AuditAnnotation,
    MutatingAdmissionPolicySpec,
    Mutation,
    ParamKind,
    ValidatingAdmissionPolicySpec,
    Validation,
    Variable,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.expressions import is_identifier, typed_expression_errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

if TYPE_CHECKING:
    from podling.apiserver.cel.policies import PolicyExpressions

PolicySpec = ValidatingAdmissionPolicySpec | MutatingAdmissionPolicySpec

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")
RESULTS = {"ApplyConfiguration": ("Object",), "JSONPatch": ("list(JSONPatch)", "list(dyn)", "dyn")}
"""The permitted result types of patch expressions; messages name the first."""
MAX_AUDIT_ANNOTATIONS = 20
MAX_AUDIT_EXPRESSION_BYTES = 5 * 1024
_NAMED = "{} is not specified"


def param_kind_errors(path: Path, kind: ParamKind) -> Errors:
    errors = _group_version_errors(path.child("apiVersion"), kind.api_version or "")
    where, name = path.child("kind"), kind.kind or ""
    if not name:
        return [*errors, fields.required(where)]
    problems = names.dns_1035_label_errors(name.lower())
    if problems:
        text = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        errors.append(fields.invalid(where, name, text))
    return errors


def _group_version_errors(path: Path, text: str) -> Errors:
    if not text:
        return [fields.required(path)]
    if text.count("/") > 1:
        return [fields.invalid(path, text, f"unexpected GroupVersion string: {text}")]
    group, _, version = text.rpartition("/")
    errors: Errors = []
    problems = names.dns_subdomain_errors(group) if group else []
    errors += [fields.invalid(path, group, ",".join(problems))] if problems else []
    if not version:
        return [*errors, fields.invalid(path, text, "version must be specified")]
    problems = names.dns_1035_label_errors(version)
    return errors + ([fields.invalid(path, version, ",".join(problems))] if problems else [])


def compile_policy(spec: PolicySpec) -> PolicyExpressions:
    """Return the compiled expressions of a policy, which report their errors."""
    from podling.apiserver.cel.policies import PolicyExpressions
    from podling.apiserver.cel.types import DYN

    variables = [(each.name, each.expression) for each in spec.variables]
    return PolicyExpressions(
        variables,
        params=DYN if spec.param_kind is not None else None,
        mutations=isinstance(spec, MutatingAdmissionPolicySpec),
    )


def variable_errors(path: Path, variable: Variable, policy: PolicyExpressions) -> Errors:
    errors: Errors = []
    if not variable.name.strip():
        errors.append(fields.required(path.child("name"), _NAMED.format("name")))
    elif not is_identifier(variable.name):
        errors.append(fields.invalid(path.child("name"), variable.name, "name is not a valid CEL identifier"))
    where, found = path.child("expression"), policy.variables.get(variable.name)
    if not variable.expression.strip():
        errors.append(fields.required(where, _NAMED.format("expression")))
    elif isinstance(found, Exception):
        errors.append(fields.invalid(where, variable.expression, found.said))
    return errors


def validation_errors(path: Path, validation: Validation, policy: PolicyExpressions) -> Errors:
    where, text = path.child("expression"), validation.expression
    if text.strip():
        errors = typed_expression_errors(where, text, policy.names(), ("bool",))
    else:
        errors = [fields.required(where, _NAMED.format("expression"))]
    where, text = path.child("messageExpression"), validation.message_expression or ""
    if text.strip():
        names = policy.names(authorizer=False)
        errors += typed_expression_errors(where, text, names, ("string",))
    elif text:
        errors.append(fields.invalid(where, text, "must be non-empty if specified"))
    where, text = path.child("message"), validation.message or ""
    if text and not text.strip():
        errors.append(fields.invalid(where, text, "message must be non-empty if specified"))
    elif {"\n", "\r"} & set(text.strip()):
        errors.append(fields.invalid(where, text, "message must not contain line breaks"))
    return errors + checks.one_of(path.child("reason"), validation.reason, REASONS)


def audit_errors(
    path: Path, annotations: Sequence[AuditAnnotation], policy: str, expressions: PolicyExpressions
) -> Errors:
    """Return the errors in an audit annotation. ``policy`` is the policy's name, the prefix of every key."""
    errors: Errors = []
    if len(annotations) > MAX_AUDIT_ANNOTATIONS:
        text = f"must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations"
        errors.append(fields.invalid(path, annotations, text))
    seen: set[str] = set()
    for position, annotation in enumerate(annotations):
        here, key = path.index(position), annotation.key
        if policy:
            errors += checks.label_name(here.child("key"), f"{policy}/{key}")
        else:
            errors.append(fields.invalid(here.child("key"), key, "requires metadata.name be non-empty"))
        where = here.child("valueExpression")
        value = annotation.value_expression.strip()
        if len(value.encode()) > MAX_AUDIT_EXPRESSION_BYTES:
            text = f"must not exceed {MAX_AUDIT_EXPRESSION_BYTES} bytes in length"
            errors.append(fields.required(where, text))
        elif value:
            errors += typed_expression_errors(where, value, expressions.names(), ("string", "null_type"))
        else:
            errors.append(fields.required(where, _NAMED.format("valueExpression")))
        errors += [fields.duplicate(here.child("key"), key)] if key in seen else []
        seen.add(key)
    return errors


def mutation_errors(path: Path, mutation: Mutation, policy: PolicyExpressions) -> Errors:
    """Return the errors in a mutation: only the patch of ``patchType``, with a result of that type.

    The result of a JSON patch expression need only possibly be a list of patches: ``[]`` has no type of its
    own.
    """
    kind = mutation.patch_type
    where = path.child("patchType")
    if not kind:
        return [fields.required(where)]
    if kind not in PATCH_TYPES:
        return [fields.not_supported(where, kind, PATCH_TYPES)]
    patches = {"JSONPatch": mutation.json_patch, "ApplyConfiguration": mutation.apply_configuration}
    spelled = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}
    (other,) = patches.keys() - {kind}
    wanted, here = patches[kind], path.child(spelled[kind])
    errors: Errors = []
    if wanted is None:
        errors.append(fields.required(here, f"must be specified when patchType is {kind}"))
    elif not (text := (wanted.expression or "").strip()):
        errors.append(fields.required(here.child("expression")))
    else:
        results = RESULTS[kind]
        errors += typed_expression_errors(here.child("expression"), text, policy.names(), results)
    if patches[other] is not None:
        text = f"must not be specified when patchType is {kind}"
        errors.append(fields.invalid(path.child(spelled[other]), f"{{{spelled[other]}}}", text))
    return errors
