"""Validation of a definition: its names, its versions, its conversion, and changes of them. Pure.

Errors of parts that all versions share (schema, subresources, columns, selectable fields) are reported once,
of the definition, and so are the parts of a conversion: Kubernetes stores them so internally, and its
messages name those places.

Upstream: ``validation/validation.go`` and ``v1/conversion.go`` in
``apiextensions-apiserver/pkg/apis/apiextensions``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from podling.api.apiextensions_v1 import (
    CustomResourceConversion,
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
    CustomResourceValidation,
    SelectableField,
)
from podling.apiserver.customresources import go_names
from podling.apiserver.customresources.approval import APPROVAL, Approval, approval
from podling.apiserver.customresources.definition_names import ESTABLISHED
from podling.apiserver.customresources.definition_parts import (
    column_errors,
    selectable_errors,
    subresource_errors,
)
from podling.apiserver.customresources.schema_validation import schema_errors
from podling.apiserver.customresources.structural import Schema
from podling.apiserver.customresources.structural_validation import unsupported
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.webhook_clients import ca_bundle_errors, client_errors
from podling.machinery import fields, names
from podling.machinery.conditions import is_true
from podling.machinery.encoding import codec
from podling.machinery.fields import Path

SPEC = Path("spec")
SCOPES = ("Cluster", "Namespaced")
STRATEGIES = ("None", "Webhook")
REVIEW_VERSIONS = ("v1", "v1beta1")
WARNING_MAX = 256


def validate_definition(definition: CustomResourceDefinition) -> Errors:
    """Return the errors of a new definition."""
    return [
        *name_errors(definition),
        *_spec_errors(definition.spec),
        *accepted_name_errors(definition),
        *stored_version_errors(definition),
        *_approval_errors(definition, None),
        *_preserve_errors(definition),
    ]


def validate_change(new: CustomResourceDefinition, old: CustomResourceDefinition) -> Errors:
    """Return the errors of a changed definition and of the change. An accepted schema stays valid."""
    errors: Errors = []
    if new.spec != old.spec:
        errors += _spec_errors(new.spec, trusts_any_bundle=_trusts_any_bundle(old))
        if is_true(old.status.conditions, ESTABLISHED):
            errors += checks.immutable(SPEC.child("scope"), new.spec.scope, old.spec.scope)
            errors += checks.immutable(SPEC.child("names", "kind"), new.spec.names.kind, old.spec.names.kind)
        errors += checks.immutable(SPEC.child("group"), new.spec.group, old.spec.group)
        plural = SPEC.child("names", "plural")
        errors += checks.immutable(plural, new.spec.names.plural, old.spec.names.plural)
        errors += accepted_name_errors(new) + stored_version_errors(new)
    errors += _approval_errors(new, old)
    return errors + ([] if old.spec.preserve_unknown_fields else _preserve_errors(new))


def name_errors(definition: CustomResourceDefinition) -> Errors:
    spec = definition.spec
    if definition.metadata.name == f"{spec.names.plural}.{spec.group}":
        return []
    text = 'must be spec.names.plural+"."+spec.group'
    return [fields.invalid(Path("metadata.name"), definition.metadata.name, text)]


def accepted_name_errors(definition: CustomResourceDefinition) -> Errors:
    accepted = definition.status.accepted_names
    where = Path("status").child("acceptedNames")
    return _form_errors(where, accepted)


def stored_version_errors(definition: CustomResourceDefinition) -> Errors:
    """A version that something may still be stored in has to stay."""
    known = {version.name for version in definition.spec.versions}
    stored, path = list(definition.status.stored_versions), Path("status").child("storedVersions")
    if not stored:
        return [fields.invalid(path, stored, "must have at least one stored version")]
    errors = [
        fields.invalid(path, stored, f"must have the storage version {version.name}")
        for version in definition.spec.versions
        if version.storage and version.name not in stored
    ]
    for position, name in enumerate(stored):
        if name not in known:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            errors.append(fields.invalid(path.index(position), name, text))
    return errors


def _approval_errors(new: CustomResourceDefinition, old: CustomResourceDefinition | None) -> Errors:
    """Groups of Kubernetes itself are open to approved definitions only; what was not may stay so."""
    state, text = approval(new)
    where = Path("metadata").child("annotations").key(APPROVAL)
    if old is not None and approval(old)[0] is state:
        return []
    if state is Approval.MISSING:
        return [fields.required(where, text)]
    if state is Approval.MALFORMED:
        return [fields.invalid(where, new.metadata.annotations[APPROVAL], text)]
    return []


def _preserve_errors(definition: CustomResourceDefinition) -> Errors:
    if not definition.spec.preserve_unknown_fields:
        return []
    text = (
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
        "spec.versions[*].schema instead"
    )
    return [fields.invalid(SPEC.child("preserveUnknownFields"), True, text)]


@dataclass(frozen=True, slots=True)
class _Shared:
    """The parts that all versions share."""

    schema: bool
    subresources: bool
    columns: bool
    selectable: bool

    def names(self) -> list[str]:
        return [name for name in self.__slots__ if getattr(self, name)]


def _shared(versions: Sequence[CustomResourceDefinitionVersion]) -> _Shared:
    def alike(parts: list[Any]) -> bool:
        return bool(parts) and all(part == parts[0] for part in parts)

    schema = alike([each.schema for each in versions])
    return _Shared(
        schema,
        alike([each.subresources for each in versions]),
        alike([each.additional_printer_columns for each in versions]),
        schema and alike([each.selectable_fields for each in versions]),
    )


def _spec_errors(spec: CustomResourceDefinitionSpec, *, trusts_any_bundle: bool = True) -> Errors:
    errors = _group_errors(spec.group)
    errors += checks.required_one_of(SPEC.child("scope"), spec.scope, SCOPES)
    path, versions, shared = SPEC.child("versions"), spec.versions, _shared(spec.versions)
    for position, version in enumerate(versions):
        if _root_of(version.schema) is None:
            where = path.index(position).child("schema", "openAPIV3Schema")
            errors.append(fields.required(where, "schemas are required"))
    if spec.preserve_unknown_fields and any(_has_defaults(_root_of(each.schema)) for each in versions):
        text = "must be false in order to use defaults in the schema"
        errors.append(fields.invalid(SPEC.child("preserveUnknownFields"), True, text))
    for position, version in enumerate(versions):
        errors += _version_errors(path.index(position), version, shared)
    problems = []
    if len({version.name for version in versions}) != len(versions):
        problems.append("must contain unique version names")
    if sum(version.storage for version in versions) != 1:
        problems.append("must have exactly one version marked as storage version")
    if problems:
        shown = go_names.versions(versions, shared.names())
        errors += [fields.invalid(path, shown, text) for text in problems]
    if versions and (problems := names.dns_1035_label_errors(versions[0].name)):
        errors.append(fields.invalid(SPEC.child("version"), versions[0].name, ",".join(problems)))
    errors += _name_errors(SPEC.child("names"), spec.names)
    errors += _shared_errors(versions, shared)
    if spec.conversion is not None and spec.conversion.strategy != "None" and spec.preserve_unknown_fields:
        where, text = (
            SPEC.child("conversion", "strategy"),
            "must be None if spec.preserveUnknownFields is true",
        )
        errors.append(fields.invalid(where, spec.conversion.strategy, text))
    where = SPEC.child("conversion")
    return errors + _conversion_errors(where, spec.conversion, trusts_any_bundle=trusts_any_bundle)


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


def _version_errors(path: Path, version: CustomResourceDefinitionVersion, shared: _Shared) -> Errors:
    """Return the errors of the parts of one version."""
    errors: Errors = []
    if problems := names.dns_1035_label_errors(version.name):
        errors.append(fields.invalid(path.child("name"), version.name, ",".join(problems)))
    warning = version.deprecation_warning
    for text in _warning_problems(warning, deprecated=bool(version.deprecated)):
        errors.append(fields.invalid(path.child("deprecationWarning"), warning, text))
    asked = version.subresources
    if not shared.schema:
        status = asked is not None and asked.status is not None
        errors += _schema_errors(path.child("schema"), version.schema, status=status)
    if not shared.subresources:
        errors += subresource_errors(path.child("subresources"), asked)
    if not shared.columns:
        errors += column_errors(path.child("additionalPrinterColumns"), version.additional_printer_columns)
    if version.selectable_fields and not shared.selectable:
        text = "selectableFields may only be set when version.schema.openAPIV3Schema is not included"
        where = path.child("selectableFields")
        errors += _selectable_errors(where, version.selectable_fields, version.schema, text)
    return errors


def _shared_errors(versions: Sequence[CustomResourceDefinitionVersion], shared: _Shared) -> Errors:
    """Return the errors of the parts that all versions share."""
    errors: Errors = []
    if shared.schema:
        status = any(
            each.subresources is not None and each.subresources.status is not None for each in versions
        )
        errors += _schema_errors(SPEC.child("validation"), versions[0].schema, status=status)
    if shared.subresources:
        errors += subresource_errors(SPEC.child("subresources"), versions[0].subresources)
    if shared.columns:
        where = SPEC.child("additionalPrinterColumns")
        errors += column_errors(where, versions[0].additional_printer_columns)
    if shared.selectable and versions[0].selectable_fields:
        where = SPEC.child("selectableFields")
        text = "selectableFields may only be set when validations.schema is included"
        errors += _selectable_errors(where, versions[0].selectable_fields, versions[0].schema, text)
    return errors


def _root_of(schema: CustomResourceValidation | None) -> Any:
    return schema.open_apiv3_schema if schema is not None else None


def _schema_errors(path: Path, schema: CustomResourceValidation | None, *, status: bool) -> Errors:
    root = _root_of(schema)
    return [] if root is None else schema_errors(path.child("openAPIV3Schema"), root, status=status)


def _selectable_errors(
    where: Path, asked: Sequence[SelectableField], schema: CustomResourceValidation | None, missing: str
) -> Errors:
    root = _root_of(schema)
    if root is None:
        return [fields.invalid(where, "", missing)]
    plain = codec.to_plain(root)
    return [] if unsupported(plain) else selectable_errors(where, asked, Schema(plain))


def _has_defaults(schema: Any) -> bool:
    return schema is not None and '"default":' in codec.encode(schema).decode()


def _warning_problems(warning: str | None, *, deprecated: bool) -> list[str]:
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    problems: list[str] = []
    if len(warning.encode()) > WARNING_MAX:
        problems.append(f"must be <= {WARNING_MAX} characters long")
    if not warning:
        problems.append("must not be an empty string")
    for index, character in enumerate(warning):
        if not character.isprintable():
            at = len(warning[:index].encode())
            text = "must only contain printable UTF-8 characters; non-printable character found at index"
            problems.append(f"{text} {at}")
            break
    return problems


def _name_errors(path: Path, own: CustomResourceDefinitionNames) -> Errors:
    given = (own.plural, own.singular, own.kind, own.list_kind)
    wanted = zip(("plural", "singular", "kind", "listKind"), given, strict=True)
    errors = [fields.required(path.child(field)) for field, value in wanted if not value]
    return errors + _form_errors(path, own)


def _form_errors(path: Path, own: CustomResourceDefinitionNames) -> Errors:
    errors: Errors = []
    for field, value in (("plural", own.plural), ("singular", own.singular)):
        if value and (problems := names.dns_1035_label_errors(value)):
            errors.append(fields.invalid(path.child(field), value, ",".join(problems)))
    for field, value in (("kind", own.kind), ("listKind", own.list_kind)):
        if value and (problems := names.dns_1035_label_errors(value.lower())):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
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


def _trusts_any_bundle(old: CustomResourceDefinition) -> bool:
    """Return whether invalid certificates may stay: they have no effect yet, or were invalid before."""
    if not is_true(old.status.conditions, ESTABLISHED):
        return True
    webhook = old.spec.conversion.webhook if old.spec.conversion is not None else None
    bundle = webhook.client_config.ca_bundle if webhook is not None and webhook.client_config else None
    return bool(bundle and ca_bundle_errors(Path("caBundle"), bundle))


def _conversion_errors(
    path: Path, conversion: CustomResourceConversion | None, *, trusts_any_bundle: bool
) -> Errors:
    if conversion is None:
        return []
    errors = checks.required_one_of(path.child("strategy"), conversion.strategy, STRATEGIES)
    webhook = conversion.webhook
    client = webhook.client_config if webhook is not None else None
    versions = webhook.conversion_review_versions if webhook is not None else ()
    where, at = path.child("webhookClientConfig"), path.child("conversionReviewVersions")
    if conversion.strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        given = ((where, client is not None), (at, bool(versions)))
        return errors + [fields.forbidden(each, text) for each, there in given if there]
    if client is None:
        errors.append(fields.required(where, "required when strategy is set to Webhook"))
    else:
        errors += client_errors(where, client)
        if client.ca_bundle and not trusts_any_bundle:
            errors += ca_bundle_errors(where.child("caBundle"), client.ca_bundle)
    return errors + _review_version_errors(at, versions)


def _review_version_errors(at: Path, versions: Sequence[str]) -> Errors:
    if not versions:
        return [fields.required(at)]
    errors: Errors = []
    for position, version in enumerate(versions):
        if version in versions[:position]:
            errors.append(fields.invalid(at.index(position), version, "duplicate version"))
        else:
            problems = names.dns_1035_label_errors(version)
            errors += fields.invalid_each(at.index(position), version, problems)
    if not set(versions) & set(REVIEW_VERSIONS):
        text = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        errors.append(fields.invalid(at, list(versions), text))
    return errors
