"""Validation of access reviews, which the server answers and never stores.

Upstream: ``pkg/apis/authorization/validation``.
"""

from __future__ import annotations

from podling.api.authorization_v1 import (
    FieldSelectorAttributes,
    LabelSelectorAttributes,
    LocalSubjectAccessReview,
    NonResourceAttributes,
    ResourceAttributes,
    SelfSubjectAccessReview,
    SubjectAccessReview,
)
from podling.api.meta_v1 import FieldSelectorRequirement, ObjectMeta
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, label_checks
from podling.machinery.fields import Path

SPEC = Path("spec")
RESOURCE, NON_RESOURCE = SPEC.child("resourceAttributes"), SPEC.child("nonResourceAttributes")


def self_access_errors(review: SelfSubjectAccessReview) -> Errors:
    spec = review.spec
    errors = _attributes_errors(spec.resource_attributes, spec.non_resource_attributes)
    errors += _selector_errors(spec.resource_attributes)
    return errors + _metadata_errors(review.metadata)


def access_errors(review: SubjectAccessReview) -> Errors:
    return _spec_errors(review) + _metadata_errors(review.metadata)


def local_access_errors(review: LocalSubjectAccessReview, namespace: str) -> Errors:
    """Return the errors in a review. ``namespace`` is the request's, and the default for the review's."""
    errors = _spec_errors(review)
    metadata, ours = review.metadata, review.metadata.namespace or namespace
    if metadata != ObjectMeta(namespace=metadata.namespace, managed_fields=metadata.managed_fields):
        errors.append(fields.invalid(Path("metadata"), metadata, "must be empty except for namespace"))
    wanted, other = review.spec.resource_attributes, review.spec.non_resource_attributes
    if wanted is not None and (wanted.namespace or "") != ours:
        text = "must match metadata.namespace"
        errors.append(fields.invalid(RESOURCE.child("namespace"), wanted.namespace or "", text))
    if other is not None:
        errors.append(fields.invalid(NON_RESOURCE, other, "disallowed on this kind of request"))
    return errors


def _metadata_errors(metadata: ObjectMeta) -> Errors:
    empty = metadata == ObjectMeta(managed_fields=metadata.managed_fields)
    return [] if empty else [fields.invalid(Path("metadata"), metadata, "must be empty")]


def _spec_errors(review: SubjectAccessReview | LocalSubjectAccessReview) -> Errors:
    spec = review.spec
    errors = _attributes_errors(spec.resource_attributes, spec.non_resource_attributes)
    if not spec.user and not spec.groups:
        text = "at least one of user or group must be specified"
        errors.append(fields.invalid(SPEC.child("user"), "", text))
    return errors + _selector_errors(spec.resource_attributes)


def _attributes_errors(wanted: ResourceAttributes | None, other: NonResourceAttributes | None) -> Errors:
    if (wanted is None) != (other is None):
        return []
    text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    return [fields.invalid(SPEC, other, text)]


def _selector_errors(wanted: ResourceAttributes | None) -> Errors:
    """Return the errors in the selectors. Unknown operators pass: a newer client may know them."""
    errors: Errors = []
    if wanted is None:
        return errors
    if wanted.field_selector is not None:
        path = RESOURCE.child("fieldSelector")
        errors += _form_errors(path, wanted.field_selector)
        for position, field in enumerate(wanted.field_selector.requirements):
            errors += _field_errors(path.child("requirements").index(position), field)
    if wanted.label_selector is not None:
        path = RESOURCE.child("labelSelector")
        errors += _form_errors(path, wanted.label_selector)
        for position, label in enumerate(wanted.label_selector.requirements):
            here = path.child("requirements").index(position)
            errors += label_checks.label_requirement(here, label, any_operator=True)
    return errors


def _form_errors(path: Path, selector: FieldSelectorAttributes | LabelSelectorAttributes) -> Errors:
    if selector.raw_selector and selector.requirements:
        text = "may not specified at the same time as requirements"
        return [fields.invalid(path.child("rawSelector"), selector.raw_selector, text)]
    if not selector.raw_selector and not selector.requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        return [fields.required(path.child("requirements"), text)]
    return []


def _field_errors(path: Path, requirement: FieldSelectorRequirement) -> Errors:
    errors = [] if requirement.key else [fields.required(path.child("key"), "must be specified")]
    return errors + label_checks.operand_errors(path, requirement.operator, requirement.values)
