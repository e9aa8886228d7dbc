"""The APIServices, the availability of the servers behind them, and the resources that they serve.

Requests are routed by group and version alone. An APIService is checked when it, its Service or the endpoints
change and every half a minute: whether its service has endpoints, and whether the server behind it lists its
resources, which is both the health check and the content of discovery. Conditions are Kubernetes'.
Upstream: ``kube-aggregator/pkg/controllers/status/remote``.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from podling import clock
from podling.api.apiregistration_v1 import APIService, APIServiceCondition, ServiceReference
from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.meta_v1 import APIResourceList
from podling.apiserver.aggregation import openapi_parts
from podling.apiserver.aggregation.backend import Backend, Unavailable
from podling.apiserver.aggregation.local_apis import LocalApi
from podling.apiserver.aggregation.reachability import SERVICE_NAME, unreachable
from podling.apiserver.background_tasks import Selected, changed, keep_at
from podling.client.local import LocalClient
from podling.machinery import errors
from podling.machinery.conditions import with_condition
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.machinery.resource import Resource, Subresource

log = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
AVAILABLE = "Available"
LOCAL = ("True", "Local", "Local APIServices are always available")
PASSED = ("True", "Passed", "all checks passed")


@dataclass(frozen=True, eq=False)
class External:
    """An APIService with a server of its own, as it was last looked at."""

    service: APIService
    available: bool = False
    resources: tuple[Resource, ...] = ()
    document: str = ""
    """The URL of its OpenAPI v3 document, if it has one: below ``/openapi/v3``, there as here."""
    part: bytes = b""
    """The part of its OpenAPI v2 document for the group and version, if any (see ``openapi_parts``)."""

    @property
    def group_version(self) -> tuple[str, str]:
        return self.service.spec.group or "", self.service.spec.version or ""


def with_availability(service: APIService, text: tuple[str, str, str], now: datetime) -> APIService:
    """Return the service with its ``Available`` condition; itself if that says the same already."""
    status, reason, message = text
    new = APIServiceCondition(type=AVAILABLE, status=status, reason=reason, message=message)
    conditions = with_condition(service.status.conditions, new, now)
    if conditions is service.status.conditions:
        return service
    return structs.replace(service, status=structs.replace(service.status, conditions=conditions))


def resources_of(listed: APIResourceList, group: str, version: str) -> tuple[Resource, ...]:
    """Return the resources that a server lists, in the form of discovery. Pure."""
    parts: dict[str, dict[str, Subresource]] = {}
    for each in listed.resources:
        plural, _, part = each.name.partition("/")
        if part:
            own = (each.group or group, each.version or version)
            parts.setdefault(plural, {})[part] = Subresource(part, *own, each.kind, each.verbs)
    return tuple(
        Resource(
            group=group,
            version=version,
            plural=each.name,
            singular=each.singular_name,
            kind=each.kind,
            namespaced=each.namespaced,
            short_names=each.short_names,
            categories=each.categories,
            subresources=parts.get(each.name, {}),
            verbs=each.verbs,
        )
        for each in listed.resources
        if "/" not in each.name
    )


class _Location(Struct):
    url: str = msgspec.field(default="", name="serverRelativeURL")


class _Index(Struct):
    """Return the document of ``/openapi/v3``."""

    paths: dict[str, _Location] = {}


class Aggregation:
    """The APIServices of one server; ``run`` keeps them looked at."""

    def __init__(self, client: LocalClient, backend: Backend) -> None:
        self._client, self.backend = client, backend
        self._externals: dict[tuple[str, str], External] = {}
        self._local: dict[tuple[str, str], LocalApi] = {}
        self._writes = True
        self._resources: tuple[Resource, ...] = ()
        self._stale: tuple[tuple[str, str], ...] = ()

    def resources(self) -> tuple[Resource, ...]:
        """Everything that other servers serve; the same tuple until something changes."""
        return self._resources

    def discovered(self) -> tuple[Resource, ...]:
        """Return those resources, and the ones of local APIs that no other server has taken over."""
        local = [each for name, each in self._local.items() if name not in self._externals]
        return (*self._resources, *(resource for each in local for resource in each.resources))

    def stale(self) -> tuple[tuple[str, str], ...]:
        """Return the groups and versions of the servers that do not answer; the same tuple until one does."""
        return self._stale

    def serve_locally(self, api: LocalApi) -> None:
        """Answer requests for an API here, while no other server does."""
        self._local[api.group, api.version] = api

    def local_versions(self) -> tuple[tuple[str, str], ...]:
        """Return the groups and versions of the local APIs."""
        return tuple(self._local)

    def find_local(self, path: str) -> LocalApi | None:
        """Return the local API that answers ``path``."""
        parts = path.split("/", 4)
        if len(parts) < 4 or parts[1] != "apis":
            return None
        name = parts[2], parts[3]
        return None if name in self._externals else self._local.get(name)

    def find(self, path: str) -> External | None:
        """Return the APIService that answers ``path``."""
        parts = path.split("/", 4)
        if len(parts) < 4 or parts[1] != "apis" or not self._externals:
            return None
        return self._externals.get((parts[2], parts[3]))

    def documents(self) -> dict[str, str]:
        """Return the URLs of the OpenAPI documents that other servers have, by group and version."""
        found = self._externals.values()
        return {f"apis/{'/'.join(each.group_version)}": each.document for each in found if each.document}

    def parts(self) -> tuple[bytes, ...]:
        """Return the parts of other servers' OpenAPI v2 documents for their own groups and versions."""
        return tuple(each.part for each in self._externals.values() if each.part)

    def described_by(self, path: str) -> APIService | None:
        """Return the APIService whose OpenAPI document ``path`` is."""
        if not self._externals or not path.startswith("/openapi/v3/apis/"):
            return None
        group, _, version = path.removeprefix("/openapi/v3/apis/").partition("/")
        found = self._externals.get((group, version))
        return found.service if found is not None and found.document else None

    def service_of(self, resource: Resource) -> APIService:
        """The APIService that ``resource`` is served through. Raises 503 when there is none any more."""
        found = self._externals.get((resource.group, resource.version))
        if found is None:
            raise errors.service_unavailable("service unavailable")
        return found.service

    async def run(self, *, writes: bool = True) -> None:
        """Look after the APIServices until cancelled. Without ``writes`` their conditions are left alone."""
        self._writes = writes
        await keep_at(self._follow, "APIServices", seconds=CHECK_SECONDS)

    async def _follow(self) -> None:
        """Look at all of them, and again when one changes or some time has passed."""
        listing = await self._client.list(APIService)
        found = [await self._looked_at(each) for each in listing.items]
        self._externals = {each.group_version: each for each in found if each is not None}
        self._stale = tuple(name for name, each in self._externals.items() if not each.available)
        resources = tuple(each for external in self._externals.values() for each in external.resources)
        if [_identity(each) for each in resources] != [_identity(each) for each in self._resources]:
            self._resources = resources
        within = CHECK_SECONDS if self._externals else None
        version = listing.resource_version
        await clock.first_of(
            changed(self._client, APIService, version, within=within),
            *(
                self._moved(ref, version)
                for ref in dict.fromkeys(each.service.spec.service for each in self._externals.values())
                if ref is not None and self.backend.needs_endpoint(ref)
            ),
        )

    async def _moved(self, ref: ServiceReference, version: str) -> None:
        """Wait until a Service or its endpoints change after a resource version."""
        name, namespace = ref.name or "", ref.namespace or ""
        service = Selected(namespace, fields=f"metadata.name={name}")
        slices = Selected(namespace, labels=f"{SERVICE_NAME}={name}")
        await clock.first_of(
            changed(self._client, Service, version, within=None, selected=service),
            changed(self._client, EndpointSlice, version, within=None, selected=slices),
        )

    async def _looked_at(self, service: APIService) -> External | None:
        external, text = await self._checked(service)
        shown = with_availability(service, text, clock.now())
        if self._writes and shown is not service:
            try:
                await self._client.update(shown, subresource="status")
            except ApiError as error:
                if not (is_conflict(error) or is_not_found(error)):
                    raise
        return external

    async def _checked(self, service: APIService) -> tuple[External | None, tuple[str, str, str]]:
        ref = service.spec.service
        if ref is None:
            return None, LOCAL
        external = External(service)
        if self.backend.needs_endpoint(ref):
            found = self.backend.service_of(ref)
            problem = unreachable(ref, found, await self.backend.slices_of(ref))
            if problem is not None:
                return external, ("False", *problem)
        group, version = external.group_version
        try:
            body = await self.backend.read(service, f"/apis/{group}/{version}")
            listed = msgspec.json.decode(body, type=APIResourceList)
        except ApiError as error:  # what was there is gone meanwhile
            return external, ("False", "FailedDiscoveryCheck", str(error))
        except (Unavailable, msgspec.DecodeError) as error:
            return external, ("False", "FailedDiscoveryCheck", str(error))
        document = await self._document(service, f"apis/{group}/{version}")
        answering = External(service, True, resources_of(listed, group, version), document)
        return replace(answering, part=await self._part(answering)), PASSED

    async def _document(self, service: APIService, name: str) -> str:
        """Return the path of the server's OpenAPI document; empty when it has none."""
        try:
            index = msgspec.json.decode(await self.backend.read(service, "/openapi/v3"), type=_Index)
        except (ApiError, Unavailable, msgspec.DecodeError):
            return ""
        found = index.paths.get(name)
        return found.url if found is not None and found.url.startswith(f"/openapi/v3/{name}") else ""

    async def _part(self, now: External) -> bytes:
        """The server's part of the OpenAPI v2 document; read anew only when something else has changed."""
        old = self._externals.get(now.group_version)
        if (
            old is not None
            and old.part
            and (old.document, *map(_identity, old.resources))
            == (
                now.document,
                *map(_identity, now.resources),
            )
        ):
            return old.part
        try:
            document = await self.backend.read(now.service, "/openapi/v2")
            if clock.own_loop() is not None:  # a loop with its own time would not wait for the thread
                return openapi_parts.part_of(document, *now.group_version)
            return await asyncio.to_thread(openapi_parts.part_of, document, *now.group_version)
        except (ApiError, Unavailable):
            return b""
        except openapi_parts.Unusable as error:
            log.warning("OpenAPI v2 of %s: %s", now.service.metadata.name, error)
            return b""


def _identity(resource: Resource) -> tuple[Any, ...]:
    parts = tuple((part.name, part.verbs) for part in resource.subresources.values())
    head = (resource.group, resource.version, resource.plural, resource.kind, resource.namespaced)
    return (*head, resource.verbs, resource.short_names, resource.categories, parts)
