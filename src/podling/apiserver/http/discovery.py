"""Discovery documents: the served groups, versions, kinds and subresources. Pure: made from the scheme.

There are two forms: a document for each group and version, and the aggregated form with everything in one
answer. Clients select the aggregated form with
``Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList``.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Any

import msgspec

from podling import __version__
from podling.api.meta_v1 import (
    APIGroup,
    APIGroupList,
    APIResource,
    APIResourceList,
    APIVersions,
    GroupVersionForDiscovery,
    Info,
    ServerAddressByClientCIDR,
)
from podling.apiserver.customresources.versions import groups_of
from podling.machinery.component_pages import GO_VERSION
from podling.machinery.encoding.accept_header import clauses
from podling.machinery.scheme import RESOURCES, Resource, Subresource, group_versions

KUBERNETES = "v1.36.2"
GROUP_PRIORITIES = {
    "": 18000, "apiregistration.k8s.io": 18000, "apps": 17800, "events.k8s.io": 17750,
    "authentication.k8s.io": 17700, "authorization.k8s.io": 17600, "autoscaling": 17500,
    "batch": 17400, "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200, "policy": 17100, "rbac.authorization.k8s.io": 17000, "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700, "admissionregistration.k8s.io": 16700, "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100, "resource.k8s.io": 15200,
}  # fmt: skip
OTHER_GROUPS = 15000
"""In which order groups are listed, the highest first (``kube-apiserver/app/aggregator.go``)."""

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
AGGREGATED_VERSIONS = ("v2", "v2beta1")


def version() -> Info:
    """Return the answer of ``/version``: the Kubernetes release of this API, with our own build metadata."""
    major, minor, _patch = KUBERNETES.removeprefix("v").split(".")
    return Info(
        major=major,
        minor=minor,
        git_version=f"{KUBERNETES}+podling-{__version__}",
        git_commit="0" * 40,
        git_tree_state="clean",
        build_date="2026-01-01T00:00:00Z",
        go_version=GO_VERSION,
        compiler="gc",
        platform="linux/amd64",
    )


def core_versions(address: str) -> APIVersions:
    """``/api``. ``address``: host and port under which the server is reached."""
    everywhere = ServerAddressByClientCIDR(client_cidr="0.0.0.0/0", server_address=address)
    return APIVersions(versions=("v1",), server_address_by_client_cidrs=(everywhere,))


Custom = tuple[Resource, ...]
"""The resources that a server serves beside the built-in ones."""
Stale = tuple[tuple[str, str], ...]
"""Groups and versions of aggregated servers that do not answer, so that their resources are not known."""

_remembered = lru_cache(maxsize=256)
"""Cache for discovery documents. It is bounded because definitions change the served resources."""


@_remembered
def _versions(custom: Custom, stale: Stale) -> dict[str, tuple[str, ...]]:
    """Return the versions of every group, built-in groups first; in each the preferred version first."""
    built_in = group_versions()
    order = sorted(built_in, key=lambda name: (-GROUP_PRIORITIES.get(name, OTHER_GROUPS), name))
    found = {name: built_in[name] for name in order}
    for name, versions in groups_of(custom).items():
        known = found.get(name, ())
        found[name] = (*known, *(each for each in versions if each not in known))
    for name, version_name in stale:
        found[name] = (*found.get(name, ()), version_name)
    return found


@_remembered
def groups(custom: Custom = (), stale: Stale = ()) -> APIGroupList:
    """``/apis``."""
    return APIGroupList(
        groups=tuple(_group(name, custom, stale) for name in _versions(custom, stale) if name)
    )


@_remembered
def groups_document(custom: Custom, stale: Stale) -> dict[str, Any]:
    """Return ``groups`` as it is written: the groups in the list have no type of their own."""
    found: dict[str, Any] = msgspec.to_builtins(groups(custom, stale))
    for each in found["groups"]:
        del each["apiVersion"], each["kind"]
    return found


def group(name: str, custom: Custom = (), stale: Stale = ()) -> APIGroup | None:
    """``/apis/{group}``; None if there is no such group."""
    return _group(name, custom, stale) if name and name in _versions(custom, stale) else None


def _group(name: str, custom: Custom, stale: Stale) -> APIGroup:
    versions = tuple(
        GroupVersionForDiscovery(group_version=f"{name}/{version}", version=version)
        for version in _versions(custom, stale)[name]
    )
    return APIGroup(name=name, versions=versions, preferred_version=versions[0])


@_remembered
def resources(group_name: str, version_name: str, custom: Custom = ()) -> APIResourceList | None:
    """``/api/v1`` and ``/apis/{group}/{version}``; None if that is not served."""
    every = (*RESOURCES, *custom)
    found = [each for each in every if (each.group, each.version) == (group_name, version_name)]
    if not found:
        return None
    listed: list[APIResource] = []
    for resource in sorted(found, key=lambda each: each.plural):
        listed.append(_resource(resource))
        parts = sorted(resource.subresources.values(), key=lambda part: part.name)
        listed += [_subresource(resource, part) for part in parts]
    return APIResourceList(group_version=found[0].group_version, resources=tuple(listed))


def _resource(resource: Resource) -> APIResource:
    return APIResource(
        name=resource.plural,
        singular_name=resource.singular,
        namespaced=resource.namespaced,
        kind=resource.kind,
        verbs=resource.verbs,
        short_names=resource.short_names,
        categories=resource.categories,
        storage_version_hash=_storage_hash(resource) if resource.stored else "",
    )


def _subresource(resource: Resource, part: Subresource) -> APIResource:
    foreign = (part.group, part.version) != (resource.group, resource.version)
    return APIResource(
        name=f"{resource.plural}/{part.name}",
        namespaced=resource.namespaced,
        kind=part.kind,
        group=part.group if foreign else "",
        version=part.version if foreign else "",
        verbs=part.verbs,
    )


def _storage_hash(resource: Resource) -> str:
    stored = resource.storage_resource
    digest = hashlib.sha256(f"{stored.group}/{stored.version}/{stored.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def aggregated_version(accept: str) -> str:
    """Return the version of the aggregated form if it is the first served form in ``accept``, else ""."""
    for media_type, given in clauses(accept):
        if media_type == "application/json" and given.get("as") == "APIGroupDiscoveryList":
            if given.get("g") == "apidiscovery.k8s.io" and given.get("v") in AGGREGATED_VERSIONS:
                return given["v"]
        elif media_type in ("application/json", "*/*") and "as" not in given:
            return ""
    return ""


def aggregated(custom: Custom = (), stale: Stale = (), *, core: bool, version: str = "v2") -> dict[str, Any]:
    """Everything about the core group, or about all others, in one document; all versions say the same."""
    names = [name for name in _versions(custom, stale) if (name == "") == core]
    items = [_aggregated_group(name, custom, stale) for name in names]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def _aggregated_group(name: str, custom: Custom, stale: Stale) -> dict[str, Any]:
    versions = [
        {"version": version_name, "freshness": "Stale"}
        if (name, version_name) in stale
        else {
            "version": version_name,
            "resources": [
                _aggregated_resource(each)
                for each in sorted((*RESOURCES, *custom), key=lambda each: each.plural)
                if (each.group, each.version) == (name, version_name)
            ],
            "freshness": "Current",
        }
        for version_name in _versions(custom, stale)[name]
    ]
    metadata = {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None}
    return {"metadata": metadata, "versions": versions}


def _aggregated_resource(resource: Resource) -> dict[str, Any]:
    found: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _kind(part.group, part.version, part.kind),
                "verbs": list(part.verbs),
            }
            for part in sorted(resource.subresources.values(), key=lambda part: part.name)
        ]
    return found


def _kind(group_name: str, version_name: str, kind: str) -> dict[str, str]:
    return {"group": group_name, "version": version_name, "kind": kind}


def etag(body: bytes) -> str:
    """Return a tag that changes with the content."""
    return f'"{hashlib.sha512(body).hexdigest().upper()}"'
