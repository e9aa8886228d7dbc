"""Choice of a Service's IP families from its spec and the families of the cluster.

A Service gets one family by default. One with neither address nor selector is a list of endpoints that a
client manages, and may have both.

Upstream: ``initIPFamilyFields`` in ``pkg/registry/core/service/storage/alloc.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import ServiceSpec
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_empty
from podling.apiserver.kinds.networking.service_addresses import (
    EXTERNAL_NAME,
    FAMILIES,
    HEADLESS,
    SPEC,
    address_errors,
    family_of,
)
from podling.machinery import fields

SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
_POLICY = SPEC.child("ipFamilyPolicy")
_BOTH = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"


def with_families(
    spec: ServiceSpec, old: ServiceSpec | None, configured: Sequence[str]
) -> tuple[ServiceSpec, Errors]:
    """Return ``spec`` with its families and their policy, and the errors.

    Args:
        old: the stored spec, if the Service exists.
        configured: the families of the cluster, the default first.
    """
    if spec.type == EXTERNAL_NAME or is_unchanged_preference(spec, old):
        return spec, []
    spec = fill_empty(spec, ip_family_policy=_policy(spec, old))
    errors = address_errors(spec)
    if errors:
        return spec, errors
    if old is not None:
        spec, errors = _release_second(spec, old)
    errors += _count_errors(spec)
    spec, problems = _infer_families(spec, configured)
    errors += problems
    if errors:
        return spec, errors
    if _is_headless_without_selector(spec):
        return _headless_families(spec, configured), []
    errors = _configuration_errors(spec, configured)
    if errors:
        return spec, errors
    spec = fill_empty(spec, ip_families=(configured[0],))
    return _add_second_family(spec, configured), []


def is_unchanged_preference(spec: ServiceSpec, old: ServiceSpec | None) -> bool:
    """Return whether a ``PreferDualStack`` Service was already assigned its families and did not change.

    Such a Service neither gains nor loses an address when the cluster gains or loses a family. A change of
    its type assigns its families anew (upstream: ``isMatchingPreferDualStackClusterIPFields``).
    """
    return (
        old is not None
        and spec.type == old.type
        and spec.ip_family_policy == old.ip_family_policy == PREFER
        and (spec.cluster_ips, spec.ip_families) == (old.cluster_ips, old.ip_families)
    )


def _is_headless_without_selector(spec: ServiceSpec) -> bool:
    """Return whether a Service is headless and without selector."""
    return spec.cluster_ip == HEADLESS and not spec.selector


def _policy(spec: ServiceSpec, old: ServiceSpec | None) -> str:
    if old is not None and old.ip_family_policy:
        return old.ip_family_policy
    return REQUIRE if _is_headless_without_selector(spec) else SINGLE


def _release_second(spec: ServiceSpec, old: ServiceSpec) -> tuple[ServiceSpec, Errors]:
    """Return ``spec`` without the second address and family under ``SingleStack``, and the errors."""
    if spec.ip_family_policy == SINGLE:
        if spec.cluster_ips == old.cluster_ips:
            spec = change(spec, cluster_ips=spec.cluster_ips[:1])
        if spec.ip_families == old.ip_families:
            spec = change(spec, ip_families=spec.ip_families[:1])
        return spec, []
    errors: Errors = []
    for noun, after, before in (
        ("cluster IP", spec.cluster_ips, old.cluster_ips),
        ("IP family", spec.ip_families, old.ip_families),
    ):
        if 0 < len(after) < len(before):
            text = f"must be 'SingleStack' to release the secondary {noun}"
            errors.append(fields.invalid(_POLICY, spec.ip_family_policy, text))
    return spec, errors


def _count_errors(spec: ServiceSpec) -> Errors:
    if spec.ip_family_policy != SINGLE:
        return []
    return [
        fields.invalid(_POLICY, SINGLE, _BOTH.format(noun))
        for noun, values in (("cluster IPs", spec.cluster_ips), ("IP families", spec.ip_families))
        if len(values) == 2
    ]


def _infer_families(spec: ServiceSpec, configured: Sequence[str]) -> tuple[ServiceSpec, Errors]:
    """Return ``spec`` with the families of its requested addresses."""
    errors: Errors = []
    families = list(spec.ip_families)
    for position, address in enumerate(spec.cluster_ips):
        if address == HEADLESS:
            break
        if position < len(spec.ip_families):
            continue
        family = family_of(address)
        if family in configured:
            families.append(family)
        else:
            text = f"{family} is not configured on this cluster"
            errors.append(fields.invalid(SPEC.child("clusterIPs").index(position), spec.cluster_ips, text))
    return change(spec, ip_families=tuple(families)) if families else spec, errors


def _headless_families(spec: ServiceSpec, configured: Sequence[str]) -> ServiceSpec:
    """Return ``spec`` with families for a headless Service without selector.

    The cluster need not have them, because it does not assign the addresses.
    """
    return _add_second_family(fill_empty(spec, ip_families=(configured[0],)), FAMILIES)


def _add_second_family(spec: ServiceSpec, available: Sequence[str]) -> ServiceSpec:
    """Return ``spec`` with a second family, if the policy wants one and it is available."""
    if spec.ip_family_policy == SINGLE or len(spec.ip_families) != 1 or len(available) < 2:
        return spec
    other = next(family for family in FAMILIES if family != spec.ip_families[0])
    return change(spec, ip_families=(*spec.ip_families, other))


def _configuration_errors(spec: ServiceSpec, configured: Sequence[str]) -> Errors:
    errors: Errors = []
    if spec.ip_family_policy == REQUIRE and len(configured) < 2:
        text = "this cluster is not configured for dual-stack services"
        errors.append(fields.invalid(_POLICY, REQUIRE, text))
    return errors + [
        fields.invalid(SPEC.child("ipFamilies").index(position), family, "not configured on this cluster")
        for position, family in enumerate(spec.ip_families)
        if family not in configured
    ]
