"""Request attributes for authorisation, read from the method and path alone. Pure.

This module does not know the served resources: a client without permission is refused before it can learn
them.
Source: ``k8s.io/apiserver/pkg/endpoints/request/requestinfo.go``.
"""

from __future__ import annotations

from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.http.resource_paths import NAMESPACE_SUBRESOURCES

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_PREFIXES = {"api": 2, "apis": 3}
"""Number of parts of a path before the resource."""


def attributes_of(method: str, path: str, *, watch: bool) -> Attributes:
    """Return the attributes of a request; of one for no resource, its path and method."""
    parts = [part for part in path.split("/") if part]
    before = _PREFIXES.get(parts[0], 0) if parts else 0
    group, rest = parts[1] if before == 3 and len(parts) > 1 else "", parts[before:]
    if not before or not rest:
        return Attributes(method.lower(), path=path)
    if rest[0] == "watch" and len(rest) > 1:
        watch, rest = True, rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        rest = rest[2:] if len(rest) > 2 and rest[2] not in NAMESPACE_SUBRESOURCES else rest
    resource, name, subresource = (*rest, "", "", "")[:3]
    return Attributes(_verb(method, name, watch=watch), group, resource, subresource, namespace, name)


def _verb(method: str, name: str, *, watch: bool) -> str:
    if method in ("GET", "HEAD"):
        return "watch" if watch else "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, "")
