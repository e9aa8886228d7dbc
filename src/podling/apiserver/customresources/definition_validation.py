"""What is wrong with a definition: its names, its versions, their tables and conversion. Pure.

Upstream: ``apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from podling.api.apiextensions_v1 import (
    CustomResourceColumnDefinition,
    CustomResourceConversion,
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
    CustomResourceSubresources,
    JSONSchemaProps,
    SelectableField,
)
from podling.apiserver.customresources.approval import APPROVAL, Approval, approval
from podling.apiserver.customresources.json_paths import JsonPath, JsonPathError
from podling.apiserver.customresources.schema_validation import schema_errors
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.webhook_clients import client_errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

PartOf = Callable[[CustomResourceDefinitionVersion], Any]

SPEC = Path("spec")
SCOPES = ("Cluster", "Namespaced")
STRATEGIES = ("None", "Webhook")
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SELECTABLE_MAX = 8


def validate_definition(definition: CustomResourceDefinition) -> Errors:
    """What is wrong with a new definition, or with a changed one by itself."""
    spec = definition.spec
    errors: Errors = []
    if definition.metadata.name != f"{spec.names.plural}.{spec.group}":
        text = 'must be spec.names.plural+"."+spec.group'
        errors.append(fields.invalid(Path("metadata.name"), definition.metadata.name, text))
    errors += _group_errors(spec.group)
    errors += checks.required_one_of(SPEC.child("scope"), spec.scope, SCOPES)
    errors += _versions_errors(spec)
    errors += _name_errors(SPEC.child("names"), spec.names)
    errors += _part_errors(spec)
    errors += _conversion_errors(SPEC.child("conversion"), spec)
    return errors + _approval_errors(definition)


def validate_change(new: CustomResourceDefinition, old: CustomResourceDefinition) -> Errors:
    """What is wrong with a change beside what is wrong with its result."""
    errors: Errors = []
    if any(each.type == "Established" and each.status == "True" for each in old.status.conditions):
        errors += checks.immutable(SPEC.child("scope"), new.spec.scope, old.spec.scope)
        errors += checks.immutable(SPEC.child("names", "kind"), new.spec.names.kind, old.spec.names.kind)
    errors += checks.immutable(SPEC.child("group"), new.spec.group, old.spec.group)
    plural = SPEC.child("names", "plural")
    errors += checks.immutable(plural, new.spec.names.plural, old.spec.names.plural)
    return errors + stored_version_errors(new)


def stored_version_errors(definition: CustomResourceDefinition) -> Errors:
    """A version that something may still be stored in has to stay."""
    known = {version.name for version in definition.spec.versions}
    stored, path = definition.status.stored_versions, Path("status").child("storedVersions")
    errors: Errors = []
    if not stored:
        errors.append(fields.invalid(path, list(stored), "must have at least one stored version"))
    for position, name in enumerate(stored):
        if name not in known:
            where = path.index(position)
            text = "missing from spec.versions; " + _STAYS.format(name)
            errors.append(fields.invalid(where, name, text))
    return errors


_STAYS = (
    "{} was previously a storage version, and must remain in spec.versions until a storage migration "
    "ensures no data remains persisted in {} and removes {} from status.storedVersions"
).replace("{}", "{0}")


def _group_errors(group: str) -> Errors:
    path = SPEC.child("group")
    if not group:
        return [fields.required(path)]
    problems = names.dns_subdomain_errors(group)
    if problems:
        return [fields.invalid(path, group, ",".join(problems))]
    if "." not in group:
        return [fields.invalid(path, group, "should be a domain with at least one dot")]
    return []


def _approval_errors(definition: CustomResourceDefinition) -> Errors:
    """Groups of Kubernetes itself are open to approved definitions only."""
    state, text = approval(definition)
    where = Path("metadata").child("annotations").key(APPROVAL)
    if state is Approval.MISSING:
        return [fields.required(where, text)]
    if state is Approval.MALFORMED:
        return [fields.invalid(where, definition.metadata.annotations[APPROVAL], text)]
    return []


def _versions_errors(spec: CustomResourceDefinitionSpec) -> Errors:
    path, versions = SPEC.child("versions"), spec.versions
    errors: Errors = []
    for position, version in enumerate(versions):
        errors += _version_errors(path.index(position), version)
    seen = [version.name for version in versions]
    if len(set(seen)) != len(seen):
        errors.append(fields.invalid(path, versions, "must contain unique version names"))
    if sum(version.storage for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(fields.invalid(path, versions, text))
    if spec.preserve_unknown_fields:
        where = SPEC.child("preserveUnknownFields")
        text = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        errors.append(fields.invalid(where, True, text))
    return errors


def _version_errors(path: Path, version: CustomResourceDefinitionVersion) -> Errors:
    errors: Errors = []
    problems = names.dns_1035_label_errors(version.name)
    if problems:
        errors.append(fields.invalid(path.child("name"), version.name, ",".join(problems)))
    if version.served and _schema_of(version) is None:
        errors.append(fields.required(path.child("schema", "openAPIV3Schema"), "schemas are required"))
    if version.deprecation_warning is not None and not version.deprecated:
        text = "can only be set for deprecated versions"
        errors.append(fields.invalid(path.child("deprecationWarning"), version.deprecation_warning, text))
    return errors


def _schema_of(version: CustomResourceDefinitionVersion) -> JSONSchemaProps | None:
    return version.schema.open_apiv3_schema if version.schema is not None else None


def _part_errors(spec: CustomResourceDefinitionSpec) -> Errors:
    """What is wrong with the parts of versions. What all versions have alike is told once, of the definition:
    this is how Kubernetes keeps it inside, and what its messages name."""
    errors: Errors = []
    for part_of, check, shared, own in _PARTS:
        parts = [part_of(version) for version in spec.versions]
        if parts and all(part == parts[0] for part in parts):
            errors += check(SPEC.child(*shared), parts[0]) if parts[0] else []
            continue
        for position, part in enumerate(parts):
            if part:
                errors += check(SPEC.child("versions").index(position).child(*own), part)
    return errors


def _column_errors(path: Path, columns: Sequence[CustomResourceColumnDefinition]) -> Errors:
    errors: Errors = []
    for number, column in enumerate(columns):
        where = path.index(number)
        errors += [] if column.name else [fields.required(where.child("name"))]
        errors += checks.required_one_of(where.child("type"), column.type, COLUMN_TYPES)
        if column.format:
            errors += checks.one_of(where.child("format"), column.format, COLUMN_FORMATS)
        errors += _path_errors(where.child("JSONPath"), column.json_path)
    return errors


def _path_errors(path: Path, text: str) -> Errors:
    if not text:
        return [fields.required(path)]
    if not text.startswith("."):
        return [fields.invalid(path, text, "must be a simple json path starting with .")]
    try:
        JsonPath(text)
    except JsonPathError as error:
        return [fields.invalid(path, text, f"must be a simple json path: {error}")]
    return []


def _subresource_errors(path: Path, asked: CustomResourceSubresources) -> Errors:
    scale, where = asked.scale, path.child("scale")
    if scale is None:
        return []
    errors: Errors = []
    for name, value, root in (
        ("specReplicasPath", scale.spec_replicas_path, (".spec.",)),
        ("statusReplicasPath", scale.status_replicas_path, (".status.",)),
        ("labelSelectorPath", scale.label_selector_path or "", (".spec.", ".status.")),
    ):
        at = where.child(name)
        if not value:
            errors += [] if name == "labelSelectorPath" else [fields.required(at)]
        elif "[" in value or not value.startswith("."):
            errors.append(fields.invalid(at, value, "must be a simple json path starting with ."))
        elif not value.startswith(root):
            text = "must be a json path under " + " or ".join(each.removesuffix(".") for each in root)
            errors.append(fields.invalid(at, value, text))
    return errors


def _selectable_errors(where: Path, asked: Sequence[SelectableField]) -> Errors:
    errors: Errors = []
    if len(asked) > SELECTABLE_MAX:
        errors.append(fields.too_many(where, len(asked), SELECTABLE_MAX))
    seen: set[str] = set()
    for position, each in enumerate(asked):
        at = where.index(position).child("jsonPath")
        if not each.json_path:
            errors.append(fields.required(at))
        elif not each.json_path.startswith(".") or "[" in each.json_path:
            errors.append(
                fields.invalid(at, each.json_path, "is an invalid path: must be a simple json path")
            )
        elif each.json_path.startswith(".metadata."):
            text = "must not point to fields in metadata"
            errors.append(fields.invalid(at, each.json_path, text))
        elif each.json_path in seen:
            errors.append(fields.duplicate(at, each.json_path))
        seen.add(each.json_path)
    return errors


_PARTS: tuple[tuple[PartOf, Callable[..., Errors], tuple[str, ...], tuple[str, ...]], ...] = (
    (
        lambda version: version.additional_printer_columns,
        _column_errors,
        ("additionalPrinterColumns",),
        ("additionalPrinterColumns",),
    ),
    (_schema_of, schema_errors, ("validation", "openAPIV3Schema"), ("schema", "openAPIV3Schema")),
    (lambda version: version.subresources, _subresource_errors, ("subresources",), ("subresources",)),
    (
        lambda version: version.selectable_fields,
        _selectable_errors,
        ("selectableFields",),
        ("selectableFields",),
    ),
)
"""A part of versions, its check, and where it is when all versions have it alike, and when not."""


def _conversion_errors(path: Path, spec: CustomResourceDefinitionSpec) -> Errors:
    conversion = spec.conversion
    if conversion is None:
        return []
    errors = checks.required_one_of(path.child("strategy"), conversion.strategy, STRATEGIES)
    if conversion.strategy == "Webhook":
        return errors + _webhook_errors(path, conversion)
    if conversion.strategy == "None" and conversion.webhook is not None:
        text = "should not be set when strategy is not set to Webhook"
        errors.append(fields.forbidden(path.child("webhook"), text))
    return errors


def _webhook_errors(path: Path, conversion: CustomResourceConversion) -> Errors:
    where, webhook = path.child("webhook", "clientConfig"), conversion.webhook
    client = webhook.client_config if webhook is not None else None
    errors: Errors = []
    if client is None:
        return [fields.required(where, "required when strategy is set to Webhook")]
    errors += client_errors(where, client)
    versions = webhook.conversion_review_versions if webhook is not None else ()
    at = path.child("webhook", "conversionReviewVersions")
    if not versions:
        errors.append(fields.required(at))
    elif not set(versions) & {"v1", "v1beta1"}:
        text = "must include at least one of v1, v1beta1"
        errors.append(fields.invalid(at, list(versions), text))
    return errors


def _name_errors(path: Path, own: CustomResourceDefinitionNames) -> Errors:
    errors: Errors = []
    for field, value in (
        ("plural", own.plural),
        ("singular", own.singular or ""),
        ("kind", own.kind),
        ("listKind", own.list_kind or ""),
    ):
        if not value:
            errors.append(fields.required(path.child(field)))
            continue
        mixed = field in ("kind", "listKind")
        problems = names.dns_1035_label_errors(value.lower() if mixed else value)
        if problems:
            text = ("may have mixed case, but should otherwise match: " if mixed else "") + ",".join(problems)
            errors.append(fields.invalid(path.child(field), value, text))
    errors += _label_errors(path.child("shortNames"), own.short_names)
    if own.kind and own.kind == own.list_kind:
        text = "kind and listKind may not be the same"
        errors.append(fields.invalid(path.child("listKind"), own.list_kind, text))
    return errors + _label_errors(path.child("categories"), own.categories)


def _label_errors(path: Path, given: Sequence[str]) -> Errors:
    errors: Errors = []
    for position, value in enumerate(given):
        problems = names.dns_1035_label_errors(value)
        if problems:
            errors.append(fields.invalid(path.index(position), value, ",".join(problems)))
    return errors
