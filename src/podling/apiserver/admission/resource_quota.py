"""ResourceQuota: a namespace's objects together stay below what its quotas allow.

Kubernetes counts in the quota's status and reserves by writing it; plugins here do not write, so what is
used is counted each time from the stored objects, and from the creations and updates that were admitted and
are about to be stored.

The plugin's configuration may limit resources that may then be consumed only where a quota covers them.

Upstream: ``staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podling.api.core_v1 import Pod, ResourceQuota
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Rounds
from podling.apiserver.admission.configuration.types import ResourceQuotaConfiguration
from podling.apiserver.admission.limited_resources import check_covered
from podling.client.base import ApiObject
from podling.machinery import quotas
from podling.machinery.pods import Resources
from podling.machinery.quantity import ZERO, Quantity, parse
from podling.machinery.scheme import Resource

_MAY_GROW = {("pods", ""), ("pods", "resize"), ("services", ""), ("persistentvolumeclaims", "")}
"""Core resources and subresources through which an existing object may come to use more, or under other
quotas: a pod that gets a deadline comes under those with the scope ``Terminating``."""


class ResourceQuotaAdmission(Plugin):
    name = "ResourceQuota"
    acts_on: type[ApiObject] | None = ResourceQuota

    def __init__(self, configuration: ResourceQuotaConfiguration | None = None) -> None:
        self._limited = configuration.limited_resources if configuration is not None else ()
        if self._limited:
            self.acts_on = None  # what is limited needs a quota where there is none
        self._deciding = asyncio.Lock()
        self._promised: dict[Rounds, AdmissionRequest] = {}
        """Usage that was admitted and is not stored yet."""

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if not resource.namespaced or not resource.stored:
            return False
        if operation is Operation.CREATE:
            return not subresource
        return (
            operation is Operation.UPDATE
            and not resource.group
            and (resource.plural, subresource) in _MAY_GROW
        )

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        if _is_plain_update(request):
            return
        found = await objects.list(ResourceQuota, request.namespace)
        if not found and not self._limited:
            return
        async with self._deciding:
            await self._check(request, objects, found)
            if not request.dry_run:
                self._promised[request.rounds] = request
                request.releases.append(lambda: self._promised.pop(request.rounds, None))

    async def _check(
        self, request: AdmissionRequest, objects: Objects, found: Sequence[ResourceQuota]
    ) -> None:
        concerned = [quota for quota in found if quotas.in_scope(quota.spec, request.object)]
        for quota in concerned:
            _check_specified(request, quota)
        if self._limited and _uses_more(request, concerned):
            whole = _usage(request, request.object)
            check_covered(request, self._limited, whole, found, concerned)
        for quota in concerned:
            more = _added(request, quota)
            limited = {name: parse(value) for name, value in quota.spec.hard.items() if name in more}
            if not limited:
                continue
            used = await self._used(request, objects, quota, limited)
            broken = quotas.exceeded(limited, used, more)
            if broken:
                raise request.forbidden(
                    f"exceeded quota: {quota.metadata.name}, requested: {_text(broken, more)}, "
                    f"used: {_text(broken, used)}, limited: {_text(broken, limited)}"
                )

    async def _used(
        self, request: AdmissionRequest, objects: Objects, quota: ResourceQuota, limited: Iterable[str]
    ) -> Resources:
        promised = [each for each in self._promised.values() if _counts_with(each, request)]
        stored = await objects.list(request.resource.storage_resource.type, request.namespace)
        known = {obj.metadata.uid: obj.metadata.resource_version for obj in stored} if promised else {}
        counted = [_usage(request, obj) for obj in stored if quotas.in_scope(quota.spec, obj)]
        counted += [
            _positive(_added(each, quota))
            for each in promised
            if quotas.in_scope(quota.spec, each.object) and not _is_settled(each, known)
        ]
        return quotas.total(counted, limited)


def _is_plain_update(request: AdmissionRequest) -> bool:
    """Return whether an update of a pod, other than a resize, leaves it without or with a deadline."""
    if request.resource.plural != "pods" or request.subresource or request.old is None:
        return False
    deadlines = (request.old.spec.active_deadline_seconds, request.object.spec.active_deadline_seconds)
    return (deadlines[0] is None) == (deadlines[1] is None)


def _counts_with(one: AdmissionRequest, other: AdmissionRequest) -> bool:
    same = one.resource.storage_resource is other.resource.storage_resource
    return same and one.namespace == other.namespace and one.rounds is not other.rounds


def _usage(request: AdmissionRequest, obj: Any) -> Resources:
    return quotas.usage(obj, request.resource.plural, request.resource.group, request.now)


def _uses_more(request: AdmissionRequest, concerned: Sequence[ResourceQuota]) -> bool:
    """Return whether the request adds anything to what quotas, or if none concerns it all of them, count."""
    added = [_added(request, quota) for quota in concerned] or [_added(request, None)]
    return any(map(_positive, added))


def _added(request: AdmissionRequest, quota: ResourceQuota | None) -> Resources:
    """Return what the request adds to what is counted against a quota that its object is in scope of."""
    whole = _usage(request, request.object)
    if request.old is None or (quota is not None and not quotas.in_scope(quota.spec, request.old)):
        return whole
    before = _usage(request, request.old)
    return {name: amount - before.get(name, ZERO) for name, amount in whole.items()}


def _positive(amounts: Resources) -> Resources:
    """Leave out what becomes less: it counts until the update is stored."""
    return {name: amount for name, amount in amounts.items() if amount > ZERO}


def _is_settled(promised: AdmissionRequest, known: Mapping[str | None, str | None]) -> bool:
    """Return whether the stored objects show the creation or update, or it will fail because they changed."""
    if promised.old is None:
        return promised.object.metadata.uid in known
    metadata: ObjectMeta = promised.old.metadata
    return known.get(metadata.uid) != metadata.resource_version


def _check_specified(request: AdmissionRequest, quota: ResourceQuota) -> None:
    if not isinstance(request.object, Pod):
        return
    missing = quotas.unspecified(request.object, quota.spec.hard)
    if missing:
        texts = (f"{name} for: {','.join(sorted(who))}" for name, who in missing.items())
        raise request.forbidden(f"failed quota: {quota.metadata.name}: must specify {'; '.join(texts)}")


def _text(names: Iterable[str], amounts: dict[str, Quantity]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)
