"""Requests, selectors and configuration of devices, in claims and classes.

Upstream: ``pkg/apis/resource/validation``, ``pkg/apis/resource/v1/defaults.go``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from podling.api.resource_v1 import (
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    OpaqueDeviceConfiguration,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.expressions import expression_errors
from podling.apiserver.kinds.common.filling import change, fill_empty, map_items
from podling.apiserver.kinds.pod.volume_sources import driver_name_errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

MAX_ITEMS = 32
"""The maximum number of requests, constraints, configurations and selectors each."""

MAX_ALTERNATIVES = 8
LONGEST_EXPRESSION = 10 * 1024
LONGEST_PARAMETERS = 10 * 1024
LONGEST_IDENTIFIER = 32
MODES = ("All", "ExactCount")
EFFECTS = ("NoExecute", "NoSchedule", "None")
OPERATORS = ("Equal", "Exists")

_NOT_A_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
T = TypeVar("T")
R = TypeVar("R", ExactDeviceRequest, DeviceSubRequest)


def list_errors(path: Path, items: Sequence[T], most: int, check: Callable[[Path, T], Errors]) -> Errors:
    """Return the errors of ``check`` for each item, and an error for more than ``most`` items."""
    if len(items) > most:
        return [fields.too_many(path, len(items), most)]
    return [error for position, item in enumerate(items) for error in check(path.index(position), item)]


def duplicate_errors(path: Path, keys: Iterable[str]) -> Errors:
    seen: set[str] = set()
    errors: Errors = []
    for position, key in enumerate(keys):
        errors += [fields.duplicate(path.index(position), key)] if key in seen else []
        seen.add(key)
    return errors


def default_claim(claim: DeviceClaim) -> DeviceClaim:
    def default_request(request: DeviceRequest) -> DeviceRequest:
        if request.exactly is not None:
            request = change(request, exactly=_default_request(request.exactly))
        return change(request, first_available=map_items(request.first_available, _default_request))

    return change(claim, requests=map_items(claim.requests, default_request))


def _default_request(request: R) -> R:
    request = fill_empty(request, allocation_mode="ExactCount")
    if request.allocation_mode == "ExactCount":
        request = fill_empty(request, count=1)
    tolerations = map_items(request.tolerations, lambda toleration: fill_empty(toleration, operator="Equal"))
    return change(request, tolerations=tolerations)


def claim_errors(path: Path, claim: DeviceClaim) -> Errors:
    known = _request_names(claim)
    here = path.child("requests")
    errors = list_errors(here, claim.requests, MAX_ITEMS, _request_errors)
    errors += duplicate_errors(here, (request.name for request in claim.requests))

    def constraint(where: Path, item: DeviceConstraint) -> Errors:
        return _constraint_errors(where, item, known)

    def configuration(where: Path, item: DeviceClaimConfiguration) -> Errors:
        found = _reference_errors(where.child("requests"), item.requests, known)
        return found + configuration_errors(where, item.opaque)

    errors += list_errors(path.child("constraints"), claim.constraints, MAX_ITEMS, constraint)
    return errors + list_errors(path.child("config"), claim.config, MAX_ITEMS, configuration)


def _request_names(claim: DeviceClaim) -> set[str]:
    alternatives = {
        f"{request.name}/{each.name}" for request in claim.requests for each in request.first_available
    }
    return alternatives | {request.name for request in claim.requests}


def _request_errors(path: Path, request: DeviceRequest) -> Errors:
    errors = checks.dns_label(path.child("name"), request.name)
    exact, alternatives = request.exactly, request.first_available
    text = "exactly one of `exactly` or `firstAvailable` is required"
    if exact is None and not alternatives:
        errors.append(fields.required(path, text))
    elif exact is not None and alternatives:
        errors.append(fields.invalid(path, None, f"{text}, but multiple fields are set"))
    elif exact is not None:
        errors += _device_errors(path.child("exactly"), exact)
    else:
        here = path.child("firstAvailable")
        errors += list_errors(here, alternatives, MAX_ALTERNATIVES, _alternative_errors)
        errors += duplicate_errors(here, (alternative.name for alternative in alternatives))
    return errors


def _alternative_errors(path: Path, request: DeviceSubRequest) -> Errors:
    return checks.dns_label(path.child("name"), request.name) + _device_errors(path, request)


def _device_errors(path: Path, request: ExactDeviceRequest | DeviceSubRequest) -> Errors:
    where, name = path.child("deviceClassName"), request.device_class_name
    errors = checks.dns_subdomain(where, name) if name else [fields.required(where)]
    errors += list_errors(path.child("selectors"), request.selectors, MAX_ITEMS, selector_errors)
    where, count, mode = path.child("count"), request.count or 0, request.allocation_mode or ""
    if mode == "All" and count:
        text = f"must not be specified when allocationMode is '{mode}'"
        errors.append(fields.invalid(where, count, text))
    elif mode == "ExactCount" and count <= 0:
        errors.append(fields.invalid(where, count, "must be greater than zero"))
    elif mode not in MODES:
        errors.append(fields.not_supported(path.child("allocationMode"), mode, MODES))
    for position, toleration in enumerate(request.tolerations):
        errors += _toleration_errors(path.child("tolerations").index(position), toleration)
    return errors


def selector_errors(path: Path, selector: DeviceSelector) -> Errors:
    if selector.cel is None:
        return [fields.required(path.child("cel"))]
    where, text = path.child("cel", "expression"), selector.cel.expression
    if len(text.encode()) > LONGEST_EXPRESSION:
        return [fields.too_long(where, LONGEST_EXPRESSION)]
    return expression_errors(where, text)


def _toleration_errors(path: Path, toleration: DeviceToleration) -> Errors:
    errors = checks.label_name(path.child("key"), toleration.key) if toleration.key else []
    where, value = path.child("value"), toleration.value or ""
    if toleration.operator == "Exists":
        if value:
            errors.append(fields.invalid(where, value, "must be empty for operator `Exists`"))
    elif toleration.operator == "Equal":
        errors += fields.invalid_each(where, value, names.label_value_errors(value))
    else:
        errors += checks.required_one_of(path.child("operator"), toleration.operator, OPERATORS)
    return errors + checks.one_of(path.child("effect"), toleration.effect, EFFECTS)


def _constraint_errors(path: Path, constraint: DeviceConstraint, known: set[str]) -> Errors:
    errors = _reference_errors(path.child("requests"), constraint.requests, known)
    if constraint.match_attribute is not None:
        return errors + _full_name_errors(path.child("matchAttribute"), constraint.match_attribute)
    if constraint.distinct_attribute is not None:
        return errors + _full_name_errors(path.child("distinctAttribute"), constraint.distinct_attribute)
    text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    return [*errors, fields.required(path, text)]


def _reference_errors(path: Path, references: Sequence[str], known: set[str]) -> Errors:
    """Return the errors in references: ``request`` or ``request/alternative``."""

    def check(where: Path, name: str) -> Errors:
        segments = name.split("/")
        errors: Errors = []
        if len(segments) <= 2:
            for segment in segments:
                errors += checks.dns_label(where, segment)
        return errors if name in known else [*errors, fields.invalid(where, name, _NOT_A_REQUEST)]

    return list_errors(path, references, MAX_ITEMS, check) + duplicate_errors(path, references)


def configuration_errors(path: Path, opaque: OpaqueDeviceConfiguration | None) -> Errors:
    here = path.child("opaque")
    if opaque is None:
        return [fields.required(here)]
    errors = driver_name_errors(here.child("driver"), opaque.driver)
    return errors + raw_errors(here.child("parameters"), opaque.parameters, LONGEST_PARAMETERS)


def raw_errors(path: Path, value: Any, longest: int) -> Errors:
    """Return the errors in a JSON object whose content this API does not validate."""
    if value is None:
        return [fields.required(path)]
    if len(json.dumps(value, separators=(",", ":")).encode()) > longest:
        return [fields.too_long(path, longest)]
    if not isinstance(value, dict):
        return [fields.invalid(path, "<value omitted>", "must be a valid JSON object")]
    return []


def _full_name_errors(path: Path, name: str) -> Errors:
    errors = attribute_name_errors(path, name)
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(fields.invalid(path, name, text))
    return errors


def attribute_name_errors(path: Path, name: str) -> Errors:
    """Return the errors in an attribute's or capacity's name: an identifier with an optional domain."""
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier_errors(path, name)
    if len(parts) > 2:
        return []  # Kubernetes accepts these
    domain, identifier = parts
    errors: Errors = []
    if domain:
        errors += driver_name_errors(path, domain)
    else:
        errors.append(fields.invalid(path, "", "the domain must not be empty"))
    if not identifier:
        return [*errors, fields.invalid(path, "", "the name must not be empty")]
    return errors + _identifier_errors(path, identifier)


def _identifier_errors(path: Path, name: str) -> Errors:
    errors = [fields.too_long(path, LONGEST_IDENTIFIER)] if len(name.encode()) > LONGEST_IDENTIFIER else []
    return errors + fields.invalid_each(path, name, names.c_identifier_errors(name))
