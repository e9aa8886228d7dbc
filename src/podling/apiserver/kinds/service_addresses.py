"""Validation of a Service's addresses inside the cluster, and of the families they belong to.

The first address and its family stay for ever; a second may come and go. Only the way from and to
``ExternalName`` changes them all.

Upstream: ``ValidateServiceClusterIPsRelatedFields``, ``validateUpgradeDowngradeClusterIPs`` and
``validateUpgradeDowngradeIPFamilies`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import ServiceSpec
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
HEADLESS = "None"
FAMILIES = ("IPv4", "IPv6")
FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
EXTERNAL_NAME = "ExternalName"


def is_headless(spec: ServiceSpec) -> bool:
    return spec.cluster_ip == HEADLESS or spec.cluster_ips[:1] == (HEADLESS,)


def address_errors(spec: ServiceSpec) -> Errors:
    if spec.type == EXTERNAL_NAME:
        return []
    errors = _synchrony_errors(spec)
    path = SPEC.child("ipFamilies")
    for position, family in enumerate(spec.ip_families):
        here = path.index(position)
        errors += [] if family in FAMILIES else [fields.not_supported(here, family, FAMILIES)]
        errors += [fields.duplicate(here, family)] if family in spec.ip_families[:position] else []
    errors += checks.one_of(SPEC.child("ipFamilyPolicy"), spec.ip_family_policy, FAMILY_POLICIES)
    return errors + _list_errors(spec)


def _synchrony_errors(spec: ServiceSpec) -> Errors:
    """``clusterIP`` is the first of ``clusterIPs``."""
    path, first, addresses = SPEC.child("clusterIPs"), spec.cluster_ip, spec.cluster_ips
    if not first:
        text = "must be empty when `clusterIP` is not specified"
        return [fields.invalid(path, addresses, text)] if addresses else []
    if not addresses:
        return [fields.required(path)]
    if addresses[0] != first:
        return [fields.invalid(path, addresses, "first value must match `clusterIP`")]
    return []


def _list_errors(spec: ServiceSpec) -> Errors:
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
        found = checks.ip(path.index(position), address)
        bad = bad or bool(found)
        errors += found
    if len(addresses) > 2:
        errors.append(fields.invalid(path, addresses, "may only hold up to 2 values"))
    if bad:
        return errors  # what follows would only confuse
    versions = [_family(address) for address in addresses]
    if len(addresses) > 1 and set(versions) != set(FAMILIES):
        errors.append(fields.invalid(path, addresses, "may specify no more than one IP for each IP family"))
    if is_headless(spec):
        return errors
    for position, (family, version) in enumerate(zip(spec.ip_families, versions, strict=False)):
        if family != version and family in FAMILIES:
            text = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
            errors.append(fields.invalid(path.index(position), addresses[position], text))
    return errors


def _family(address: str) -> str:
    parsed = names.parse_ip(address)
    return f"IPv{parsed.version}" if parsed is not None else ""


def address_change_errors(new: ServiceSpec, old: ServiceSpec) -> Errors:
    if EXTERNAL_NAME in (new.type, old.type):
        return []
    errors = _list_change_errors("clusterIPs", "clusterIP", new.cluster_ips, old.cluster_ips, new)
    return errors + _list_change_errors("ipFamilies", "ipFamily", new.ip_families, old.ip_families, new)


def _list_change_errors(
    field: str, noun: str, after: tuple[str, ...], before: tuple[str, ...], new: ServiceSpec
) -> Errors:
    path = SPEC.child(field)
    if len(before) == len(after):
        return [
            fields.invalid(path.index(position), after, "may not change once set")
            for position, value in enumerate(before)
            if value != after[position]
        ]
    errors: Errors = []
    if before and not after:
        errors.append(fields.invalid(path.index(0), after, f"primary {noun} can not be unset"))
    if before and after and before[0] != after[0]:
        errors.append(fields.invalid(path.index(0), after, "may not change once set"))
    released = len(before) > len(after) == 1
    if released and new.ip_family_policy != "SingleStack":
        text = f"must be set to 'SingleStack' when releasing the secondary {noun}"
        errors.append(fields.invalid(SPEC.child("ipFamilyPolicy"), new.ip_family_policy, text))
    return errors
