"""Which families of addresses a Service gets, from what its writer says and what the cluster has.

A Service without a word on it has one family. One that has neither an address nor a selector is a list of
addresses that somebody else keeps, and may be of both.

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
    """``spec`` with its families and their policy, and what stands against them.

    Args:
        old: what is stored, if the Service exists.
        configured: the families that the cluster has addresses of, the default first.
    """
    if spec.type == EXTERNAL_NAME or _stays_as_preferred(spec, old):
        return spec, []
    spec = fill_empty(spec, ip_family_policy=_policy(spec, old))
    errors = address_errors(spec)
    if errors:
        return spec, errors
    if old is not None:
        spec, errors = _released(spec, old)
    errors += _too_many(spec)
    spec, problems = _inferred(spec, configured)
    errors += problems
    if errors:
        return spec, errors
    if _is_bare(spec):
        return _for_a_bare_one(spec, configured), []
    errors = _unconfigured(spec, configured)
    if errors:
        return spec, errors
    spec = fill_empty(spec, ip_families=(configured[0],))
    return _completed(spec, configured), []


def _stays_as_preferred(spec: ServiceSpec, old: ServiceSpec | None) -> bool:
    """Whether a preference was once met as well as it could be, and nobody asks for anything else."""
    return (
        old is not None
        and spec.ip_family_policy == old.ip_family_policy == PREFER
        and (spec.cluster_ips, spec.ip_families) == (old.cluster_ips, old.ip_families)
    )


def _is_bare(spec: ServiceSpec) -> bool:
    """Neither address nor selector."""
    return spec.cluster_ip == HEADLESS and not spec.selector


def _policy(spec: ServiceSpec, old: ServiceSpec | None) -> str:
    if old is not None and old.ip_family_policy:
        return old.ip_family_policy
    return REQUIRE if _is_bare(spec) else SINGLE


def _released(spec: ServiceSpec, old: ServiceSpec) -> tuple[ServiceSpec, Errors]:
    """The second address and family go when the policy says so, and only then."""
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


def _too_many(spec: ServiceSpec) -> Errors:
    if spec.ip_family_policy != SINGLE:
        return []
    return [
        fields.invalid(_POLICY, SINGLE, _BOTH.format(noun))
        for noun, values in (("cluster IPs", spec.cluster_ips), ("IP families", spec.ip_families))
        if len(values) == 2
    ]


def _inferred(spec: ServiceSpec, configured: Sequence[str]) -> tuple[ServiceSpec, Errors]:
    """The families of addresses that were asked for without naming their family."""
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


def _for_a_bare_one(spec: ServiceSpec, configured: Sequence[str]) -> ServiceSpec:
    """Its families need not be the cluster's: the addresses are not."""
    return _completed(fill_empty(spec, ip_families=(configured[0],)), FAMILIES)


def _completed(spec: ServiceSpec, available: Sequence[str]) -> ServiceSpec:
    """The other family beside the first, if it is wanted and there is one."""
    if spec.ip_family_policy == SINGLE or len(spec.ip_families) != 1 or len(available) < 2:
        return spec
    other = next(family for family in FAMILIES if family != spec.ip_families[0])
    return change(spec, ip_families=(*spec.ip_families, other))


def _unconfigured(spec: ServiceSpec, configured: Sequence[str]) -> Errors:
    errors: Errors = []
    if spec.ip_family_policy == REQUIRE and len(configured) < 2:
        text = "this cluster is not configured for dual-stack services"
        errors.append(fields.invalid(_POLICY, REQUIRE, text))
    return errors + [
        fields.invalid(SPEC.child("ipFamilies").index(position), family, "not configured on this cluster")
        for position, family in enumerate(spec.ip_families)
        if family not in configured
    ]
