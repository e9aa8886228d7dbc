"""Validation of environment variables, and of the downward API in variables and volumes.

Upstream: ``ValidateEnv``, ``validateObjectFieldSelector`` and their neighbours in
``pkg/apis/core/validation/validation.go``; ``pkg/apis/core/pods/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from podling.api.core_v1 import (
    ConfigMapKeySelector,
    EnvFromSource,
    EnvVar,
    FileKeySelector,
    ObjectFieldSelector,
    PodSpec,
    ResourceFieldSelector,
    SecretKeySelector,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.pod_scope import PodScope, each_container
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.quantity import parse

ENV_FIELDS = frozenset({
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
})  # fmt: skip
"""Pod fields that an environment variable may use."""

VOLUME_FIELDS = frozenset({
    "metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid",
})  # fmt: skip
"""Pod fields that a downward API file may use."""

CONVERTIBLE_FIELDS = ENV_FIELDS | VOLUME_FIELDS | {"spec.restartPolicy", "spec.schedulerName", "status.phase"}
"""All pod fields that the downward API knows."""

RESOURCE_FIELDS = frozenset(
    f"{which}.{name}" for which in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")

_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS = {
    "cpu": (("1m", "1"), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (_SIZES, f"only divisor's values {', '.join(_SIZES)} are supported with the memory resource"),
    "ephemeral-storage": (
        _SIZES,
        f"only divisor's values {', '.join(_SIZES)} are supported with the local ephemeral storage resource",
    ),
    "hugepages": (
        _SIZES,
        f"only divisor's values {', '.join(_SIZES)} are supported with the hugepages resource",
    ),
}

_ONE_SOURCE = "may not have more than one field specified at a time"


def validate_env(path: Path, variables: tuple[EnvVar, ...], scope: PodScope) -> Errors:
    errors: Errors = []
    for position, variable in enumerate(variables):
        if not variable.name:
            errors.append(fields.required(path.index(position).child("name")))
        elif problems := names.env_var_name_errors(variable.name):
            errors += fields.invalid_each(path.index(position).child("name"), variable.name, problems)
        if variable.value_from is not None:
            errors += _value_from_errors(path.index(position).child("valueFrom"), variable, scope)
    return errors


def _value_from_errors(path: Path, variable: EnvVar, scope: PodScope) -> Errors:
    source = variable.value_from
    if source is None:
        return []
    errors: Errors = []
    given = 0
    if source.field_ref is not None:
        given += 1
        errors += validate_field_ref(path.child("fieldRef"), source.field_ref, ENV_FIELDS)
    if source.resource_field_ref is not None:
        given += 1
        errors += validate_resource_ref(path.child("resourceFieldRef"), source.resource_field_ref)
    if source.config_map_key_ref is not None:
        given += 1
        errors += _key_ref_errors(path.child("configMapKeyRef"), source.config_map_key_ref)
    if source.secret_key_ref is not None:
        given += 1
        errors += _key_ref_errors(path.child("secretKeyRef"), source.secret_key_ref)
    if source.file_key_ref is not None:
        given += 1
        scope.reads_files = True
        errors += _file_key_ref_errors(path.child("fileKeyRef"), source.file_key_ref)
    if given == 0:
        text = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` "
            "or `fileKeyRef`"
        )
        errors.append(fields.invalid(path, "", text))
    elif variable.value:
        errors.append(fields.invalid(path, "", "may not be specified when `value` is not empty"))
    elif given > 1:
        errors.append(fields.invalid(path, "", _ONE_SOURCE))
    return errors


def validate_env_from(path: Path, sources: tuple[EnvFromSource, ...]) -> Errors:
    errors: Errors = []
    for position, source in enumerate(sources):
        here = path.index(position)
        if source.prefix:
            problems = names.env_var_name_errors(source.prefix)
            errors += fields.invalid_each(here.child("prefix"), source.prefix, problems)
        given = [
            (name, ref.name)
            for name, ref in (("configMapRef", source.config_map_ref), ("secretRef", source.secret_ref))
            if ref is not None
        ]
        for name, referred in given:
            errors += _reference_name_errors(here.child(name, "name"), referred)
        if not given:
            errors.append(fields.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(fields.invalid(path, "", _ONE_SOURCE))
    return errors


def _reference_name_errors(path: Path, name: str | None) -> Errors:
    if not name:
        return [fields.required(path)]
    # Upstream checks these as prefixes of a name, which may end with a dash.
    problems = names.dns_subdomain_errors(f"{name[:-1]}a" if len(name) > 1 and name[-1] == "-" else name)
    return fields.invalid_each(path, name, problems)


def _key_ref_errors(path: Path, ref: ConfigMapKeySelector | SecretKeySelector) -> Errors:
    errors = checks.dns_subdomain(path.child("name"), ref.name or "")
    if not ref.key:
        errors.append(fields.required(path.child("key")))
    else:
        errors += fields.invalid_each(path.child("key"), ref.key, names.config_map_key_errors(ref.key))
    return errors


def file_volume_errors(path: Path, spec: PodSpec) -> Errors:
    """Return errors for environment files on volumes other than ``emptyDir``."""
    volumes = {volume.name: volume for volume in spec.volumes}
    errors: Errors = []
    for container, here in each_container(spec, path):
        for position, variable in enumerate(container.env):
            ref = variable.value_from.file_key_ref if variable.value_from is not None else None
            if ref is None:
                continue
            where = here.child("env").index(position).child("valueFrom", "fileKeyRef", "volumeName")
            volume = volumes.get(ref.volume_name)
            if volume is None:
                errors.append(fields.not_found(where, ref.volume_name))
            elif volume.empty_dir is None:
                text = "referenced volume must be of type emptyDir"
                errors.append(fields.invalid(where, ref.volume_name, text))
    return errors


def _file_key_ref_errors(path: Path, ref: FileKeySelector) -> Errors:
    errors: Errors = []
    if not ref.key:
        errors.append(fields.required(path.child("key")))
    else:
        errors += fields.invalid_each(path.child("key"), ref.key, names.env_var_name_errors(ref.key))
    if not ref.volume_name:
        errors.append(fields.required(path.child("volumeName")))
    else:
        errors += checks.dns_label(path.child("volumeName"), ref.volume_name)
    if not ref.path:
        return [*errors, fields.required(path.child("path"))]
    return errors + checks.no_backsteps(path.child("path"), ref.path)


def split_subscript(field_path: str) -> tuple[str, str | None]:
    """Return ``metadata.labels['app']`` as (``metadata.labels``, ``app``); None without a subscript."""
    if not field_path.endswith("']"):
        return field_path, None
    name, bracket, key = field_path[:-2].partition("['")
    return (name, key) if bracket and name else (field_path, None)


def validate_field_ref(path: Path, ref: ObjectFieldSelector, allowed: AbstractSet[str]) -> Errors:
    """Return the errors in a reference to a field of the pod itself."""
    if not ref.api_version:
        return [fields.required(path.child("apiVersion"))]
    if not ref.field_path:
        return [fields.required(path.child("fieldPath"))]
    name, key = split_subscript(ref.field_path)
    problem = _conversion_problem(ref, name, key)
    if problem:
        return [
            fields.invalid(path.child("fieldPath"), ref.field_path, f"error converting fieldPath: {problem}")
        ]
    if key is None:
        if name in allowed:
            return []
        return [fields.not_supported(path.child("fieldPath"), name, sorted(allowed))]
    if name == "metadata.annotations":
        return checks.label_name(path, key.lower())
    return checks.label_name(path, key)


def _conversion_problem(ref: ObjectFieldSelector, name: str, key: str | None) -> str:
    if ref.api_version != "v1":
        return f"unsupported pod version: {ref.api_version}"
    if key is not None and name not in ("metadata.annotations", "metadata.labels"):
        return f"field label does not support subscript: {ref.field_path}"
    if key is None and name not in CONVERTIBLE_FIELDS:
        return f"field label not supported: {ref.field_path}"
    return ""


def validate_resource_ref(path: Path, ref: ResourceFieldSelector, *, in_volume: bool = False) -> Errors:
    """Return the errors in a reference to a request or limit; a volume must also name the container."""
    errors: Errors = []
    if in_volume and not ref.container_name:
        errors.append(fields.required(path.child("containerName")))
    elif not ref.resource:
        errors.append(fields.required(path.child("resource")))
    elif ref.resource not in RESOURCE_FIELDS and not ref.resource.startswith(_HUGE_PAGES):
        errors.append(fields.not_supported(path.child("resource"), ref.resource, sorted(RESOURCE_FIELDS)))
    return errors + _divisor_errors(path.child("divisor"), ref)


def _divisor_errors(path: Path, ref: ResourceFieldSelector) -> Errors:
    if not ref.divisor or not parse(ref.divisor):
        return []
    kind = "hugepages" if ref.resource.startswith(_HUGE_PAGES) else ref.resource.partition(".")[2]
    if kind not in _DIVISORS:
        return []
    allowed, text = _DIVISORS[kind]
    return [] if str(parse(ref.divisor)) in allowed else [fields.invalid(path, ref.resource, text)]
