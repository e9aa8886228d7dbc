"""Validation functions that many kinds share; they return Kubernetes' field errors.

A check takes the path of a field and its value, and returns an empty list for a valid value. Checks of
formats alone are in ``machinery.names``; here they get a path. Those of labels, selectors and annotations
are in ``machinery.label_checks``.

Upstream: ``apimachinery/pkg/api/validation``, ``apimachinery/pkg/apis/meta/v1/validation``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from podling.api.meta_v1 import ObjectMeta
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import FieldError, Path
from podling.machinery.quantity import parse

Errors = list[FieldError]

NOT_NEGATIVE = "must be greater than or equal to 0"
POSITIVE = "must be greater than zero"
IMMUTABLE = "field is immutable"
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
MAX_INT32 = 2**31 - 1
_LOCAL_MULTICAST = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def one_of(path: Path, value: str | None, supported: Sequence[str]) -> Errors:
    """Return an error unless ``value`` is one of ``supported``, None or empty (see ``required_one_of``)."""
    if not value or value in supported:
        return []
    return [fields.not_supported(path, value, supported)]


def one_of_if_set(path: Path, value: str | None, supported: Sequence[str]) -> Errors:
    """Check as ``one_of`` does, for a pointer upstream: only None is unset, the empty string is a value."""
    return [] if value is None or value in supported else [fields.not_supported(path, value, supported)]


def required_one_of(path: Path, value: str | None, supported: Sequence[str]) -> Errors:
    """Check as ``one_of`` does, and require a value."""
    return one_of(path, value, supported) if value else [fields.required(path)]


def non_negative(path: Path, value: int | None) -> Errors:
    return [fields.invalid(path, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def within(path: Path, value: int | None, low: int, high: int) -> Errors:
    if value is None or low <= value <= high:
        return []
    return [fields.invalid(path, value, names.inclusive_range_error(low, high))]


def port_number(path: Path, value: int | None) -> Errors:
    return within(path, value, 1, 65535)


def port_or_name(path: Path, value: int | str | None) -> Errors:
    """Check a target port: a number, or the name of a container's port."""
    if isinstance(value, str):
        return fields.invalid_each(path, value, names.port_name_errors(value))
    return port_number(path, value or 0)


def file_mode(path: Path, value: int | None) -> Errors:
    return [fields.invalid(path, value, FILE_MODE)] if value is not None and not 0 <= value <= 0o777 else []


def numeric_id(path: Path, value: int | None) -> Errors:
    """Check a user or group ID."""
    return within(path, value, 0, MAX_INT32)


def dns_label(path: Path, value: str) -> Errors:
    return fields.invalid_each(path, value, names.dns_label_errors(value))


def dns_subdomain(path: Path, value: str) -> Errors:
    return fields.invalid_each(path, value, names.dns_subdomain_errors(value))


def label_name(path: Path, key: str) -> Errors:
    """Check a label's key; topology keys, resource names and condition types have the same format."""
    return fields.invalid_each(path, key, names.qualified_name_errors(key))


def ip(path: Path, value: str, known: Container[str] = ()) -> Errors:
    """Check an IP address. Addresses in ``known``, those of the stored object, stay valid."""
    return [] if value in known else fields.invalid_each(path, value, names.ip_errors(value))


def fraction_warnings(path: Path, resources: Mapping[str, str], resource_names: Sequence[str]) -> list[str]:
    """Return a warning for each of ``resource_names`` that is a fraction of a byte."""
    found: list[str] = []
    for name in resource_names:
        if name in resources and (value := parse(resources[name])).milli_value % 1000:
            text = f'fractional byte value "{value}" is invalid, must be an integer'
            found.append(f"{path.key(name)}: {text}")
    return found


def ordinary_ip(path: Path, value: str) -> Errors:
    """Return errors for an unspecified, loopback, link-local or link-local multicast address."""
    parsed = names.parse_ip(value)
    if parsed is None:
        return [fields.invalid(path, value, "must be a valid IP address")]
    problems = (
        (parsed.is_unspecified, f"may not be unspecified ({value})"),
        (parsed.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (parsed.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            parsed in _LOCAL_MULTICAST[parsed.version],
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return [fields.invalid(path, value, text) for wrong, text in problems if wrong]


def domain_prefixed_path(path: Path, value: str) -> Errors:
    """Check a ``domain/path``: the name of a controller, or of a Job's manager."""
    host, _, rest = value.partition("/")
    if not value:
        return [fields.required(path)]
    if not host or not rest:
        return [fields.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return dns_subdomain(path, host) + fields.invalid_each(path, rest, names.http_path_errors(rest))


def cidr(path: Path, value: str, known: Container[str] = ()) -> Errors:
    """Check a CIDR. Those in ``known``, the CIDRs of the stored object, stay valid."""
    return [] if value in known else fields.invalid_each(path, value, names.cidr_errors(value))


def immutable(path: Path, new: Any, old: Any) -> Errors:
    return [fields.invalid(path, new, IMMUTABLE)] if new != old else []


def error_of_whole_object(error: FieldError) -> FieldError:
    """Return ``error`` with the path that Kubernetes reports for errors about no single field."""
    return replace(error, field="[]")


def no_backsteps(path: Path, value: str) -> Errors:
    """Return an error if an element of a file path is ``..``."""
    return [fields.invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def local_descending_path(path: Path, value: str) -> Errors:
    """Check a relative file path that must stay below its start."""
    errors = [fields.invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + no_backsteps(path, value)


def local_file_path(path: Path, value: str) -> Errors:
    """Check as ``local_descending_path`` does, and refuse names like the volume's own ``..data`` links."""
    errors = local_descending_path(path, value)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(fields.invalid(path, value, "must not start with '..'"))
    return errors


def int_or_percent(path: Path, value: int | str | None) -> Errors:
    """Check a non-negative number or a percentage such as ``25%``."""
    if value is None:
        return []
    if isinstance(value, str):
        return fields.invalid_each(path, value, names.percent_errors(value))
    return non_negative(path, value)


def template_metadata(path: Path, metadata: ObjectMeta) -> Errors:
    """Check a template's metadata: labels and annotations, and no other fields."""
    errors = label_checks.annotation_map(path.child("annotations"), metadata.annotations)
    errors += label_checks.labels(path.child("labels"), metadata.labels)
    given = [
        spelled
        for name, spelled in zip(metadata.__struct_fields__, metadata.__struct_encode_fields__, strict=True)
        if name not in ("annotations", "labels") and getattr(metadata, name)
    ]
    return errors + [fields.forbidden(path.child(name), "cannot be set") for name in given]
