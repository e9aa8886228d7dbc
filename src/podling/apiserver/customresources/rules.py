"""The rules of a definition's objects, as the generic stages use them for every kind.

Upstream: ``apiextensions-apiserver/pkg/registry/customresource`` (strategy, validator, table convertor).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import structs

from podling.api.apiextensions_v1 import (
    CustomResourceDefinition,
    CustomResourceDefinitionVersion,
    CustomResourceSubresourceScale,
)
from podling.api.autoscaling_v1 import Scale, ScaleSpec, ScaleStatus
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.customresources import object_checks, printing, value_validation
from podling.apiserver.customresources.completion import RootSchema
from podling.apiserver.customresources.definition_names import TERMINATING
from podling.apiserver.customresources.json_paths import JsonPath
from podling.apiserver.customresources.rule_evaluation import SchemaRules
from podling.apiserver.customresources.versions import priority
from podling.apiserver.kinds.apps.scales import SCALES
from podling.apiserver.kinds.apps.workloads import scale_errors
from podling.apiserver.kinds.common.base import Context, KindRules, View
from podling.apiserver.kinds.common.metadata import is_unqualified_finalizer
from podling.machinery import errors, fields
from podling.machinery.conditions import is_true
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.encoding.plain import copied
from podling.machinery.fields import FieldError, Path

BARE_FINALIZER = (
    "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with "
    "other finalizer writers"
)


@dataclass(frozen=True, eq=False)
class ServedVersion:
    """One version of a definition, ready to be served."""

    definition: CustomResourceDefinition
    version: CustomResourceDefinitionVersion
    schema: RootSchema


def schema_of_version(version: CustomResourceDefinitionVersion) -> RootSchema:
    """Return the schema of a version; one that knows no fields for a version without."""
    return RootSchema(version.schema.open_apiv3_schema if version.schema is not None else None)


def full_plain(obj: CustomObject) -> dict[str, Any]:
    """Return the whole object as plain data, to be looked at and not changed."""
    return {**obj.plain(), "metadata": codec.to_plain(obj.metadata)}


class CustomRules(KindRules[CustomObject]):
    """The rules of one version of one custom resource."""

    generation = True
    unconditional_update = False
    bare_finalizers = True

    def __init__(self, served: ServedVersion, cel: SchemaRules | None = None) -> None:
        """``cel``: the rules of the same schema, if they are known."""
        self.served = served
        version = served.version
        parts = version.subresources
        self.status_subresource = parts is not None and parts.status is not None
        self.deprecation = _deprecation(served)
        self._scale = parts.scale if parts is not None else None
        if self._scale is not None:
            self.subresources = {"scale": _scale_view(self._scale)}
        self.columns = printing.columns_of(version)
        self._cells = printing.cells_of(version)
        self._selectable = {
            each.json_path.removeprefix("."): JsonPath(each.json_path) for each in version.selectable_fields
        }
        self.field_labels = tuple(self._selectable)
        self.cel = SchemaRules(served.schema) if cel is None else cel
        self._kept: tuple[CustomObject | None, list[str]] = (None, [])

    def default(self, obj: CustomObject) -> CustomObject:
        resource = self.served
        content = resource.schema.completed(obj.content)
        version = f"{resource.definition.spec.group}/{resource.version.name}"
        kind = (resource.definition.status.accepted_names or resource.definition.spec.names).kind
        return structs.replace(obj, api_version=version, kind=obj.kind or kind, content=content)

    def prepare_create(self, obj: CustomObject, context: Context) -> CustomObject:
        if is_true(self.served.definition.status.conditions, TERMINATING):
            text = "create not allowed while custom resource definition is terminating"
            raise errors.failure(405, "MethodNotAllowed", text)
        return _with_status(obj, None) if self.status_subresource else obj

    def prepare_update(self, new: CustomObject, old: CustomObject, context: Context) -> CustomObject:
        if context.subresource == "status":
            kept = structs.replace(old.metadata, managed_fields=new.metadata.managed_fields)
            changed = structs.replace(old, api_version=new.api_version, metadata=kept)
            return _with_status(changed, new.content.get("status"))
        return _with_status(new, old.content.get("status")) if self.status_subresource else new

    def intent(self, obj: CustomObject) -> Any:
        """Return the fields that users set: without type, metadata, and a status subresource."""
        if not self.status_subresource:
            return obj.content
        return {name: value for name, value in obj.content.items() if name != "status"}

    def validate(self, obj: CustomObject, context: Context) -> list[FieldError]:
        return self._errors(obj, None, context)

    def validate_update(self, new: CustomObject, old: CustomObject, context: Context) -> list[FieldError]:
        return self._errors(new, old, context)

    def _errors(self, obj: CustomObject, old: CustomObject | None, context: Context) -> list[FieldError]:
        """Validate by the schema; CEL rules come last, and only on valid values."""
        names = self.served.definition.status.accepted_names or self.served.definition.spec.names
        if obj.kind != names.kind:
            return [fields.invalid(Path("kind"), obj.kind, f"must be {names.kind}")]
        plain, root, whole = full_plain(obj), self.served.schema.root, context.subresource != "status"
        before = None if old is None else full_plain(old)
        found = value_validation.validate(
            plain, root.plain, old=value_validation.ABSENT if before is None else before
        )
        if self._scale is not None:
            found += object_checks.scale_errors(obj.content, self._scale, spec=whole)
        found += object_checks.embedded_errors(plain, root, Path()) if whole else []
        repeated = object_checks.list_errors(plain, root, Path())
        if repeated and (before is None or not object_checks.list_errors(before, root, Path())):
            found += repeated
        if not self.cel:
            return found
        if blocked := object_checks.blocked(found):
            return found + blocked
        asked = self.cel.validate(plain, before)
        self._kept = (obj, [str(each) for each in asked.kept])
        return found + asked.errors

    def warnings(self, obj: CustomObject, old: CustomObject | None, context: Context) -> list[str]:
        """Return warnings about tolerated errors of rules, and about new unqualified finalizers."""
        validated, kept = self._kept
        known = () if old is None else old.metadata.finalizers
        return (kept if validated is obj else []) + [
            f'metadata.finalizers: "{name}": {BARE_FINALIZER}'
            for name in sorted(set(obj.metadata.finalizers).difference(known))
            if is_unqualified_finalizer(name)
        ]

    def selectable_fields(self, obj: CustomObject) -> dict[str, str]:
        return {name: _text(path.first(obj.content)) for name, path in self._selectable.items()}

    def row(self, obj: CustomObject, now: datetime) -> Sequence[Any]:
        return printing.row(obj, self._cells, now)


def _deprecation(served: ServedVersion) -> str:
    """Return the warning of a deprecated version: its own text, or its replacement."""
    version, spec = served.version, served.definition.spec
    if not version.deprecated:
        return ""
    kind, rank = spec.names.kind, priority(version.name)
    better = [
        each.name
        for each in sorted(spec.versions, key=lambda each: priority(each.name))
        if each.served and not each.deprecated and priority(each.name) < rank
    ]
    instead = f"; use {spec.group}/{better[0]} {kind}" if better else ""
    return version.deprecation_warning or f"{spec.group}/{version.name} {kind} is deprecated{instead}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _with_status(obj: CustomObject, status: Any) -> CustomObject:
    if status is None and "status" not in obj.content:
        return obj
    content = {name: value for name, value in obj.content.items() if name != "status"}
    if status is not None:
        content["status"] = status
    return structs.replace(obj, content=content)


def _scale_view(scale: CustomResourceSubresourceScale) -> View:
    steps = _steps(scale.spec_replicas_path)
    status, selector = _steps(scale.status_replicas_path), _steps(scale.label_selector_path or "")

    def show(obj: CustomObject) -> Scale:
        own = obj.metadata
        return Scale(
            metadata=ObjectMeta(
                name=own.name,
                namespace=own.namespace,
                uid=own.uid,
                resource_version=own.resource_version,
                creation_timestamp=own.creation_timestamp,
            ),
            spec=ScaleSpec(replicas=_at(obj.content, steps) or 0),
            status=ScaleStatus(
                replicas=_at(obj.content, status) or 0, selector=_at(obj.content, selector) or ""
            ),
        )

    def put(obj: CustomObject, body: Scale, context: Context) -> CustomObject:
        content = copied(obj.content)
        inner = content
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = body.spec.replicas or 0
        return structs.replace(obj, content=content)

    def read_error(obj: CustomObject) -> str:
        missing = _at(obj.content, steps) is None
        return f'the spec replicas field "{scale.spec_replicas_path}" does not exist' if missing else ""

    return View(Scale, show, put, scale_errors, read_error, tuple(steps), SCALES)


def _steps(path: str) -> list[str]:
    """Return the names in a path of a scale, which knows nothing but names."""
    return path.removeprefix(".").split(".") if path else []


def _at(content: dict[str, Any], steps: Sequence[str]) -> Any:
    value: Any = content if steps else None
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value
