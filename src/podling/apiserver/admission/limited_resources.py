"""Resources that may be consumed only where a quota covers them. Pure.

``limitedResources`` of the ResourceQuota plugin's configuration names them: parts of the names of what is
consumed, and scopes of objects. Upstream: ``CheckRequest`` in
``staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import ResourceQuota, ScopedResourceSelectorRequirement
from podling.apiserver.admission.base import AdmissionRequest
from podling.apiserver.admission.configuration.types import LimitedResource
from podling.machinery import errors, quotas
from podling.machinery.pods import Resources
from podling.machinery.quantity import ZERO


def check_covered(
    request: AdmissionRequest,
    limited: Sequence[LimitedResource],
    usage: Resources,
    found: Sequence[ResourceQuota],
    concerned: Sequence[ResourceQuota],
) -> None:
    """Refuse a request that consumes something limited which no quota covers. Raises ``ApiError``.

    ``usage`` is that of the whole object, ``found`` are all quotas of the namespace, ``concerned`` those in
    whose scope the object is.
    """
    covered = {name for quota in concerned for name in quota.spec.hard}
    uncovered = limited_names(request, limited, usage) - covered
    if uncovered:
        raise request.forbidden(f"insufficient quota to consume: {','.join(sorted(uncovered))}")
    scopes = {
        scope.scope_name
        for quota in found
        for scope in quotas.scopes_of(quota.spec)
        if quotas.matches_scope(scope, request.object)
    }
    missing = [
        scope
        for each in limited
        for scope in each.match_scopes
        if scope.scope_name not in scopes and quotas.matches_scope(scope, request.object)
    ]
    if missing:
        # Upstream wraps this error in no status, so that clients get it with the code 500 and as it is.
        text = f"insufficient quota to match these scopes: [{' '.join(map(_in_go, missing))}]"
        raise errors.failure(500, "", text)


def limited_names(
    request: AdmissionRequest, limited: Sequence[LimitedResource], usage: Resources
) -> set[str]:
    """Return the names of what the object consumes that are limited."""
    resource = request.resource
    parts = [
        part
        for each in limited
        if (each.api_group, each.resource) == (resource.group, resource.plural)
        for part in each.match_contains
    ]
    return {name for name, amount in usage.items() if amount > ZERO and any(part in name for part in parts)}


def _in_go(scope: ScopedResourceSelectorRequirement) -> str:
    return f"{{{scope.scope_name} {scope.operator} [{' '.join(scope.values)}]}}"
