"""Validation of a Service's cluster IPs and IP families.

The first address and its family never change; a second one may be added and removed. Only a change of type
from or to ``ExternalName`` changes them all.

Upstream: ``ValidateServiceClusterIPsRelatedFields``, ``validateUpgradeDowngradeClusterIPs`` and
``validateUpgradeDowngradeIPFamilies`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from podling.api.core_v1 import ServiceSpec
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
HEADLESS = "None"
FAMILIES = ("IPv4", "IPv6")
FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
EXTERNAL_NAME = "ExternalName"
_ONCE = "may not change once set"


def is_headless(spec: ServiceSpec) -> bool:
    return spec.cluster_ip == HEADLESS or spec.cluster_ips[:1] == (HEADLESS,)


def address_errors(spec: ServiceSpec, known: Container[str] = ()) -> Errors:
    """Return the errors in the addresses. Those in ``known``, of the stored Service, stay valid."""
    if spec.type == EXTERNAL_NAME:
        return []
    errors = _synchrony_errors(spec)
    path = SPEC.child("ipFamilies")
    for position, family in enumerate(spec.ip_families):
        here = path.index(position)
        errors += [] if family in FAMILIES else [fields.not_supported(here, family, FAMILIES)]
        errors += [fields.duplicate(here, family)] if family in spec.ip_families[:position] else []
    errors += checks.one_of(SPEC.child("ipFamilyPolicy"), spec.ip_family_policy, FAMILY_POLICIES)
    return errors + _list_errors(spec, known)


def _synchrony_errors(spec: ServiceSpec) -> Errors:
    """Return an error unless ``clusterIP`` is the first of ``clusterIPs``."""
    path, first, addresses = SPEC.child("clusterIPs"), spec.cluster_ip, spec.cluster_ips
    if not first:
        text = "must be empty when `clusterIP` is not specified"
        return [fields.invalid(path, addresses, text)] if addresses else []
    if not addresses:
        return [fields.required(path)]
    if addresses[0] != first:
        return [fields.invalid(path, addresses, "first value must match `clusterIP`")]
    return []


def _list_errors(spec: ServiceSpec, known: Container[str]) -> Errors:
    path, addresses = SPEC.child("clusterIPs"), spec.cluster_ips
    errors: Errors = []
    bad = False
    for position, address in enumerate(addresses):
        if position == 0 and address == HEADLESS:
            if len(addresses) > 1:
                bad = True
                text = "'None' must be the first and only value"
                errors.append(fields.invalid(path, addresses, text))
            continue
        found = checks.ip(path.index(position), address, known)
        bad = bad or bool(found)
        errors += found
    if len(addresses) > 2:
        errors.append(fields.invalid(path, addresses, "may only hold up to 2 values"))
    if bad:
        return errors  # further errors would only follow from this one
    versions = [family_of(address) for address in addresses]
    if len(addresses) > 1 and set(versions) != set(FAMILIES):
        errors.append(fields.invalid(path, addresses, "may specify no more than one IP for each IP family"))
    if is_headless(spec):
        return errors
    for position, (family, version) in enumerate(zip(spec.ip_families, versions, strict=False)):
        if family != version and family in FAMILIES:
            text = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
            errors.append(fields.invalid(path.index(position), addresses[position], text))
    return errors


def family_of(address: str) -> str:
    parsed = names.parse_ip(address)
    return f"IPv{parsed.version}" if parsed is not None else ""


def address_change_errors(new: ServiceSpec, old: ServiceSpec) -> Errors:
    if EXTERNAL_NAME in (new.type, old.type):
        return []
    errors = _address_list_errors(new, old)
    if is_headless(new) or is_headless(old):
        return errors  # without addresses, families may change
    return errors + _family_list_errors(new, old)


def _address_list_errors(new: ServiceSpec, old: ServiceSpec) -> Errors:
    path, before, after = SPEC.child("clusterIPs"), old.cluster_ips, new.cluster_ips
    if len(before) == len(after):
        return [
            fields.invalid(path.index(position), after, _ONCE)
            for position, value in enumerate(before)
            if value != after[position]
        ]
    errors: Errors = []
    if not after:
        errors.append(fields.invalid(path.index(0), after, "primary clusterIP can not be unset"))
    if before and after and before[0] != after[0]:
        errors.append(fields.invalid(path.index(0), after, _ONCE))
    return errors + _release_errors("clusterIP", new, before, after)


def _family_list_errors(new: ServiceSpec, old: ServiceSpec) -> Errors:
    """Return the errors in changed families.

    As in Kubernetes, all errors name the first family, and some show addresses.
    """
    where, before, after = SPEC.child("ipFamilies").index(0), old.ip_families, new.ip_families
    if len(before) == len(after):
        changed = sum(a != b for a, b in zip(before, after, strict=True))
        return [fields.invalid(where, after, _ONCE)] * changed
    errors: Errors = []
    if len(before) > len(after) and not new.cluster_ips:
        errors.append(fields.invalid(where, after, "primary ipFamily can not be unset"))
    if before and after and before[0] != after[0]:
        errors.append(fields.invalid(where, new.cluster_ips, _ONCE))
    return errors + _release_errors("ipFamily", new, before, after)


def _release_errors(noun: str, new: ServiceSpec, before: Sequence[str], after: Sequence[str]) -> Errors:
    if not len(before) > len(after) == 1 or new.ip_family_policy == "SingleStack":
        return []
    text = f"must be set to 'SingleStack' when releasing the secondary {noun}"
    return [fields.invalid(SPEC.child("ipFamilyPolicy"), new.ip_family_policy, text)]
